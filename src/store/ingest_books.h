/* The images and threads of loaded books on their way into a store. */
#ifndef PL_STORE_INGEST_BOOKS_H
#define PL_STORE_INGEST_BOOKS_H

#include "job/books.h"
#include "store/parts.h"

/* Every image with its threads. others: the processes of the job's other parts, which come in
 * between where they belong; NULL when there are none. */
int ingest_books(struct ingest *in, struct books *b, struct part_rows *others);

#endif
