/*
 * The bootstrap of a median, exactly. A resample draws m of n sorted values with replacement; its
 * median is the i-th smallest value with a probability that depends on n, m and i alone. So the
 * distribution over all n^m resamples comes from binomial sums, without random numbers: it is what
 * a bootstrap with ever more rounds approaches. No function here uses libm.
 */
#pragma once

#include "core/util.h"

/* Of the median of resamples of m out of n values. */
struct median_weights {
	size_t n, m;
	double *upto; /* upto[i]: probability that the median is among the first i values; n + 1 */
};

/* Tables are made once for each n and m. */
struct bootstrap {
	struct median_weights *tables;
	size_t count, cap;
};
void bootstrap_release(struct bootstrap *b);
#define _cleanup_bootstrap_ _cleanup_(bootstrap_release)
/* n and m > 0. Valid until the next call; the numbers it points to live as long as b. */
struct median_weights bootstrap_weights(struct bootstrap *b, size_t n, size_t m);

/* Values of one set of runs, sorted, and the weights of their resamples. */
struct resampled {
	const double *v;
	struct median_weights w;
};

/* Probability that the median of a resample of a is at most that of b times `factor`, plus
 * max(`relative` of that of b, `absolute`). Values of b must not be negative. */
double bootstrap_at_most(const struct resampled *a, const struct resampled *b, double factor,
			 double relative, double absolute);
/* The interval from the k-th lowest to the k-th highest of n values holds the median of what they
 * are drawn from with a probability of at least 1 - alpha, whatever the distribution. The largest
 * such k; 0: n values are too few. */
size_t median_rank(size_t n, double alpha);
/* Quantile q of the median itself. */
double bootstrap_median_quantile(const struct resampled *a, double q);
