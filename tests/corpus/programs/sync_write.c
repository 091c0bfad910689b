/*
 * sync_write SECONDS FILE fsync|dsync: writes blocks of 256 KiB over a file of 16 MiB, and waits
 * for the disk after each.
 */
#include "work.h"

enum { BLOCK = 256 << 10 };

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	const char *path = word_of(argv, 2);
	int dsync = strcmp(word_of(argv, 3), "dsync") == 0;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | (dsync ? O_DSYNC : 0), 0644);
	char *buffer = calloc(1, BLOCK);

	if (fd < 0 || !buffer)
		err(1, "%s", path);
	for (off_t at = 0; now() < end; at = (at + BLOCK) % (16 << 20)) {
		if (pwrite(fd, buffer, BLOCK, at) != BLOCK)
			err(1, "write");
		if (!dsync && fsync(fd) != 0)
			err(1, "fsync");
	}
	unlink(path);
	free(buffer);
	return 0;
}
