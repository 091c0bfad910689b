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

struct table_column {
	const char *name;
	unsigned flags;
};

struct table {
	const struct table_column *columns;
	size_t column_count;
	char **cells; /* row after row; owned */
	char *colors; /* one a row: 0, 'r'ed, 'g'reen or 'y'ellow */
	size_t rows, cap;
};

void table_init(struct table *t, const struct table_column *columns, size_t count);
void table_release(struct table *t);
/* Begins a row of empty cells. */
void table_row(struct table *t, char color);
/* Sets a cell of the last row; the text is taken as it is, control characters made visible. */
void table_cell(struct table *t, size_t column, const char *text);
void table_cellf(struct table *t, size_t column, const char *fmt, ...) PL_PRINTF(3, 4);
void table_print(const struct table *t, FILE *f);

/* What the module offers: 0, or -1 when it could not. */
struct table_functions {
	int (*print)(const struct table *t, FILE *f, bool color);
};

#endif
