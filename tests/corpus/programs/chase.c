/* chase SECONDS N: N threads follow pointers through 64 MiB each in random order: every step waits
 * for the memory. */
#include "work.h"

enum { STEPS = 1 << 20, LINE = 8 };
static double end;

static void *body(void *number)
{
	uint64_t *next = calloc((size_t)STEPS * LINE, 8), at = 0, seed = 88172645463325252ULL;

	if (!next)
		errx(1, "no memory");
	for (uint64_t i = 0; i < STEPS; i++)
		next[i * LINE] = i;
	for (uint64_t i = STEPS - 1; i > 0; i--) { /* Sattolo: one cycle through all */
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		uint64_t j = seed % i, t = next[i * LINE];

		next[i * LINE] = next[j * LINE];
		next[j * LINE] = t;
	}
	while (now() < end)
		for (int i = 0; i < 100000; i++)
			at = next[at * LINE];
	work_result = (double)at;
	free(next);
	return number;
}

int main(int argc, char **argv)
{
	(void)argc;
	end = now() + seconds_of(argv);
	start_threads(count_of(argv, 2), body);
	return 0;
}
