/* crash SECONDS segv|abort|kill|term|fpe: computes, and ends by that signal. */
#include "work.h"
#include <signal.h>

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	const char *mode = word_of(argv, 2);
	volatile int zero = 0;

	compute_until(end);
	if (strcmp(mode, "segv") == 0)
		*(volatile char *)8 = 1;
	else if (strcmp(mode, "fpe") == 0)
		zero = 1 / zero;
	else if (strcmp(mode, "kill") == 0)
		kill(getpid(), SIGKILL);
	else if (strcmp(mode, "term") == 0)
		kill(getpid(), SIGTERM);
	abort();
}
