/*
 * loops SECONDS even|triangle|amdahl: OpenMP over all cores. even: the same work for all; triangle:
 * a static schedule over a triangle, so that the last thread has most of it; amdahl: two thirds of
 * the time one thread alone.
 */
#include "work.h"
#include <omp.h>

static void rows(int n, int triangle, int each)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < n; i++)
		compute(triangle ? 1 + i * i / (2 * n) : each);
}

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	const char *mode = word_of(argv, 2);
	int amdahl = strcmp(mode, "amdahl") == 0;

	while (now() < end) {
		double begin = now();

		rows(16 * omp_get_max_threads(), strcmp(mode, "triangle") == 0, amdahl ? 60 : 8);
		if (amdahl)
			compute_until(now() + 2 * (now() - begin));
	}
	return 0;
}
