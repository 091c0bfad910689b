/*
 * A table that is written row by row in constant memory, for people or as CSV. The first rows
 * determine the widths of the columns; wider cells later stick out. core/text/terminal_table.h is
 * for small tables with wrapping.
 *
 * What is CSV otherwise can be a file with types, such as Parquet: stream_table_format.
 */
#pragma once

#include "views/rows/typed_rows.h"
#include "views/output.h"

struct stream_table {
	const struct terminal_table_column *columns;
	size_t column_count;
	bool csv, human;
	FILE *f;
	struct strbuf line;  /* the current row: cells, each ends in NUL */
	struct strbuf ahead; /* rows that wait until the widths are known */
	size_t *widths;
	size_t rows, cells, page;
	bool color, laid_out;
	char row_color;
	struct typed_rows *typed; /* instead of CSV; NULL: none */
};

/* The format of tables that are CSV otherwise; NULL: CSV. Set by `plimsoll sql --output`, by
 * commands that answer for the web server, and around its own tables: each of its threads has
 * another. */
extern _Thread_local const struct table_format *stream_table_format;

/* Writes to f as CSV, else as a table with a heading. COLUMN_CUT columns are cut on a terminal. */
void stream_table_begin(struct stream_table *g, const struct terminal_table_column *columns,
			size_t count, bool csv, FILE *f);
/* The next cell of the row; any bytes. */
void stream_table_text(struct stream_table *g, const char *s, size_t n);
void stream_table_str(struct stream_table *g, const char *s); /* NULL: empty */
void stream_table_real(struct stream_table *g, double v);
/* A number as it is to be shown; empty: unknown. */
void stream_table_figure(struct stream_table *g, const struct strbuf *text);
void stream_table_number(struct stream_table *g, int64_t v); /* UNKNOWN: empty */
void stream_table_count(struct stream_table *g, int64_t v);
void stream_table_us(struct stream_table *g, int64_t us);
void stream_table_kib(struct stream_table *g, int64_t kib);
/* To the second for people, exact in CSV. */
void stream_table_time(struct stream_table *g, int64_t us);
void stream_table_time_ms(struct stream_table *g,
			  int64_t us); /* with milliseconds for people, too */
/* Ends the row; color as in terminal_table.h. */
void stream_table_row(struct stream_table *g, char color);
/* Writes the rest; 0 or a negative errno. -ECANCELED: a file with types cannot be written, which
 * was reported. */
int stream_table_end(struct stream_table *g);
