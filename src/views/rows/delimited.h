/* What CSV and TSV share: a header, and a line a row. */
#ifndef PL_VIEWS_ROWS_DELIMITED_H
#define PL_VIEWS_ROWS_DELIMITED_H

#include "views/rows/row_writer.h"

typedef void (*add_cell)(struct strbuf *out, const char *s, size_t n);

void *delimited_open(FILE *f, char separator, add_cell add);
int delimited_write(void *state, const struct row_writer_row *r);
int delimited_close(void *state);

#endif
