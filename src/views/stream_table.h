/*
 * Rows of cells as they come, for people or as CSV, in constant memory: the widths of the columns
 * are those of the first rows, and what is wider later sticks out. core/text/terminal_table.h is
 * for small tables that want wrapping.
 */
#ifndef PL_VIEWS_STREAM_TABLE_H
#define PL_VIEWS_STREAM_TABLE_H

#include "core/text/terminal_table.h"
#include "plot/unit_format.h"

struct grid {
	const struct table_column *columns;
	size_t column_count;
	bool csv, human;
	FILE *f;
	struct strbuf line;  /* the row at hand: cells, each ends in NUL */
	struct strbuf ahead; /* rows that wait for the widths to be known */
	size_t *widths;
	size_t rows, cells, page;
	bool color, laid_out;
	char row_color;
};

/* Writes to f as CSV, else as a table with a heading. COLUMN_CUT columns are cut on a terminal. */
void grid_begin(struct grid *g, const struct table_column *columns, size_t count, bool csv,
		FILE *f);
/* The next cell of the row, bytes of any kind. */
void grid_text(struct grid *g, const char *s, size_t n);
void grid_str(struct grid *g, const char *s); /* NULL: empty */
void grid_number(struct grid *g, int64_t v);  /* UNKNOWN: empty */
void grid_count(struct grid *g, int64_t v);
void grid_us(struct grid *g, int64_t us);
void grid_kib(struct grid *g, int64_t kib);
/* To the second for people, exact in CSV. */
void grid_time(struct grid *g, int64_t us);
void grid_time_ms(struct grid *g, int64_t us); /* with milliseconds for people, too */
/* Ends the row; color as in terminal_table.h. */
void grid_row(struct grid *g, char color);
/* Writes what is left; 0 or a negative errno. Accepts a grid without rows. */
int grid_end(struct grid *g);

#endif
