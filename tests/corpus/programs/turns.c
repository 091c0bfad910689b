/*
 * turns SECONDS N: N threads work one after the other; the others yield their core until it is
 * their turn.
 */
#include "work.h"

static double end;
static int n;
static atomic_int turn;

static void *body(void *number)
{
	int mine = (int)(intptr_t)number;

	while (now() < end) {
		while (atomic_load(&turn) != mine && now() < end)
			sched_yield();
		compute(1);
		atomic_store(&turn, (mine + 1) % n);
	}
	return number;
}

int main(int argc, char **argv)
{
	(void)argc;
	end = now() + seconds_of(argv);
	n = count_of(argv, 2);
	start_threads(n, body);
	return 0;
}
