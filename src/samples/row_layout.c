/* See row_layout.h. */
#include "samples/row_layout.h"

#include <string.h>

#define ROW_LAYOUT(symbol) extern const struct row_layout row_layout_##symbol;
#include "samples/row_layouts.def"
#undef ROW_LAYOUT

const struct row_layout *const row_layouts[] = {
#define ROW_LAYOUT(symbol) &row_layout_##symbol,
#include "samples/row_layouts.def"
#undef ROW_LAYOUT
	NULL,
};

#define LAYOUTS ARRAY_SIZE(row_layouts)

const struct row_table *row_table_find(const char *name)
{
	for (size_t i = 0; row_layouts[i]; i++)
		for (const struct row_table *t = row_layouts[i]->tables; t->name; t++)
			if (!strcmp(t->name, name))
				return t;
	return NULL;
}

int row_field_find(const struct row_table *t, const char *name)
{
	for (size_t i = 0; i < t->field_count; i++)
		if (!strcmp(t->fields[i].name, name))
			return (int)i;
	return -1;
}

bool row_job_number(const char *id, size_t size, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < size && id[i] >= '0' && id[i] <= '9'; i++) {
		unsigned digit = (unsigned)(id[i] - '0');

		if (v > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	if (!i || (i < size && id[i] != '.'))
		return false;
	*ret = v;
	return true;
}

/* ---- all layouts together ---- */

struct row_mappers {
	struct row_mapper *of[LAYOUTS];
};

struct row_mappers *row_mappers_new(void)
{
	struct row_mappers *m = xcalloc(1, sizeof(*m));

	for (size_t i = 0; row_layouts[i]; i++)
		m->of[i] = row_layouts[i]->mapper_new();
	return m;
}

void row_mappers_free(struct row_mappers *m)
{
	for (size_t i = 0; m && row_layouts[i]; i++)
		row_layouts[i]->mapper_free(m->of[i]);
	free(m);
}

void row_mappers_add(struct row_mappers *m, const char *host, const char *source,
		     const struct sample_set *set, int64_t time_us)
{
	for (size_t i = 0; row_layouts[i]; i++)
		row_layouts[i]->mapper_add(m->of[i], host, source, set, time_us);
}

void row_mappers_flush(struct row_mappers *m, row_take take, void *user)
{
	for (size_t i = 0; row_layouts[i]; i++)
		row_layouts[i]->mapper_flush(m->of[i], take, user);
}

size_t rows_from_reading(const char *host, const char *source, const struct sample_set *set,
			 int64_t time_us, row_take take, void *user)
{
	size_t n = 0;

	for (size_t i = 0; !n && row_layouts[i]; i++)
		n = row_layouts[i]->rows(host, source, set, time_us, take, user);
	return n;
}

void row_text(const struct fixed_row *r, struct strbuf *out)
{
	for (size_t i = 0; row_layouts[i]; i++)
		for (const struct row_table *t = row_layouts[i]->tables; t->name; t++)
			if (t == r->table)
				row_layouts[i]->text(r, out);
}
