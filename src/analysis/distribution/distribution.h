/*
 * Which distribution the values of a feature may come from. A distribution is accepted if more of
 * its tests pass than fail:
 *
 *     normal    Shapiro-Wilk; Kolmogorov-Smirnov with the mean and the standard deviation of the
 *               values; D'Agostino's K2 for more than 20 values
 *     uniform   Kolmogorov-Smirnov between the smallest and the largest value
 *
 * A test passes if its p value is above 0.05. The tests need libm and are in the module
 * "distribution".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/strbuf.h"

enum distribution { DIST_UNKNOWN, DIST_NORMAL, DIST_UNIFORM, DIST_CONSTANT, DIST_COUNT };
extern const char *const distribution_names[DIST_COUNT];

/* With fewer values Shapiro and Wilk's test is not defined. */
#define DIST_MIN_VALUES 3
#define DIST_ALPHA 0.05

enum dist_test { TEST_SHAPIRO, TEST_KS_NORMAL, TEST_DAGOSTINO, TEST_KS_UNIFORM, TEST_COUNT };
extern const char *const dist_test_names[TEST_COUNT];

struct dist_result {
	bool done; /* for so many values; false: not done */
	double statistic, p;
};

struct distribution_functions {
	/*
	 * All tests of n values, the first normal distribution, then uniform. Values that are all
	 * equal are DIST_CONSTANT without a test. -ENODATA: fewer than DIST_MIN_VALUES, -EDOM: a
	 * value is not finite.
	 */
	int (*check)(const double *v, size_t n, struct dist_result results[TEST_COUNT],
		     enum distribution *ret);
};

/* Loads the module; NULL with the reason in *why. */
const struct distribution_functions *distributions(struct strbuf *why);
