/*
 * The mix of process kinds that collection must miss none of: N launches of each of nine kinds, so
 * with N = 125 there are 1,125 launches, 1,500 processes, 2,000 tasks and 1,500 program images,
 * plus this launcher itself. `mix ACTOR STATIC_ACTOR N`.
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static const struct {
	const char *mode, *argument;
	int is_static, status; /* as the launcher sees it: exit status, or 128 + signal */
} kinds[] = {
	{"return", "11", 0, 11}, {"_exit", "12", 0, 12}, {"kill", "9", 0, 137},
	{"segv", NULL, 0, 139},  {"chain", "3", 0, 3},   {"return", "13", 1, 13},
	{"threads", "4", 0, 0},  {"fork", "7", 0, 0},    {"setsid", "20", 0, 0},
};

int main(int argc, char **argv)
{
	int n = argc > 3 ? (int)strtol(argv[3], NULL, 10) : 125;
	int wrong = 0;

	for (int i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			char *program = argv[kinds[k].is_static ? 2 : 1];
			char *args[] = {program, (char *)kinds[k].mode, (char *)kinds[k].argument,
					NULL};
			int status = 0;
			pid_t pid;

			if (posix_spawn(&pid, program, NULL, NULL, args, environ) != 0)
				return 97;
			waitpid(pid, &status, 0);
			int got =
				WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
			if (got != kinds[k].status) {
				fprintf(stderr, "%s: %d\n", kinds[k].mode, got);
				wrong++;
			}
		}
	return wrong ? 1 : 0;
}
