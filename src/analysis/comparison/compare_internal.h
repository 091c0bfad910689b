/* Shared by the files of the comparison. */
#pragma once

#include "analysis/comparison/bootstrap.h"
#include "analysis/comparison/compare.h"
#include "analysis/comparison/rank_sum.h"

struct compare_tables {
	struct bootstrap bootstrap;
	struct rank_sum ranks;
};

struct compare_sets {
	struct resampled a, b;
};

/* What a is compared with: b * factor + max(relative * b * factor, absolute). */
struct compare_limit {
	double factor, relative, absolute;
};
struct compare_limit compare_limit_of(const struct comparison *c);
bool compare_has_enough(const struct comparison *c);
/* The least probability that sets of so many runs can show: chance alone puts all of n runs above
 * the median with 1 / 2^n, however different the noise of the sets is. */
double compare_least(size_t a_runs, size_t b_runs);

/* The probability of values like these if a is not above the limit, and if it is. */
double compare_p_above(struct compare_tables *t, const struct compare_sets *s,
		       const struct compare_limit *l);
double compare_p_below(struct compare_tables *t, const struct compare_sets *s,
		       const struct compare_limit *l);

/* Sets more_a and more_b of an inconclusive row in a family of so many. */
void compare_plan(struct comparison *c, const struct compare_sets *s, double alpha, size_t family);
