/*
 * ping_pong SECONDS: two processes hand one piece of work to each other through pipes. Each waits
 * while the other computes, so that two processes are as fast as one.
 */
#include "work.h"
#include <signal.h>

static void turn(int in, int out, double end)
{
	char c = 0;

	while (now() < end) {
		if (read(in, &c, 1) != 1)
			break;
		compute(20);
		if (write(out, &c, 1) != 1)
			break;
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	int there[2], back[2];

	signal(SIGPIPE, SIG_IGN);
	if (pipe(there) != 0 || pipe(back) != 0)
		err(1, "pipe");
	if (fork() == 0) {
		close(there[1]);
		close(back[0]);
		turn(there[0], back[1], end);
		return 0;
	}
	close(there[0]);
	close(back[1]);
	(void)!write(there[1], "x", 1);
	turn(back[0], there[1], end);
	close(there[1]);
	close(back[0]);
	wait(NULL);
	return 0;
}
