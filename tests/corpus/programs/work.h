/*
 * What the programs of the corpus share: the clock, and work that needs a core. Programs end by the
 * clock, so that a busy machine does not make them longer.
 */
#pragma once
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double work_result;

static inline double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* about 1 ms of arithmetic in registers for each round on a core of today */
static inline void compute(int rounds)
{
	double x = 1.5;

	for (long i = 0; i < rounds * 400000L; i++)
		x = x * 0.999999 + 0.1;
	work_result = x;
}

static inline void compute_until(double end)
{
	while (now() < end)
		compute(1);
}

static inline double seconds_of(char **argv)
{
	if (!argv[1] || atof(argv[1]) <= 0)
		errx(2, "usage: %s SECONDS ...", argv[0]);
	return atof(argv[1]);
}

static inline int count_of(char **argv, int n)
{
	int count = argv[n] ? atoi(argv[n]) : 0;

	if (count <= 0 || count > 256)
		errx(2, "argument %d is no count of 1 to 256", n);
	return count;
}

static inline const char *word_of(char **argv, int n)
{
	for (int i = 1; i <= n; i++)
		if (!argv[i])
			return "";
	return argv[n];
}

static inline void start_threads(int n, void *(*body)(void *))
{
	pthread_t threads[256];

	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, body, (void *)(intptr_t)i) != 0)
			errx(1, "cannot start a thread");
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}
