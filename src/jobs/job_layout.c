/* The lists of layouts and formats; see job_layout.h. */
#include "jobs/job_layout.h"

#include <string.h>

#define JOB_LAYOUT(symbol) extern const struct job_layout job_layout_##symbol;
#include "jobs/job_layouts.def"
#undef JOB_LAYOUT

const struct job_layout *const job_layouts[] = {
#define JOB_LAYOUT(symbol) &job_layout_##symbol,
#include "jobs/job_layouts.def"
#undef JOB_LAYOUT
	NULL,
};

#define METADATA_FORMAT(symbol) extern const struct metadata_format metadata_format_##symbol;
#include "jobs/metadata_formats.def"
#undef METADATA_FORMAT

const struct metadata_format *const metadata_formats[] = {
#define METADATA_FORMAT(symbol) &metadata_format_##symbol,
#include "jobs/metadata_formats.def"
#undef METADATA_FORMAT
	NULL,
};

const struct job_layout *job_layout_of_file(const char *name)
{
	for (const struct job_layout *const *l = job_layouts; *l; l++)
		if (!strcmp(name, (*l)->metadata) ||
		    ((*l)->metadata_running && !strcmp(name, (*l)->metadata_running)))
			return *l;
	return NULL;
}

const struct job_layout *metadata_layout(const struct value *meta)
{
	for (const struct job_layout *const *l = job_layouts + 1; *l; l++)
		if (value_get(meta, (*l)->keys[KEY_ID][0]))
			return *l;
	return &job_layout_native;
}

const char *metadata_key(enum metadata_key key, size_t i)
{
	for (const struct job_layout *const *l = job_layouts; *l; l++)
		for (size_t k = 0; k < KEY_NAMES_MAX && (*l)->keys[key][k]; k++)
			if (i-- == 0)
				return (*l)->keys[key][k];
	return NULL;
}

const char *metadata_text(const struct value *meta, enum metadata_key key)
{
	const char *name, *text = NULL;

	for (size_t i = 0; !text && (name = metadata_key(key, i)); i++)
		text = value_get_str(meta, name);
	return text;
}

const struct value *metadata_batch_environment(const struct value *meta)
{
	const struct job_layout *l = metadata_layout(meta);

	return l->batch_in_environment ? value_get(meta, l->keys[KEY_ENVIRONMENT][0]) : NULL;
}

char *metadata_names(void)
{
	struct strbuf text = STRBUF_INIT;

	for (const struct job_layout *const *l = job_layouts; *l; l++)
		strbuf_addf(&text, "%s%s", text.len ? " or " : "", (*l)->metadata);
	return strbuf_take(&text);
}
