/* Preloaded into a program: its wall clock jumps an hour ahead after CLOCKSTEP_AFTER milliseconds.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	static struct timespec begin;
	struct timespec now;

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int r = real(id, ts);
	real(CLOCK_BOOTTIME, &now);
	if (!begin.tv_sec)
		begin = now;
	long ms = (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000;
	const char *after = getenv("CLOCKSTEP_AFTER");
	if (r == 0 && id == CLOCK_REALTIME && after && ms >= atol(after))
		ts->tv_sec += 3600;
	return r;
}
