/* spawn SECONDS PROGRAM: starts a program that ends at once, again and again. */
#include "work.h"
#include <spawn.h>

extern char **environ;

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	char *child[] = {argv[2], NULL};
	pid_t pid;

	while (now() < end) {
		if (!argv[2] || posix_spawn(&pid, argv[2], NULL, NULL, child, environ) != 0)
			err(1, "posix_spawn");
		waitpid(pid, NULL, 0);
	}
	return 0;
}
