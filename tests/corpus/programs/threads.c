/*
 * threads SECONDS N [pin]: N threads compute, without waiting for each other. pin: all of them on
 * the first core that the program may use, as a wrong binding does.
 */
#include "work.h"

static double end;
static int pin;

static void *body(void *number)
{
	cpu_set_t all, one;

	(void)number;
	CPU_ZERO(&one);
	if (pin && sched_getaffinity(0, sizeof(all), &all) == 0) {
		for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
			if (CPU_ISSET(cpu, &all))
				CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one) != 0)
			err(1, "sched_setaffinity");
	}
	compute_until(end);
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argc;
	end = now() + seconds_of(argv);
	int n = count_of(argv, 2);

	pin = strcmp(word_of(argv, 3), "pin") == 0;
	start_threads(n, body);
	return 0;
}
