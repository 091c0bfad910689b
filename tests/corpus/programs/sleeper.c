/* sleeper SECONDS nanosleep|poll|timerfd: looks every 50 ms whether something came, which never
 * does. */
#include "work.h"
#include <poll.h>
#include <sys/timerfd.h>

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	const char *mode = word_of(argv, 2);
	struct itimerspec every = {{0, 50000000}, {0, 50000000}};
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t ticks;

	if (fd < 0 || timerfd_settime(fd, 0, &every, NULL) != 0)
		err(1, "timerfd");
	while (now() < end) {
		if (mode[0] == 'p')
			poll(NULL, 0, 50);
		else if (mode[0] == 't')
			(void)!read(fd, &ticks, sizeof(ticks));
		else
			usleep(50000);
		compute(1);
	}
	return 0;
}
