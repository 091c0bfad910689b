/* Starts a command N times, one after the other: `spawner N COMMAND ARGUMENT...`. */
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

extern char **environ;

int main(int argc, char **argv)
{
	long n = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

	for (long i = 0; i < n; i++) {
		pid_t pid;

		if (posix_spawnp(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0)
			return 1;
		waitpid(pid, NULL, 0);
	}
	return 0;
}
