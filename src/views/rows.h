/* Images and threads of a job as JSON lines, CSV, TSV or a table. */
#ifndef PL_VIEWS_ROWS_H
#define PL_VIEWS_ROWS_H

#include "job/books.h"

enum rows_form { ROWS_TABLE, ROWS_JSONL, ROWS_CSV, ROWS_TSV };

/* Writes every image in the order of start; threads: those of each image too (the books must have
 * been loaded with keep_threads). 0 or a negative errno. */
int rows_write(struct books *b, enum rows_form form, bool threads, FILE *f);

#endif
