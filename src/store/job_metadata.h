/*
 * The metadata of a job that the store needs, from any layout. Invalid UTF-8 becomes U+FFFD.
 */
#pragma once

#include "core/value.h"

struct job_layout;

struct jobmeta {
	char *jobid, *jobname, *user, *cluster, *account; /* NULL: unknown, except jobid */
	int64_t submit_us, start_us, end_us;
	bool has_submit, has_start, has_end, has_exitcode;
	const struct job_layout *layout; /* of the metadata */
	bool by_run;                     /* a run started and ended the job */
	bool odd_times, odd_exitcode;    /* some were impossible and are left out */
	int64_t exitcode;
	int64_t cores;                               /* granted; -1: unknown */
	struct value *tags, *annotations, *analyses; /* dicts, owned */
	struct strbuf json;                          /* the complete metadata */
};

int jobmeta_from(struct jobmeta *m, const struct value *meta, struct strbuf *why);
void jobmeta_release(struct jobmeta *m);

struct store;
/* The metadata of a stored job: 1, or 0 if it has none. *why is empty if the store failed. */
int jobmeta_load(struct store *s, int64_t job, struct value **ret, struct strbuf *why);
/* The time zone of a job from its stored metadata, for TZ; NULL: the local one. Freed by the
 * caller. */
char *jobmeta_zone(const struct value *meta);
/* A time in the local time of a zone, without naming the zone. */
struct value *jobmeta_local_time(int64_t us, const char *zone);
