/* Fills batches of a table, row by row. */
#pragma once

#include "core/text/string_table.h"
#include "tables/table.h"

struct table_cells {
	union {
		int64_t *ints;
		double *reals;
		uint32_t *codes;
	};
	uint8_t *absent; /* all 0 while absent_count is 0 */
	uint32_t absent_count;
	struct string_table texts;
};

struct table_builder {
	const struct table_column *columns;
	size_t count;
	size_t rows, cap;
	struct table_cells *cells;   /* one per column */
	struct table_values *values; /* of the batch that was taken */
	size_t text_bytes;
};

/* columns must outlive it. rows: per batch, 0 for a sensible number. */
void table_builder_init(struct table_builder *b, const struct table_column *columns, size_t count,
			size_t rows);
void table_builder_release(struct table_builder *b);

/* Set the value of each column of a row, in any order; then call table_builder_row(). */
static inline void table_builder_int(struct table_builder *b, size_t c, int64_t v)
{
	b->cells[c].ints[b->rows] = v;
}
static inline void table_builder_real(struct table_builder *b, size_t c, double v)
{
	b->cells[c].reals[b->rows] = v;
}
void table_builder_absent(struct table_builder *b, size_t c);
/* A text by its bytes. */
void table_builder_text(struct table_builder *b, size_t c, const char *s, size_t n);
/* A text by a number that identifies it elsewhere; false: the batch does not have it yet, add it
 * with table_builder_numbered(). A column uses bytes or numbers, not both. */
bool table_builder_known(struct table_builder *b, size_t c, uint64_t number);
void table_builder_numbered(struct table_builder *b, size_t c, uint64_t number, const char *s,
			    size_t n);

static inline void table_builder_row(struct table_builder *b)
{
	b->rows++;
}
/* Must the batch be taken before the next row? */
static inline bool table_builder_full(const struct table_builder *b)
{
	return b->rows == b->cap || b->text_bytes > (8u << 20);
}
/* The batch, valid until table_builder_begin(). */
void table_builder_take(struct table_builder *b, struct table_batch *ret);
/* Starts an empty batch. */
void table_builder_begin(struct table_builder *b);
