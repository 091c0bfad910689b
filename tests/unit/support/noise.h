/* Noise as run times have it, from a seed: for simulations of comparisons. */
#pragma once

#include <math.h>

#include "analysis/comparison/random.h"

static inline double normal(struct random *r)
{
	return sqrt(-2 * log(1 - random_unit(r))) * cos(2 * M_PI * random_unit(r));
}

enum noise { NOISE_NORMAL, NOISE_SKEWED, NOISE_HEAVY, NOISE_OUTLIERS, NOISE_DISCRETE, NOISE_KINDS };

/* A run of something that takes about 1. */
static inline double noisy(struct random *r, enum noise kind)
{
	switch (kind) {
	case NOISE_NORMAL: /* 5 % */
		return 1 + 0.05 * normal(r);
	case NOISE_SKEWED: /* never faster than 1, often slower */
		return 1 - 0.05 * log(1 - random_unit(r));
	case NOISE_HEAVY: { /* Student's t with 3 degrees of freedom: no outlier is too far */
		const double a = normal(r), b = normal(r), c = normal(r);

		return exp(0.03 * normal(r) / sqrt((a * a + b * b + c * c) / 3));
	}
	case NOISE_OUTLIERS: /* every tenth run is disturbed, up to twice as slow */
		return 1 + 0.02 * fabs(normal(r)) + (random_unit(r) < 0.1 ? random_unit(r) : 0);
	default: /* a clock of 1 % */
		return 1 + floor(random_unit(r) * 10) / 100;
	}
}
