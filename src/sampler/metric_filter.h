/*
 * Which metrics of the sources are kept, where not all are wanted: a list of names, "cpu_usage" of
 * any source or "system.*" of one, each with a period and a job of its own where that is said:
 * NAME[:PERIOD[:JOB]], -1 for the usual.
 */
#ifndef PL_SAMPLER_METRIC_FILTER_H
#define PL_SAMPLER_METRIC_FILTER_H

#include <stdint.h>

#include "core/strbuf.h"
#include "samples/sample.h"

#define METRIC_FILTER_MAX 512 /* names in a list */

struct metric_filter_rule {
	char *pattern;      /* "name" or "source.name", * and ? as in the shell */
	bool whole;         /* it has a dot: compared with source and name */
	uint64_t period_ns; /* 0: whenever the source is read */
	char *job;          /* only of this job; NULL: of all */
};

struct metric_filter {
	struct metric_filter_rule *rules;
	size_t count, cap;
};

/* Reads a list, commas or blanks between the names. An empty one selects everything. -EINVAL with
 * what is wrong in *why, and then *ret is empty. */
int metric_filter_parse(struct metric_filter *ret, const char *text, struct strbuf *why);
void metric_filter_release(struct metric_filter *s);
/* Is any metric of these wanted? */
bool metric_filter_has(const struct metric_filter *s, const char *source,
		       const struct sample_metric *columns, size_t count);
/* Takes out of a reading what is not wanted at this tick. */
void metric_filter_apply(const struct metric_filter *s, const char *source, uint64_t tick,
			 uint64_t period_ns, struct sample_set *set);

#endif
