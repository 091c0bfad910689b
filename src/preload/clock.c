/*
 * Clocks. A time namespace shifts the boot time in clocks and in /proc, but not in kernel events,
 * and the parent may be in another namespace. So records have the machine's times.
 *
 * The wall clock is the same in all namespaces: if its offset to boot time is that of the command,
 * there is no shift, and this check is free. Otherwise /proc/self/timens_offsets tells. It is of
 * our children's namespace, which is ours unless this program made one for them.
 *
 * A process changes its namespace by fork, exec or setns().
 */
#include "preload/guest.h"

#include <errno.h>
#include <sched.h>
#include <time.h>

/* Smaller shifts are ignored, since the clocks are read one after the other. */
#define NEAR_NS 1000000

uint64_t clock_ns(int clock)
{
	struct timespec ts;

	if (sys2(__NR_clock_gettime, clock, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static NOINLINE int64_t ask_ahead(struct own_io *own)
{
	char text[256];
	int64_t ns;
	long n = read_file("/proc/self/timens_offsets", text, sizeof(text), own);

	return n > 0 && proc_parse_timens(text, (size_t)n, "boottime", &ns) ? ns : 0;
}

int64_t ahead_at(uint64_t boot_ns, uint64_t real_ns, struct own_io *own)
{
	int64_t off = (int64_t)(guest.home_clock_ns - (real_ns - boot_ns));

	if (!guest.home_clock_ns || (off < NEAR_NS && off > -NEAR_NS))
		return 0;
	return ask_ahead(own);
}

int64_t ahead_of(int pid, struct own_io *own)
{
	if (pid == guest.pid || !guest.home_clock_ns)
		return guest.ahead_ns;
	return ahead_at(clock_ns(CLOCK_BOOTTIME), clock_ns(CLOCK_REALTIME), own);
}

uint64_t now_boottime_ns(int pid, struct own_io *own)
{
	uint64_t now = clock_ns(CLOCK_BOOTTIME);

	if (pid == guest.pid || !guest.home_clock_ns)
		return now - (uint64_t)guest.ahead_ns;
	return now - (uint64_t)ahead_at(now, clock_ns(CLOCK_REALTIME), own);
}

void note_setns(void)
{
	struct own_io own = {0};
	int pid;

	if (guest_who(&pid) != IMAGE || !guest.home_clock_ns)
		return;
	guest.ahead_ns = ahead_at(clock_ns(CLOCK_BOOTTIME), clock_ns(CLOCK_REALTIME), &own);
	own_add(pid, &own);
}

EXPORT int setns(int fd, int type)
{
	int r = NEXT(setns) ? next.setns(fd, type) : (int)libc_result(sys2(__NR_setns, fd, type));

	if (r == 0)
		note_setns();
	return r;
}
