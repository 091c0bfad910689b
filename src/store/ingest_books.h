/* The images and threads of loaded books on their way into a store. */
#ifndef PL_STORE_INGEST_BOOKS_H
#define PL_STORE_INGEST_BOOKS_H

#include "job/books.h"
#include "store/ingest.h"

/* Every image with its threads, and what a reader of the job should know of its records. */
int ingest_books(struct ingest *in, struct books *b);

#endif
