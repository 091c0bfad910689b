/* What CSV and TSV share: a header, and a line a row. */
#ifndef PL_VIEWS_ROWS_DELIMITED_H
#define PL_VIEWS_ROWS_DELIMITED_H

#include "views/rows/row_writer.h"

typedef void (*add_cell)(struct strbuf *out, const char *s, size_t n);

void *separated_open(FILE *f, char separator, add_cell add);
int separated_write(void *state, const struct sink_row *r);
int separated_close(void *state);

#endif
