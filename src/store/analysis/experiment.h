/* The jobs of an experiment, that is all jobs with one tag, with two more of their tags and the
 * value of one metric. */
#pragma once

#include "core/metrics/metric.h"
#include "store/store.h"

struct experiment_query {
	const char *key, *value; /* the tag of the experiment */
	const char *by, *over;   /* keys of the tags that divide it */
	const char *metric;
	bool sums; /* of the processes, also where a metric is a peak */
};

struct experiment_job {
	int64_t no;
	char *label;           /* its id, with a suffix if others have the same id */
	char *group, *segment; /* values of the tags `by` and `over`; "" without */
	bool has_value, has_exitcode;
	int64_t value, exitcode;
};

struct experiment {
	struct experiment_job *jobs; /* sorted by start time */
	size_t count, cap;
	enum metric_unit unit; /* of the values */
};

/* 0 or a negative errno; release it in any case. */
int experiment_load(struct experiment *x, struct store *s, const struct experiment_query *q);
void experiment_release(struct experiment *x);
#define _cleanup_experiment_ _cleanup_(experiment_release)
