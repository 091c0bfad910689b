/*
 * The jobs of an experiment by two of their tags: groups (components of a model) and segments (the
 * model time that a job computed). Which groups cost most, which jobs stand out within their group,
 * which segments are missing and which jobs failed. Pure: no store, no output.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/util.h"

/* The classifiers that call a value an outlier. */
#define EXPLORE_IQR 1u  /* more than 1.5 interquartile ranges outside of the quartiles */
#define EXPLORE_Z 2u    /* more than 3 standard deviations from the mean */
#define EXPLORE_MADZ 4u /* modified z-score, by median and median deviation, above 3.5 */
#define EXPLORE_METHODS 3
extern const char *const explore_method_names[EXPLORE_METHODS]; /* in the order of the bits */
/* How many classifiers flag it. */
unsigned explore_score(unsigned flags);

struct explore_job {
	const char *label, *group, *segment; /* borrowed; "" where the job lacks the tag */
	double value;                        /* NAN: unknown */
	bool has_exitcode;
	int64_t exitcode;
	unsigned flags; /* by explore_compute(), within its group */
};

struct explore_group {
	const char *name;
	size_t *jobs; /* indices, in the order of the jobs */
	size_t job_count, job_cap;
	size_t known; /* jobs with a value; the figures are theirs, NAN if there is none */
	double sum, min, max;
	double variation; /* standard deviation / mean; NAN if the mean is 0 */
	double share;     /* of the sum of all groups, 0 to 1; NAN if that is 0 */
	size_t failed;
	const char **missing; /* expected segments that no job of the group has */
	size_t missing_count, missing_cap;
};

struct explore_segment {
	const char *name;
	size_t jobs;
	double sum;
	unsigned flags; /* among the sums of all segments */
};

struct explore {
	struct explore_job *jobs; /* the caller's */
	size_t job_count;
	struct explore_group *groups; /* the largest sum first */
	size_t group_count, group_cap;
	struct explore_segment *segments; /* in the order of the jobs, without "" */
	size_t segment_count, segment_cap;
	double sum;
	size_t failed;
};

/*
 * Fills *e from the jobs, whose texts must live as long. expected: the segments that every group
 * should have; NULL: those that any group has, in natural order. Call explore_release() afterwards.
 */
void explore_compute(struct explore *e, struct explore_job *jobs, size_t count,
		     const char *const *expected, size_t expected_count);
void explore_release(struct explore *e);
#define _cleanup_explore_ _cleanup_(explore_release)

/* Sorts segments by their names. */
void explore_sort_segments(struct explore *e);
bool explore_failed(const struct explore_job *j);

/*
 * Expected segments from "FROM..TO/STEP", whole numbers with TO included, or "A,B,C". The list and
 * its texts are freed by the caller. -EINVAL, or -E2BIG for more than EXPLORE_SEGMENTS_MAX.
 */
#define EXPLORE_SEGMENTS_MAX 100000
int explore_parse_segments(const char *text, char ***ret, size_t *ret_count);
