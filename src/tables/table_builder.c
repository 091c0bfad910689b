/* Batches of a frame; see table_builder.h. */
#include "tables/table_builder.h"

#include <string.h>

/* Bytes of the values of a batch. */
#define BATCH_BYTES (20u << 20)
#define ROWS_MIN 1024u

static size_t cell_size(enum frame_type t)
{
	return t == FRAME_TEXT ? sizeof(uint32_t) : sizeof(int64_t);
}

static size_t sensible_rows(const struct frame_column *columns, size_t count)
{
	size_t row = 1, rows;

	for (size_t c = 0; c < count; c++)
		row += cell_size(columns[c].type) + 1;
	rows = BATCH_BYTES / row;
	rows = rows < ROWS_MIN ? ROWS_MIN : rows;
	return rows < FRAME_BATCH ? rows : FRAME_BATCH;
}

void frame_build_init(struct frame_build *b, const struct frame_column *columns, size_t count,
		      size_t rows)
{
	*b = (struct frame_build){.columns = columns, .count = count};
	b->cap = rows ? rows : sensible_rows(columns, count);
	b->cells = xcalloc(count + 1, sizeof(*b->cells));
	b->values = xcalloc(count + 1, sizeof(*b->values));
	for (size_t c = 0; c < count; c++) {
		b->cells[c].ints = xcalloc(b->cap, cell_size(columns[c].type));
		b->cells[c].texts = (struct textset)TEXTSET_INIT;
	}
}

void frame_build_release(struct frame_build *b)
{
	for (size_t c = 0; c < b->count; c++) {
		free(b->cells[c].ints);
		free(b->cells[c].absent);
		textset_release(&b->cells[c].texts);
	}
	free(b->cells);
	free(b->values);
	*b = (struct frame_build){0};
}

void frame_build_absent(struct frame_build *b, size_t c)
{
	struct frame_cells *cells = &b->cells[c];

	if (!cells->absent)
		cells->absent = xcalloc(b->cap, 1);
	cells->absent[b->rows] = 1;
	cells->absent_count++;
	if (b->columns[c].type == FRAME_TEXT)
		cells->codes[b->rows] = 0;
	else
		cells->ints[b->rows] = 0;
}

void frame_build_text(struct frame_build *b, size_t c, const char *s, size_t n)
{
	struct frame_cells *cells = &b->cells[c];
	size_t before = cells->texts.bytes.len;

	cells->codes[b->rows] = textset_add(&cells->texts, s, n);
	b->text_bytes += cells->texts.bytes.len - before;
}

bool frame_build_known(struct frame_build *b, size_t c, uint64_t number)
{
	struct frame_cells *cells = &b->cells[c];
	int64_t code = textset_find_key(&cells->texts, number);

	if (code >= 0)
		cells->codes[b->rows] = (uint32_t)code;
	return code >= 0;
}

void frame_build_numbered(struct frame_build *b, size_t c, uint64_t number, const char *s, size_t n)
{
	struct frame_cells *cells = &b->cells[c];

	cells->codes[b->rows] = textset_add_key(&cells->texts, number, s, n);
	b->text_bytes += n;
}

void frame_build_take(struct frame_build *b, struct frame_batch *ret)
{
	static const uint32_t nothing[1] = {0};

	for (size_t c = 0; c < b->count; c++) {
		const struct frame_cells *cells = &b->cells[c];
		const struct textset *t = &cells->texts;

		b->values[c] = (struct frame_values){.ints = cells->ints,
						     .absent_count = cells->absent_count};
		if (cells->absent_count)
			b->values[c].absent = cells->absent;
		if (b->columns[c].type == FRAME_TEXT)
			b->values[c].texts = (struct frame_texts){
				t->count, t->count ? t->begin : nothing, t->bytes.buf};
	}
	*ret = (struct frame_batch){b->rows, b->values};
}

void frame_build_begin(struct frame_build *b)
{
	for (size_t c = 0; c < b->count; c++) {
		struct frame_cells *cells = &b->cells[c];

		if (cells->absent_count)
			memset(cells->absent, 0, b->rows);
		cells->absent_count = 0;
		textset_reset(&cells->texts);
	}
	b->rows = 0;
	b->text_bytes = 0;
}
