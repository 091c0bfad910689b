/*
 * The output file of tables: it is written under a temporary name beside its target and renamed
 * when it is complete, so that a full disk, a signal or a crash leaves the old file in place. A
 * file that holds several tables is copied first, under a lock for which other writers wait; a
 * format with transactions of its own is written in place.
 */
#pragma once

#include "tables/table.h"

struct atomic_output {
	const char *path; /* to write to; "-" for stdout */
	bool existed;     /* the file has tables already */
	char *target, *temporary, *lock_path;
	int lock;
};

/* path: as named by the user; "-" is stdout, for text formats. */
int atomic_output_begin(struct atomic_output *p, const struct table_format *f, const char *path,
			struct strbuf *why);
/* Renames the complete file to its target. */
int atomic_output_commit(struct atomic_output *p, struct strbuf *why);
/* Removes the incomplete file; the old one stays. Does nothing after a commit or a failed begin. */
void atomic_output_cancel(struct atomic_output *p);
