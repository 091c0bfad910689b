/*
 * forks SECONDS: a server that starts a process for each request and waits for it.
 */
#include "work.h"

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);

	while (now() < end) {
		pid_t pid = fork();

		if (pid < 0)
			err(1, "fork");
		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	return 0;
}
