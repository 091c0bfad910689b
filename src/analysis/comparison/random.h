/* Random numbers that a seed determines, the same on every machine (splitmix64). */
#pragma once

#include <stdint.h>

struct random {
	uint64_t state; /* the seed */
};

static inline uint64_t random_u64(struct random *r)
{
	uint64_t z = r->state += 0x9E3779B97F4A7C15ull;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

/* In [0, 1). */
static inline double random_unit(struct random *r)
{
	return (double)(random_u64(r) >> 11) * 0x1p-53;
}

/* In [0, n); n > 0 and far below 2^32, so that the bias of the remainder is negligible. */
static inline uint32_t random_below(struct random *r, uint32_t n)
{
	return (uint32_t)(((random_u64(r) >> 32) * n) >> 32);
}
