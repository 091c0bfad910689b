/*
 * What the store wants to know of a job, from metadata of any layout. Texts are UTF-8, with U+FFFD
 * where they were not.
 */
#ifndef PL_STORE_JOB_METADATA_H
#define PL_STORE_JOB_METADATA_H

#include "core/value.h"

struct job_layout;

struct jobmeta {
	char *jobid, *jobname, *user, *cluster; /* all but jobid NULL when unknown */
	int64_t submit_us, start_us, end_us;
	bool has_submit, has_start, has_end, has_exitcode;
	const struct job_layout *layout; /* that they are of */
	bool by_run;                     /* a run began the job and ended it */
	bool odd_times, odd_exitcode;    /* some were no times of a job, or no status: left out */
	int64_t exitcode;
	struct value *tags, *annotations, *analyses; /* dicts, owned */
	struct strbuf json;                          /* all of it */
};

int jobmeta_from(struct jobmeta *m, const struct value *meta, struct strbuf *why);
void jobmeta_release(struct jobmeta *m);

/* The zone of a job's times from its metadata in the store, for TZ; NULL: ours. Freed by the
 * caller. */
char *jobmeta_zone(const struct value *meta);
/* A time as local time in a zone, which it does not name. */
struct value *jobmeta_local_time(int64_t us, const char *zone);

#endif
