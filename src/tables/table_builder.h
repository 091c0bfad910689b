/* Fills batches of a frame, row by row. */
#ifndef PL_TABLES_TABLE_BUILDER_H
#define PL_TABLES_TABLE_BUILDER_H

#include "core/text/string_table.h"
#include "tables/table.h"

struct frame_cells {
	union {
		int64_t *ints;
		double *reals;
		uint32_t *codes;
	};
	uint8_t *absent; /* all 0 while absent_count is */
	uint32_t absent_count;
	struct textset texts;
};

struct frame_build {
	const struct frame_column *columns;
	size_t count;
	size_t rows, cap;
	struct frame_cells *cells;   /* one a column */
	struct frame_values *values; /* of the batch that was taken */
	size_t text_bytes;
};

/* columns live longer; rows: of a batch, 0 for as many as make a batch of a sensible size. */
void frame_build_init(struct frame_build *b, const struct frame_column *columns, size_t count,
		      size_t rows);
void frame_build_release(struct frame_build *b);

/* One value of each column for each row, in any order; then frame_build_row(). */
static inline void frame_build_int(struct frame_build *b, size_t c, int64_t v)
{
	b->cells[c].ints[b->rows] = v;
}
static inline void frame_build_real(struct frame_build *b, size_t c, double v)
{
	b->cells[c].reals[b->rows] = v;
}
void frame_build_absent(struct frame_build *b, size_t c);
/* By its bytes. */
void frame_build_text(struct frame_build *b, size_t c, const char *s, size_t n);
/* By a number that it has elsewhere: false when the batch does not have it yet. A column has its
 * texts in one of the two ways. */
bool frame_build_known(struct frame_build *b, size_t c, uint64_t number);
void frame_build_numbered(struct frame_build *b, size_t c, uint64_t number, const char *s,
			  size_t n);

static inline void frame_build_row(struct frame_build *b)
{
	b->rows++;
}
/* The batch has to be taken before the next row. */
static inline bool frame_build_full(const struct frame_build *b)
{
	return b->rows == b->cap || b->text_bytes > (8u << 20);
}
/* What was filled in, until the next call: it is the caller's until frame_build_begin(). */
void frame_build_take(struct frame_build *b, struct frame_batch *ret);
/* An empty batch. */
void frame_build_begin(struct frame_build *b);

#endif
