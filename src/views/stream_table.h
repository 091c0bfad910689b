/*
 * Rows of cells as they come, for people or as CSV, in constant memory: the widths of the columns
 * are those of the first rows, and what is wider later sticks out. core/text/terminal_table.h is
 * for small tables that want wrapping.
 */
#ifndef PL_VIEWS_STREAM_TABLE_H
#define PL_VIEWS_STREAM_TABLE_H

#include "core/text/terminal_table.h"
#include "plot/unit_format.h"

struct stream_table {
	const struct terminal_table_column *columns;
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
void stream_table_begin(struct stream_table *g, const struct terminal_table_column *columns,
			size_t count, bool csv, FILE *f);
/* The next cell of the row, bytes of any kind. */
void stream_table_text(struct stream_table *g, const char *s, size_t n);
void stream_table_str(struct stream_table *g, const char *s); /* NULL: empty */
void stream_table_number(struct stream_table *g, int64_t v);  /* UNKNOWN: empty */
void stream_table_count(struct stream_table *g, int64_t v);
void stream_table_us(struct stream_table *g, int64_t us);
void stream_table_kib(struct stream_table *g, int64_t kib);
/* To the second for people, exact in CSV. */
void stream_table_time(struct stream_table *g, int64_t us);
void stream_table_time_ms(struct stream_table *g,
			  int64_t us); /* with milliseconds for people, too */
/* Ends the row; color as in terminal_table.h. */
void stream_table_row(struct stream_table *g, char color);
/* Writes what is left; 0 or a negative errno. Accepts a grid without rows. */
int stream_table_end(struct stream_table *g);

#endif
