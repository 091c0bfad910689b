/*
 * A table for terminals: libsmartcols, in the module "table", aligns columns and fits them to the
 * width. Without the module cells are separated by tabs.
 */
#pragma once

#include <stdio.h>

#include "core/util.h"

#define COLUMN_RIGHT 1 /* numbers */
#define COLUMN_WRAP 2  /* long text continues on the next line */
#define COLUMN_CUT 4   /* long text is truncated to the terminal */
/* of stream_table.h: without a terminal the heading names the unit of plain numbers */
#define COLUMN_US (8 | COLUMN_RIGHT)
#define COLUMN_KIB (16 | COLUMN_RIGHT)

struct terminal_table_column {
	const char *name;
	unsigned flags;
};

struct terminal_table {
	const struct terminal_table_column *columns;
	size_t column_count;
	char **cells; /* row after row; owned */
	char *colors; /* one per row: 0, 'r'ed, 'g'reen or 'y'ellow */
	size_t rows, cap;
};

void terminal_table_init(struct terminal_table *t, const struct terminal_table_column *columns,
			 size_t count);
void terminal_table_release(struct terminal_table *t);
/* Begins a row of empty cells. */
void terminal_table_row(struct terminal_table *t, char color);
/* Sets a cell of the last row; makes control characters visible. */
void terminal_table_cell(struct terminal_table *t, size_t column, const char *text);
void terminal_table_cellf(struct terminal_table *t, size_t column, const char *fmt, ...)
	PL_PRINTF(3, 4);
void terminal_table_print(const struct terminal_table *t, FILE *f);

/* The functions of the module; 0, or -1: it failed. */
struct terminal_table_functions {
	int (*print)(const struct terminal_table *t, FILE *f, bool color);
};
