/*
 * Where a file of tables goes: it is written beside its place and renamed when all of it is there,
 * so that a full disk, a signal or a crash leaves the old one. A file that holds several tables is
 * copied first, under a lock that others who add to it wait for; where the format can undo by
 * itself, it is written in place.
 */
#ifndef PL_TABLES_ATOMIC_OUTPUT_H
#define PL_TABLES_ATOMIC_OUTPUT_H

#include "tables/table.h"

struct atomic_output {
	const char *path; /* to write to; "-" for stdout */
	bool existed;     /* the file has tables already */
	char *target, *aside, *lock_path;
	int lock;
};

/* path: what the user named; "-" is stdout, for formats of text. */
int atomic_output_begin(struct atomic_output *p, const struct table_format *f, const char *path,
			struct strbuf *why);
/* The file is complete: it takes its place. */
int atomic_output_commit(struct atomic_output *p, struct strbuf *why);
/* It is not: what was there stays. Also after a commit, and for one that did not begin. */
void atomic_output_cancel(struct atomic_output *p);

#endif
