/* Fills batches; see table_builder.h. */
#include "tables/table_builder.h"

#include <string.h>

/* Bytes of the values of a batch. */
#define BATCH_BYTES (20u << 20)
#define ROWS_MIN 1024u

static size_t cell_size(enum table_type t)
{
	return t == TABLE_TEXT ? sizeof(uint32_t) : sizeof(int64_t);
}

static size_t sensible_rows(const struct table_column *columns, size_t count)
{
	size_t row = 1, rows;

	for (size_t c = 0; c < count; c++)
		row += cell_size(columns[c].type) + 1;
	rows = BATCH_BYTES / row;
	rows = rows < ROWS_MIN ? ROWS_MIN : rows;
	return rows < TABLE_BATCH ? rows : TABLE_BATCH;
}

void table_builder_init(struct table_builder *b, const struct table_column *columns, size_t count,
			size_t rows)
{
	*b = (struct table_builder){.columns = columns, .count = count};
	b->cap = rows ? rows : sensible_rows(columns, count);
	b->cells = xcalloc(count + 1, sizeof(*b->cells));
	b->values = xcalloc(count + 1, sizeof(*b->values));
	for (size_t c = 0; c < count; c++) {
		b->cells[c].ints = xcalloc(b->cap, cell_size(columns[c].type));
		b->cells[c].texts = (struct string_table)STRING_TABLE_INIT;
	}
}

void table_builder_release(struct table_builder *b)
{
	for (size_t c = 0; c < b->count; c++) {
		free(b->cells[c].ints);
		free(b->cells[c].absent);
		string_table_release(&b->cells[c].texts);
	}
	free(b->cells);
	free(b->values);
	*b = (struct table_builder){0};
}

void table_builder_absent(struct table_builder *b, size_t c)
{
	struct table_cells *cells = &b->cells[c];

	if (!cells->absent)
		cells->absent = xcalloc(b->cap, 1);
	cells->absent[b->rows] = 1;
	cells->absent_count++;
	if (b->columns[c].type == TABLE_TEXT)
		cells->codes[b->rows] = 0;
	else
		cells->ints[b->rows] = 0;
}

void table_builder_text(struct table_builder *b, size_t c, const char *s, size_t n)
{
	struct table_cells *cells = &b->cells[c];
	size_t before = cells->texts.bytes.len;

	cells->codes[b->rows] = string_table_add(&cells->texts, s, n);
	b->text_bytes += cells->texts.bytes.len - before;
}

bool table_builder_known(struct table_builder *b, size_t c, uint64_t number)
{
	struct table_cells *cells = &b->cells[c];
	int64_t code = string_table_find_key(&cells->texts, number);

	if (code >= 0)
		cells->codes[b->rows] = (uint32_t)code;
	return code >= 0;
}

void table_builder_numbered(struct table_builder *b, size_t c, uint64_t number, const char *s,
			    size_t n)
{
	struct table_cells *cells = &b->cells[c];

	cells->codes[b->rows] = string_table_add_key(&cells->texts, number, s, n);
	b->text_bytes += n;
}

void table_builder_take(struct table_builder *b, struct table_batch *ret)
{
	static const uint32_t nothing[1] = {0};

	for (size_t c = 0; c < b->count; c++) {
		const struct table_cells *cells = &b->cells[c];
		const struct string_table *t = &cells->texts;

		b->values[c] = (struct table_values){.ints = cells->ints,
						     .absent_count = cells->absent_count};
		if (cells->absent_count)
			b->values[c].absent = cells->absent;
		if (b->columns[c].type == TABLE_TEXT)
			b->values[c].texts = (struct table_texts){
				t->count, t->count ? t->begin : nothing, t->bytes.buf};
	}
	*ret = (struct table_batch){b->rows, b->values};
}

void table_builder_begin(struct table_builder *b)
{
	for (size_t c = 0; c < b->count; c++) {
		struct table_cells *cells = &b->cells[c];

		if (cells->absent_count)
			memset(cells->absent, 0, b->rows);
		cells->absent_count = 0;
		string_table_reset(&cells->texts);
	}
	b->rows = 0;
	b->text_bytes = 0;
}
