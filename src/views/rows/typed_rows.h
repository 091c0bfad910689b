/*
 * Rows that are kept until all of them are known, and then written as a file of a table format
 * (tables/table.h): what a command prints as CSV, for readers that want types. A column of
 * integers, numbers or times has that type; any other column is text. An empty text in a column
 * that is not text is no value.
 */
#pragma once

#include <stdio.h>

#include "core/strbuf.h"
#include "core/text/terminal_table.h"

struct table_format;

struct typed_rows;

/* Names that repeat get a number behind them. */
struct typed_rows *typed_rows_new(const struct terminal_table_column *columns, size_t count);
void typed_rows_free(struct typed_rows *t); /* accepts NULL */

/* Set the next cell of the row. */
void typed_rows_none(struct typed_rows *t);
void typed_rows_int(struct typed_rows *t, int64_t v);
void typed_rows_real(struct typed_rows *t, double v);
void typed_rows_time(struct typed_rows *t, int64_t us);
void typed_rows_text(struct typed_rows *t, const char *s, size_t n);
/* Cells that were not set have no value. */
void typed_rows_end_row(struct typed_rows *t);

/* Can the format be written to a stream? The others are databases. */
bool typed_rows_can(const struct table_format *f);
/* Writes all rows. 0, or a negative errno with the reason. */
int typed_rows_write(const struct typed_rows *t, const struct table_format *f, FILE *out,
		     struct strbuf *why);
