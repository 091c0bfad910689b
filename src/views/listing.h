/*
 * A list of rows, printed as a table for people or as an array of JSON objects. One set of calls
 * serves both: each column has a key in JSON, a title in the table, or both.
 */
#pragma once

#include "core/text/json_writer.h"
#include "core/text/terminal_table.h"

#define LISTING_COLUMNS_MAX 12

struct listing_column {
	const char *key;   /* NULL: not in JSON */
	const char *title; /* NULL: not in the table */
	unsigned flags;    /* of terminal_table.h */
};

struct listing {
	const struct listing_column *columns;
	bool json, in_row;
	struct json_writer j; /* for values that no call below can add to the current object */
	struct terminal_table t;
	struct terminal_table_column titles[LISTING_COLUMNS_MAX];
	size_t cells[LISTING_COLUMNS_MAX]; /* of a column: its place in the table */
};

void listing_begin(struct listing *l, const struct listing_column *columns, size_t count,
		   bool json);
/* Begins a row; color as in terminal_table.h. */
void listing_row(struct listing *l, char color);
/* Set a column of the row, in the order of the columns. One that is not set is an empty cell and no
 * key in JSON; NULL is an empty cell and null. */
void listing_str(struct listing *l, size_t column, const char *text);
void listing_strf(struct listing *l, size_t column, const char *fmt, ...) PL_PRINTF(3, 4);
void listing_u64(struct listing *l, size_t column, uint64_t v);
void listing_bool(struct listing *l, size_t column, bool v); /* yes or no in the table */
/* Prints everything to standard output; 0 or a negative errno. */
int listing_end(struct listing *l);
