/*
 * Times the commands around a job beside /bin/true, interleaved: every round starts and stops a job
 * of its own. `commands ROUNDS PLIMSOLL DIRECTORY`; a line for each: name, minimum, median.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { TRUE, VERSION, START, SOURCE, STOP, DUMP, COUNT };

static const char *const names[COUNT] = {"/bin/true",      "plimsoll version",
					 "plimsoll start", "plimsoll source",
					 "plimsoll stop",  "plimsoll dump DIRECTORY"};

static double run(char *const *argv)
{
	posix_spawn_file_actions_t actions;
	struct timespec a, b;
	int status = -1;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	clock_gettime(CLOCK_MONOTONIC, &a);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		exit(1);
	waitpid(pid, &status, 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	posix_spawn_file_actions_destroy(&actions);
	if (status != 0) {
		fprintf(stderr, "%s %s failed\n", argv[0], argv[1] ? argv[1] : "");
		exit(1);
	}
	return (double)(b.tv_sec - a.tv_sec) * 1e6 + (double)(b.tv_nsec - a.tv_nsec) / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int rounds = argc > 3 ? (int)strtol(argv[1], NULL, 10) : 0;
	double *us[COUNT];
	char dir[4096];

	for (int i = 0; i < COUNT; i++)
		us[i] = calloc((size_t)rounds, sizeof(double));
	for (int r = 0; r < rounds; r++) {
		snprintf(dir, sizeof(dir), "%s/job%d", argv[3], r);
		char *p = argv[2];
		char *lines[COUNT][6] = {
			{(char *)"/bin/true"},
			{p, (char *)"version"},
			{p, (char *)"start", (char *)"-q", (char *)"-o", dir},
			{p, (char *)"source", (char *)"-o", dir, (char *)"sh"},
			{p, (char *)"stop", (char *)"-q", (char *)"-o", dir},
			{p, (char *)"dump", dir},
		};

		for (int i = 0; i < COUNT; i++)
			us[i][r] = run(lines[i]);
	}
	for (int i = 0; i < COUNT; i++) {
		qsort(us[i], (size_t)rounds, sizeof(double), compare);
		printf("%s\t%.1f\t%.1f\n", names[i], us[i][0], us[i][rounds / 2]);
	}
	return 0;
}
