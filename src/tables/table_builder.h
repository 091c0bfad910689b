/* Fills batches of a frame, row by row. */
#ifndef PL_TABLES_TABLE_BUILDER_H
#define PL_TABLES_TABLE_BUILDER_H

#include "core/text/string_table.h"
#include "tables/table.h"

struct table_cells {
	union {
		int64_t *ints;
		double *reals;
		uint32_t *codes;
	};
	uint8_t *absent; /* all 0 while absent_count is */
	uint32_t absent_count;
	struct string_table texts;
};

struct table_builder {
	const struct table_column *columns;
	size_t count;
	size_t rows, cap;
	struct table_cells *cells;   /* one a column */
	struct table_values *values; /* of the batch that was taken */
	size_t text_bytes;
};

/* columns live longer; rows: of a batch, 0 for as many as make a batch of a sensible size. */
void table_builder_init(struct table_builder *b, const struct table_column *columns, size_t count,
			size_t rows);
void table_builder_release(struct table_builder *b);

/* One value of each column for each row, in any order; then table_builder_row(). */
static inline void table_builder_int(struct table_builder *b, size_t c, int64_t v)
{
	b->cells[c].ints[b->rows] = v;
}
static inline void table_builder_real(struct table_builder *b, size_t c, double v)
{
	b->cells[c].reals[b->rows] = v;
}
void table_builder_absent(struct table_builder *b, size_t c);
/* By its bytes. */
void table_builder_text(struct table_builder *b, size_t c, const char *s, size_t n);
/* By a number that it has elsewhere: false when the batch does not have it yet. A column has its
 * texts in one of the two ways. */
bool table_builder_known(struct table_builder *b, size_t c, uint64_t number);
void table_builder_numbered(struct table_builder *b, size_t c, uint64_t number, const char *s,
			    size_t n);

static inline void table_builder_row(struct table_builder *b)
{
	b->rows++;
}
/* The batch has to be taken before the next row. */
static inline bool table_builder_full(const struct table_builder *b)
{
	return b->rows == b->cap || b->text_bytes > (8u << 20);
}
/* What was filled in, until the next call: it is the caller's until table_builder_begin(). */
void table_builder_take(struct table_builder *b, struct table_batch *ret);
/* An empty batch. */
void table_builder_begin(struct table_builder *b);

#endif
