/*
 * The exact distribution of Mann and Whitney's U: how often a value of one set is above one of the
 * other, if both sets are alike. It keeps small sets honest, for which the bootstrap of a median
 * sees too little of the noise.
 */
#pragma once

#include "core/util.h"

/* With as many runs as this in the smaller set, the bootstrap alone is calibrated. */
#define RANK_SUM_ENOUGH 20

struct rank_sum {
	struct rank_sum_table {
		size_t n, m;
		double *upto; /* upto[u]: P(U <= u); n * m + 1 */
	} * tables;
	size_t count, cap;
};
void rank_sum_release(struct rank_sum *r);
#define _cleanup_rank_sum_ _cleanup_(rank_sum_release)

/* P(U >= u) for sets of n and m values; 0 if both have RANK_SUM_ENOUGH. */
double rank_sum_tail(struct rank_sum *r, size_t n, size_t m, size_t u);
