/* files SECONDS DIR: makes, renames and removes small files, as a program does that keeps its state
 * in files. */
#include "work.h"

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	char a[4200], b[4200];
	struct stat st;

	for (long i = 0; now() < end; i++) {
		snprintf(a, sizeof(a), "%s/file-%ld", word_of(argv, 2), i % 100);
		snprintf(b, sizeof(b), "%s/done-%ld", word_of(argv, 2), i % 100);
		int fd = open(a, O_WRONLY | O_CREAT, 0644);

		if (fd < 0)
			err(1, "%s", a);
		close(fd);
		if (stat(a, &st) != 0 || rename(a, b) != 0 || unlink(b) != 0)
			err(1, "%s", b);
	}
	return 0;
}
