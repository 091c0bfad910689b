/*
 * What a mark costs: `bench-mark PLIMSOLL DIRECTORY`. A line for each: name, minimum, median and
 * their unit. In C: pairs of begin and end, in a process of its own for each round. In a script:
 * the command, as a shell runs it.
 */
#include <plimsoll/mark.h>

#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>

#define ROUNDS 15
#define PAIRS 10000

extern char **environ;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *mark_pairs(void *pairs)
{
	for (long i = 0; i < (long)pairs; i++) {
		plimsoll_begin("assemble the matrix");
		plimsoll_end();
	}
	return NULL;
}

/* ns per mark of each thread. */
static double time_marks(int threads, long pairs)
{
	pthread_t ids[16];

	mark_pairs((void *)1);
	uint64_t from = now_ns();
	for (int i = 1; i < threads; i++)
		pthread_create(&ids[i], NULL, mark_pairs, (void *)pairs);
	mark_pairs((void *)pairs);
	for (int i = 1; i < threads; i++)
		pthread_join(ids[i], NULL);
	return (double)(now_ns() - from) / (double)pairs / 2;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void print(const char *name, double *v, size_t n, const char *unit)
{
	qsort(v, n, sizeof(*v), by_value);
	printf("%s\t%.1f\t%.1f\t%s\n", name, v[0], v[n / 2], unit);
}

/* Each round is a process, since a process has room for so many marks only. */
static void measure(const char *name, int threads, long pairs)
{
	double v[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		int ends[2];
		pid_t pid = pipe(ends) == 0 ? fork() : -1;

		if (pid == 0) {
			double ns = time_marks(threads, pairs);

			_exit(write(ends[1], &ns, sizeof(ns)) != sizeof(ns));
		}
		if (pid < 0 || read(ends[0], &v[i], sizeof(v[i])) != sizeof(v[i]))
			exit(1);
		waitpid(pid, NULL, 0);
		close(ends[0]);
		close(ends[1]);
	}
	print(name, v, ROUNDS, "ns");
}

static void measure_command(const char *plimsoll)
{
	char *argv[] = {(char *)plimsoll, (char *)"mark", (char *)"assemble", NULL};
	double v[100];

	for (int i = 0; i < 100; i++) {
		uint64_t from = now_ns();
		pid_t pid;
		int status;

		if (posix_spawn(&pid, plimsoll, NULL, NULL, argv, environ) != 0 ||
		    waitpid(pid, &status, 0) != pid || status)
			exit(1);
		v[i] = (double)(now_ns() - from) / 1e6;
	}
	print("plimsoll mark", v, 100, "ms");
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	unsetenv("PLIMSOLL_OUTPUT");
	setvbuf(stdout, NULL, _IOLBF, 0);
	measure("not recorded", 1, 1000000);
	plimsoll_process_.off = 0;
	setenv("PLIMSOLL_OUTPUT", argv[2], 1);
	measure("recorded", 1, PAIRS);
	measure("recorded, 2 threads", 2, PAIRS);
	setenv("PLIMSOLL_MARK_CPU", "1", 1);
	measure("recorded, with CPU time", 1, PAIRS);
	unsetenv("PLIMSOLL_MARK_CPU");
	measure_command(argv[1]);
	return 0;
}
