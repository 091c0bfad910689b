/* record_lock SECONDS N FILE: N processes compute under one fcntl() lock of a file. */
#include "work.h"

static void body(const char *path, double end)
{
	int fd = open(path, O_RDWR | O_CREAT, 0644);

	if (fd < 0)
		err(1, "%s", path);
	while (now() < end) {
		if (lockf(fd, F_LOCK, 0) != 0)
			err(1, "lockf");
		compute(20);
		if (lockf(fd, F_ULOCK, 0) != 0)
			err(1, "lockf");
		usleep(100);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	int n = count_of(argv, 2);

	for (int i = 0; i < n; i++)
		if (fork() == 0) {
			body(word_of(argv, 3), end);
			return 0;
		}
	while (wait(NULL) > 0)
		;
	unlink(word_of(argv, 3));
	return 0;
}
