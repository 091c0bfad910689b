/*
 * tiny_io SECONDS FILE read|write: one call of the kernel for every 8 bytes of a file, which is in
 * the page cache.
 */
#include "work.h"

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	int writes = strcmp(word_of(argv, 3), "write") == 0;
	int fd = open(word_of(argv, 2), O_RDWR | O_CREAT, 0644);
	char eight[8] = "1234567\n";

	if (fd < 0 || write(fd, eight, 8) != 8 || ftruncate(fd, 1 << 20) != 0)
		err(1, "%s", word_of(argv, 2));
	while (now() < end) {
		lseek(fd, 0, SEEK_SET);
		for (int i = 0; i < 1 << 17; i++)
			if ((writes ? write(fd, eight, 8) : read(fd, eight, 8)) != 8)
				err(1, "input or output");
	}
	unlink(word_of(argv, 2));
	return 0;
}
