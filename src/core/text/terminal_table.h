/*
 * A table for people: columns aligned and cut to the terminal by libsmartcols, in the module
 * "table". Without the module the cells come out separated by tabs.
 */
#ifndef PL_CORE_TEXT_TERMINAL_TABLE_H
#define PL_CORE_TEXT_TERMINAL_TABLE_H

#include <stdio.h>

#include "core/util.h"

#define COLUMN_RIGHT 1 /* numbers */
#define COLUMN_WRAP 2  /* long text continues on the next line */
#define COLUMN_CUT 4   /* long text is cut to what the terminal has room for */

struct terminal_table_column {
	const char *name;
	unsigned flags;
};

struct terminal_table {
	const struct terminal_table_column *columns;
	size_t column_count;
	char **cells; /* row after row; owned */
	char *colors; /* one a row: 0, 'r'ed, 'g'reen or 'y'ellow */
	size_t rows, cap;
};

void terminal_table_init(struct terminal_table *t, const struct terminal_table_column *columns,
			 size_t count);
void terminal_table_release(struct terminal_table *t);
/* Begins a row of empty cells. */
void terminal_table_row(struct terminal_table *t, char color);
/* Sets a cell of the last row; the text is taken as it is, control characters made visible. */
void terminal_table_cell(struct terminal_table *t, size_t column, const char *text);
void terminal_table_cellf(struct terminal_table *t, size_t column, const char *fmt, ...)
	PL_PRINTF(3, 4);
void terminal_table_print(const struct terminal_table *t, FILE *f);

/* What the module offers: 0, or -1 when it could not. */
struct terminal_table_functions {
	int (*print)(const struct terminal_table *t, FILE *f, bool color);
};

#endif
