/* sleeper SECONDS nanosleep|poll|timerfd|condition: looks every 50 ms whether something came, which
 * never does. */
#include "work.h"
#include <poll.h>
#include <pthread.h>
#include <sys/timerfd.h>

/* Nobody signals it. */
static void wait_for_condition(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 50000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&mutex);
	pthread_cond_timedwait(&condition, &mutex, &until);
	pthread_mutex_unlock(&mutex);
}

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
		else if (mode[0] == 'c')
			wait_for_condition();
		else
			usleep(50000);
		compute(1);
	}
	return 0;
}
