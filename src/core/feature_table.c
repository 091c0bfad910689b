/* See feature_table.h. */
#include "core/feature_table.h"

#include <math.h>
#include <string.h>

#include "core/util.h"

void feature_table_release(struct feature_table *t)
{
	for (size_t i = 0; i < t->column_count; i++) {
		free(t->columns[i].name);
		free(t->columns[i].v);
	}
	free(t->columns);
	free(t->rows);
	*t = (struct feature_table){0};
}

size_t feature_table_find(const struct feature_table *t, const char *name)
{
	for (size_t i = 0; i < t->column_count; i++)
		if (!strcmp(t->columns[i].name, name))
			return i;
	return FEATURE_NONE;
}

size_t feature_table_column(struct feature_table *t, const char *name)
{
	size_t i = feature_table_find(t, name);

	if (i != FEATURE_NONE)
		return i;
	GROW(t->columns, t->column_count, t->column_cap);
	struct feature_column *c = &t->columns[t->column_count];
	*c = (struct feature_column){xstrdup(name), xcalloc(t->row_cap + 1, sizeof(*c->v))};
	for (i = 0; i < t->row_count; i++)
		c->v[i] = NAN;
	return t->column_count++;
}

size_t feature_table_row(struct feature_table *t, int64_t id, size_t group)
{
	size_t before = t->row_cap, row = t->row_count;

	GROW(t->rows, t->row_count, t->row_cap);
	for (size_t i = 0; i < t->column_count; i++) {
		struct feature_column *c = &t->columns[i];

		if (t->row_cap != before)
			c->v = xreallocarray(c->v, t->row_cap + 1, sizeof(*c->v));
		c->v[row] = NAN;
	}
	t->rows[row] = (struct feature_row){.id = id, .group = group};
	return t->row_count++;
}

size_t feature_table_gap(const struct feature_table *t, size_t column)
{
	for (size_t i = 0; i < t->row_count; i++)
		if (isnan(t->columns[column].v[i]))
			return i;
	return FEATURE_NONE;
}

bool feature_table_known(const struct feature_table *t, size_t column)
{
	for (size_t i = 0; i < t->row_count; i++)
		if (!isnan(t->columns[column].v[i]))
			return true;
	return false;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct feature_column *)a)->name,
		      ((const struct feature_column *)b)->name);
}

void feature_table_keep(struct feature_table *t, const bool *keep)
{
	size_t n = 0;

	for (size_t i = 0; i < t->column_count; i++) {
		if (keep[i]) {
			t->columns[n++] = t->columns[i];
		} else {
			free(t->columns[i].name);
			free(t->columns[i].v);
		}
	}
	t->column_count = n;
	if (n)
		qsort(t->columns, n, sizeof(*t->columns), by_name);
}

struct placed {
	struct feature_row row;
	size_t from;
};

static int by_group(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->row.group != y->row.group)
		return x->row.group < y->row.group ? -1 : 1;
	if (x->row.id != y->row.id)
		return x->row.id < y->row.id ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

void feature_table_sort(struct feature_table *t)
{
	_cleanup_free_ struct placed *order = xcalloc(t->row_count + 1, sizeof(*order));
	_cleanup_free_ double *v = xcalloc(t->row_count + 1, sizeof(*v));

	for (size_t i = 0; i < t->row_count; i++)
		order[i] = (struct placed){t->rows[i], i};
	qsort(order, t->row_count, sizeof(*order), by_group);
	for (size_t i = 0; i < t->row_count; i++)
		t->rows[i] = order[i].row;
	for (size_t c = 0; c < t->column_count; c++) {
		for (size_t i = 0; i < t->row_count; i++)
			v[i] = t->columns[c].v[order[i].from];
		for (size_t i = 0; i < t->row_count; i++)
			t->columns[c].v[i] = v[i];
	}
}
