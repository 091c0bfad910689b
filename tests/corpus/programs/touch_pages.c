/*
 * touch_pages SECONDS map|fork: map: takes 64 MiB from the kernel, writes to each page once and
 * gives it back, again and again; fork: a child writes to all the pages that it shares with its
 * parent.
 */
#include "work.h"

enum { SIZE = 64 << 20 };

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	int forks = strcmp(word_of(argv, 2), "fork") == 0;
	char *all = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (all == MAP_FAILED)
		err(1, "mmap");
	madvise(all, SIZE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < SIZE; i += 4096)
		all[i] = 1;
	while (now() < end) {
		if (forks && fork() > 0) {
			wait(NULL);
			continue;
		}
		if (!forks)
			madvise(all, SIZE, MADV_DONTNEED);
		for (size_t i = 0; i < SIZE; i += 4096)
			all[i] = 2;
		if (forks)
			_exit(0);
	}
	return 0;
}
