/*
 * spin_barrier SECONDS N: N threads meet at a barrier that spins, after each 1 ms of work. With
 * more threads than cores most core time is spent spinning for threads that have no core.
 */
#include "work.h"

static double end;
static atomic_int arrived, round_number;
static int threads;
static atomic_int stop;

static void *body(void *number)
{
	while (!stop) {
		int round = round_number;

		compute(1);
		if (atomic_fetch_add(&arrived, 1) == threads - 1) {
			arrived = 0;
			if (now() > end)
				stop = 1;
			round_number++;
		} else {
			while (round_number == round)
				;
		}
	}
	return number;
}

int main(int argc, char **argv)
{
	(void)argc;
	end = now() + seconds_of(argv);
	threads = count_of(argv, 2);
	start_threads(threads, body);
	return 0;
}
