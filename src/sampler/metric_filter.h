/*
 * Selects metrics if not all are wanted: a list of names, "cpu_usage" of any source or "system.*"
 * of one, each with an optional period and job: NAME[:PERIOD[:JOB]], -1 for the default.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"
#include "samples/sample.h"

#define METRIC_FILTER_MAX 512 /* names in a list */

struct metric_filter_rule {
	char *pattern;      /* "name" or "source.name", * and ? as in the shell */
	bool whole;         /* it has a dot: compared with "source.name" */
	uint64_t period_ns; /* 0: whenever the source is read */
	char *job;          /* of this job only; NULL: of all */
};

struct metric_filter {
	struct metric_filter_rule *rules;
	size_t count, cap;
};

/* Parses a list of names separated by commas or blanks. An empty list selects everything. -EINVAL
 * with the reason in *why; *ret is empty then. */
int metric_filter_parse(struct metric_filter *ret, const char *text, struct strbuf *why);
void metric_filter_release(struct metric_filter *s);
/* Is any of these metrics wanted? */
bool metric_filter_has(const struct metric_filter *s, const char *source,
		       const struct sample_metric *columns, size_t count);
/* Removes samples that are not wanted at this tick. */
void metric_filter_apply(const struct metric_filter *s, const char *source, uint64_t tick,
			 uint64_t period_ns, struct sample_set *set);
