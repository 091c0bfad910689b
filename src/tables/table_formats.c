/* The list of table formats, and what they have in common; see table.h. */
#include <errno.h>
#include <string.h>

#include "codecs/compress.h"
#include "tables/table.h"
#include "tables/text_values.h"

#define TABLE_FORMAT(symbol) extern const struct table_format table_##symbol;
#include "tables/table_formats.def"
#undef TABLE_FORMAT

const struct table_format *const table_formats[] = {
#define TABLE_FORMAT(symbol) &table_##symbol,
#include "tables/table_formats.def"
#undef TABLE_FORMAT
	NULL,
};

const struct table_format *table_format_by_name(const char *name)
{
	for (const struct table_format *const *f = table_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

/* More suffixes that select a format. */
static const struct {
	const char *suffix, *format;
} suffixes[] = {
	{".arrow", "feather"}, {".db", "sqlite"},    {".hdf", "hdf5"},      {".hdf5", "hdf5"},
	{".ndjson", "jsonl"},  {".parq", "parquet"}, {".pickle", "pickle"}, {".sqlite3", "sqlite"},
};

const struct table_format *table_format_by_suffix(const char *path)
{
	for (const struct table_format *const *f = table_formats; *f; f++)
		if (str_suffix(path, (*f)->suffix))
			return *f;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (str_suffix(path, suffixes[i].suffix))
			return table_format_by_name(suffixes[i].format);
	return NULL;
}

static int open_codec(struct table_file *t, const struct table_options *o, struct strbuf *why)
{
	const char *codecs = t->format->codecs;

	if (t->format->own_codecs)
		return 0;
	t->packer = xcalloc(1, sizeof(*t->packer));
	return packer_open(t->packer, t->format->name, codecs ? codecs : "none", o->codec, why);
}

int table_open(struct table_file **ret, const struct table_format *format, const char *path,
	       const struct table_column *columns, size_t count, const struct table_options *o,
	       struct strbuf *why)
{
	const struct table_format *f = format->load ? format->load(why) : format;

	if (!f)
		return -ENOTSUP;
	struct table_file *t = xcalloc(1, f->size);
	*t = (struct table_file){f, columns, count, NULL, FILE_WRITER_INIT};
	int r = open_codec(t, o, why);
	/* first the codec: a wrong one must not truncate a file */
	if (r >= 0 && !format->database)
		r = file_writer_open(&t->out, path, why);
	if (r >= 0)
		r = f->open(t, path, o, why);
	if (r < 0)
		table_abandon(t);
	else
		*ret = t;
	return r;
}

int table_write(struct table_file *t, const struct table_batch *b, struct strbuf *why)
{
	return t->format->write(t, b, why);
}

int table_close(struct table_file *t, struct strbuf *why)
{
	int r = t->format->end ? t->format->end(t, why) : 0;

	if (r >= 0 && t->out.fd >= 0)
		r = file_writer_close(&t->out, why);
	table_abandon(t);
	return r;
}

void table_abandon(struct table_file *t)
{
	if (!t)
		return;
	t->format->release(t);
	if (t->packer)
		packer_close(t->packer);
	free(t->packer);
	file_writer_abandon(&t->out);
	free(t);
}
