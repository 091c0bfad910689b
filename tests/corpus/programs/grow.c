/*
 * grow SECONDS MIB_PER_SECOND [MIB]: computes, and keeps memory that it never uses again, up to MIB
 * at the end. With MIB it takes that at once instead of growing.
 */
#include "work.h"

int main(int argc, char **argv)
{
	(void)argc;
	double begin = now(), end = begin + seconds_of(argv);
	double rate = atof(word_of(argv, 2));
	long have = 0, want = atol(word_of(argv, 3));

	while (now() < end) {
		for (; (double)have < (double)want + (now() - begin) * rate; have++) {
			char *p = malloc(1 << 20);

			if (!p)
				err(1, "%ld MiB", have);
			memset(p, 1, 1 << 20);
		}
		compute(10);
	}
	return 0;
}
