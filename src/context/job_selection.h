/* The stored jobs that a command works on: words of the command line, a filter, or both. */
#pragma once

#include <errno.h>

#include "context/stored_job.h"

struct selected_job {
	int64_t no;
	char *label; /* its id, with a suffix if others have the same id */
	int64_t start_us;
};

struct job_selection {
	struct selected_job *v; /* sorted by start time, then number; no job twice */
	size_t count, cap;
};
void job_selection_release(struct job_selection *js);
#define _cleanup_job_selection_ _cleanup_(job_selection_release)

/*
 * Adds the jobs that the words name (see job_find(); a name or an id that several jobs share means
 * all of them), or with `where` those that match the filter; with both, the named ones that match.
 * Without words and filter: none. 0, -ENOENT for an unknown job, -EINVAL for an invalid filter,
 * -EIO; the reason is in *why.
 */
int job_selection_find(struct job_selection *js, struct store *s, char *const *words, size_t count,
		       const char *where, struct strbuf *why);
/* Adds the tasks of an array of Slurm, by its id. How many it has; 0: no task is stored. */
int job_selection_add_array(struct job_selection *js, struct store *s, const char *id);
/* The exit status for its error: a filter that cannot be read is wrong usage. */
static inline int job_selection_status(int r)
{
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}
