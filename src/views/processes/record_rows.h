/* All images of a job, and their threads, handed to a row writer in the order of their start. */
#pragma once

#include "records/accounting.h"
#include "views/rows/row_writer.h"

/* threads: those of each image too; the books must have been loaded with keep_threads. 0 or a
 * negative errno. */
int rows_write(struct accounting *b, const struct row_writer *writer, bool threads, FILE *f);
