/*
 * Times several variants of a command side by side, so that whatever else the machine does falls on
 * all of them alike: every round runs each variant once. `interleave ROUNDS <SPEC`, where a line of
 * the specification is
 *
 *     name <tab> NAME=value NAME=value ... (or -) <tab> command word word ...
 *
 * and the output is a line for each: name, minimum and median in microseconds of wall time, and the
 * same of CPU time.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS_MAX 64
#define VARIANTS_MAX 64

extern char **environ;

struct variant {
	char *name;
	char *env[WORDS_MAX];
	char *argv[WORDS_MAX];
	double *wall, *cpu;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void split(char *text, char **words)
{
	int n = 0;
	char *save = NULL;

	for (char *w = strtok_r(text, " ", &save); w && n + 1 < WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	words[n] = NULL;
}

static char **merged_environment(struct variant *v)
{
	static char *merged[4096];
	size_t n = 0;

	for (char **e = environ; *e && n < 4000; e++)
		merged[n++] = *e;
	for (char **e = v->env; *e && n < 4000; e++)
		if (strchr(*e, '='))
			merged[n++] = *e;
	merged[n] = NULL;
	return merged;
}

static void run_once(struct variant *v, int round)
{
	char **envp = merged_environment(v);
	struct rusage ru;
	int status;
	pid_t pid;

	double begin = now_us();
	if (posix_spawnp(&pid, v->argv[0], NULL, NULL, v->argv, envp) != 0) {
		fprintf(stderr, "cannot run %s\n", v->argv[0]);
		exit(1);
	}
	wait4(pid, &status, 0, &ru);
	v->wall[round] = now_us() - begin;
	v->cpu[round] = (double)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1e6 +
			(double)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 127) {
		fprintf(stderr, "%s failed\n", v->name);
		exit(1);
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	static struct variant all[VARIANTS_MAX];
	int rounds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 100, count = 0;
	char *line = NULL;
	size_t cap = 0;

	while (count < VARIANTS_MAX && getline(&line, &cap, stdin) > 0) {
		char *save = NULL, *copy = strdup(line);
		struct variant *v = &all[count];

		copy[strcspn(copy, "\n")] = 0;
		v->name = strtok_r(copy, "\t", &save);
		char *env = strtok_r(NULL, "\t", &save), *command = strtok_r(NULL, "\t", &save);
		if (!command)
			continue;
		split(env, v->env);
		split(command, v->argv);
		v->wall = calloc((size_t)rounds, sizeof(double));
		v->cpu = calloc((size_t)rounds, sizeof(double));
		count++;
	}
	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < count; i++)
			run_once(&all[i], r);
	for (int i = 0; i < count; i++) {
		qsort(all[i].wall, (size_t)rounds, sizeof(double), compare);
		qsort(all[i].cpu, (size_t)rounds, sizeof(double), compare);
		printf("%s\t%.1f\t%.1f\t%.1f\t%.1f\n", all[i].name, all[i].wall[0],
		       all[i].wall[rounds / 2], all[i].cpu[0], all[i].cpu[rounds / 2]);
	}
	return 0;
}
