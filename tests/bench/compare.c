/*
 * How long the comparison of two sets of 30 runs takes, without the store: 50 metrics of 40
 * executables, with noise of 5 % and differences around the minimum effect, which is the most work.
 *
 *     bench-compare ROUNDS
 *
 * Prints milliseconds of each round.
 */
#include <stdio.h>
#include <time.h>

#include "analysis/comparison/compare.h"
#include "unit/support/noise.h"

#define ROWS (50 * 40)
#define RUNS 30

static double a[ROWS][RUNS], b[ROWS][RUNS];

int main(int argc, char **argv)
{
	static struct comparison c[ROWS];
	struct random r = {1};
	uint64_t rounds = 5;

	if (argc > 1 && parse_u64(argv[1], &rounds) < 0)
		return 2;

	for (size_t i = 0; i < ROWS; i++)
		for (size_t k = 0; k < RUNS; k++) {
			a[i][k] = 1.05 * noisy(&r, (enum noise)(i % NOISE_KINDS));
			b[i][k] = noisy(&r, (enum noise)(i % NOISE_KINDS));
		}
	while (rounds--) {
		struct timespec begin, end;

		for (size_t i = 0; i < ROWS; i++)
			c[i] = (struct comparison){.a = a[i],
						   .b = b[i],
						   .a_count = RUNS,
						   .b_count = RUNS,
						   .relative = 0.05,
						   .decides = true};
		clock_gettime(CLOCK_MONOTONIC, &begin);
		(void)compare_all(c, ROWS, 0.05);
		clock_gettime(CLOCK_MONOTONIC, &end);
		printf("%.1f\n", (double)(end.tv_sec - begin.tv_sec) * 1e3 +
					 (double)(end.tv_nsec - begin.tv_nsec) / 1e6);
	}
	return 0;
}
