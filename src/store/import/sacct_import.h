/*
 * Joins the accounting of Slurm (sacct.h) to stored jobs: the values of a job become its
 * annotations "sacct.KEY", so that lists, filters and SQL have them.
 */
#pragma once

#include <stdio.h>

#include "store/store.h"

#define SACCT_PREFIX "sacct."

struct sacct_options {
	bool dry; /* read and match everything, store nothing */
	/* Called for each job of the file that is not joined, with the reason; NULL: nobody. */
	void (*tell)(void *user, const char *jobid, const char *reason);
	void *user;
};

struct sacct_result {
	uint64_t jobs, steps; /* in the file */
	uint64_t joined;      /* stored jobs that have new values */
	uint64_t absent;      /* jobs of the file that are not in the store */
	uint64_t ambiguous;   /* that several stored jobs may be */
	uint64_t older;       /* runs of a job that ran again */
};

/* Reads f, called `name` in messages, in one transaction: all or nothing. 0, or a negative errno
 * with "NAME:LINE: reason" in *why. */
int sacct_import(struct store *s, FILE *f, const char *name, const struct sacct_options *o,
		 struct sacct_result *ret, struct strbuf *why);
