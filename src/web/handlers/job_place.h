/*
 * Where the job of a request is: in the store, or, while it runs on this host and for as long as it
 * was not submitted, in its job directory, which commands read like a stored job.
 */
#pragma once

#include "web/web.h"

struct job_place {
	int64_t no;    /* in the store; -1: in a directory */
	char *operand; /* for commands: its whole id, or the path */
	bool running;  /* in a directory: its processes run */
	int64_t open;  /* in the store: 1 while a collector gets data of it, else 0 */
};
void job_place_release(struct job_place *p);
#define _cleanup_job_place_ _cleanup_(job_place_release)
#define JOB_PLACE_INIT   \
	{                \
		.no = -1 \
	}

/* Finds the job that the parameter "job" names. False: the answer is an error. An answer from a
 * directory, or about a job that runs, must not be kept, which is noted in *a. */
bool web_find_job(const struct web_request *q, struct store *s, struct job_place *ret,
		  struct web_answer *a);
/* Only in the store. */
bool web_find_stored_job(const struct web_request *q, struct store *s, struct job_place *ret,
			 struct web_answer *a);
/* A project sees the jobs of its members, but each changes and shares their own. False: answered.
 */
bool web_may_change(const struct web_request *q, struct store *s, int64_t job,
		    struct web_answer *a);
