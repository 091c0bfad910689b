/*
 * Preloaded into a program: sets its wall clock, and no other clock.
 *     CLOCKSTEP_AFTER=MS    an hour ahead after so many milliseconds
 *     CLOCKSTEP_FILE=FILE   by the seconds in its first 8 bytes, a number of this machine, at any
 * time
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int (*real)(clockid_t, struct timespec *);
static volatile const int64_t *told;
static struct timespec begin;

__attribute__((constructor)) static void prepare(void)
{
	const char *file = getenv("CLOCKSTEP_FILE");
	int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
	void *at = fd >= 0 ? mmap(NULL, sizeof(*told), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;

	real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	real(CLOCK_BOOTTIME, &begin);
	told = at == MAP_FAILED ? NULL : at;
	if (fd >= 0)
		close(fd);
}

static int64_t ahead_s(void)
{
	const char *after = getenv("CLOCKSTEP_AFTER");
	struct timespec now;

	if (told)
		return *told;
	real(CLOCK_BOOTTIME, &now);
	long ms = (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000;
	return after && ms >= atol(after) ? 3600 : 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!real)
		prepare();
	int r = real(id, ts);
	if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += ahead_s();
	return r;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	*tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}
