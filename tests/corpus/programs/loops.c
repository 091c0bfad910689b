/*
 * loops SECONDS even|triangle|amdahl: OpenMP over all cores. even: the same work for all; triangle:
 * a static schedule over a triangle, so that the last thread has most of it; amdahl: two thirds of
 * the time one thread alone.
 */
#include "work.h"
#include <omp.h>

static void rows(int n, int triangle)
{
#pragma omp parallel for schedule(static)
	for (int i = 0; i < n; i++)
		compute(triangle ? 1 + i * i / (2 * n) : 8);
}

static void phases(double end)
{
	double middle = now() + 1;

#pragma omp parallel
	compute_until(middle);
	compute_until(middle + 2 < end ? middle + 2 : end);
}

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	const char *mode = word_of(argv, 2);

	while (now() < end) {
		if (strcmp(mode, "amdahl") == 0)
			phases(end);
		else
			rows(16 * omp_get_max_threads(), strcmp(mode, "triangle") == 0);
	}
	return 0;
}
