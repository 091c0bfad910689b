/*
 * Are the runs of set a worse than those of set b? For each metric, where more is worse: the
 * medians are compared with the exact bootstrap (bootstrap.h), and for small sets by ranks, too;
 * the larger probability counts. Many metrics are corrected by Holm's method. A difference counts
 * from a minimum effect on.
 *
 *   worse         a is above b by more than the minimum effect, with confidence, after correction
 *   not worse     a is not above b by more than the minimum effect, with confidence
 *   inconclusive  neither: more runs are needed
 *
 * Pure functions: no I/O, no random numbers, the order of the runs does not matter.
 */
#pragma once

#include "core/util.h"

/* Fewer runs in a set do not show its noise. */
#define COMPARE_RUNS_MIN 3
/* No plan for more runs than this. */
#define COMPARE_RUNS_MAX 1000
/* The chance that the planned number of runs is enough. */
#define COMPARE_POWER 0.8

enum verdict { VERDICT_NOT_WORSE, VERDICT_WORSE, VERDICT_INCONCLUSIVE };
const char *verdict_name(enum verdict v); /* "not worse" */

struct comparison {
	/* given: values of the runs, NAN where a run has none; none is negative */
	const double *a, *b;
	size_t a_count, b_count;
	double relative, absolute; /* minimum effect: the larger of a share of b, and a value */
	bool decides;              /* "inconclusive" here makes the whole comparison so */

	/* found */
	size_t a_runs, b_runs;     /* that have a value */
	double a_median, b_median; /* NAN without runs */
	double change;             /* of the medians: 0.1 is 10 % more; NAN: unknown */
	/* Of the change. low is corrected for the number of comparisons. -1 and INFINITY: unknown.
	 */
	double low, high;
	double p, p_adjusted; /* that this is chance, though a is not worse; adjusted by Holm */
	double q;             /* that this is chance, though a is worse */
	bool absent;          /* one set has no values: no part of the family */
	bool better;          /* a is below b by more than the minimum effect, after correction */
	enum verdict verdict;
	/* If inconclusive: runs to add, by a power computation. SIZE_MAX: more than
	 * COMPARE_RUNS_MAX, the change is too near to the minimum effect. */
	size_t more_a, more_b;
};

/* Compares and corrects all rows as one family; alpha: 0.05 for 95 %. The verdict of all: worse if
 * one is, else inconclusive if one that decides is, or none has values. */
enum verdict compare_all(struct comparison *rows, size_t count, double alpha);

/* The interval of the median of one set, with confidence 1 - alpha; NAN without values. */
struct median_interval {
	size_t runs;
	double median, low, high, least, most;
};
struct median_interval median_interval_of(const double *v, size_t count, double alpha);
