/* The inside of the books: how one record after the other becomes processes and images. */
#ifndef PL_JOB_BOOKS_JOIN_H
#define PL_JOB_BOOKS_JOIN_H

#include "job/books.h"

/* Number of a host, which is made when it is new. */
uint32_t books_host(struct books *b, const char *name, size_t n, const char *boot);
/* One more image of a process. Pointers to images move. */
struct image *books_add_image(struct books *b, struct process *p);
/* What a record says, in the order of time. */
void books_take(struct books *b, size_t file, const struct record *r);
/* Processes in pid namespaces of their own, known under two pids, become one. */
void books_merge_namespaces(struct books *b);

#endif
