/* Microseconds for one thread created and joined, the best and the median of many rounds. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 40
#define THREADS 500

static void *body(void *arg)
{
	return arg;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(void)
{
	double us[ROUNDS];

	for (int r = 0; r < ROUNDS; r++) {
		struct timespec a, b;

		clock_gettime(CLOCK_MONOTONIC, &a);
		for (int i = 0; i < THREADS; i++) {
			pthread_t t;

			pthread_create(&t, NULL, body, NULL);
			pthread_join(t, NULL);
		}
		clock_gettime(CLOCK_MONOTONIC, &b);
		us[r] = ((double)(b.tv_sec - a.tv_sec) * 1e6 +
			 (double)(b.tv_nsec - a.tv_nsec) / 1e3) /
			THREADS;
	}
	qsort(us, ROUNDS, sizeof(us[0]), compare);
	printf("%.2f %.2f\n", us[0], us[ROUNDS / 2]);
	return 0;
}
