/*
 * Where a series of runs changes its level. Binary segmentation: the split of a segment that
 * separates its ranks best is a change point if a permutation test says so. Each segment gets its
 * share of the false alarm rate by its length, so that a series without changes, or parts of one
 * that has some, show a change with a probability of at most alpha altogether. Ranks make outliers
 * and heavy tails harmless. Pure, and deterministic by the seed.
 */
#pragma once

#include "core/util.h"

struct change_options {
	double alpha;  /* false alarm rate of the whole series */
	size_t rounds; /* permutations of a segment, at least; more where alpha needs them */
	uint64_t seed;
	size_t least_runs; /* of a segment, at least 2 */
	double relative;   /* smaller changes of the median are dropped */
};
#define CHANGE_OPTIONS_DEFAULT                                                              \
	{                                                                                   \
		.alpha = 0.01, .rounds = 4999, .seed = 1, .least_runs = 5, .relative = 0.05 \
	}

struct change_point {
	size_t first;         /* run with which the new level begins */
	double before, after; /* medians of the segments */
	double p;             /* of the permutation test */
};

/* Finds the change points of finite values, in order; *ret is freed by the caller. */
size_t change_points_find(const double *v, size_t n, const struct change_options *o,
			  struct change_point **ret);
