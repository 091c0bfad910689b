/* Clocks; see clock.h. */
#include "core/clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/system/procparse.h"
#include "core/util.h"

/* Two calls within this time count as one moment. */
#define PAIR_NS 5000u

static uint64_t ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- the time namespace ---------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int64_t boot_ahead_ns, monotonic_ahead_ns;

/* timens_offsets is of our children's namespace, which may differ from ours before Linux 6.3. */
static bool is_childrens(void)
{
	char own[64] = "", next[64] = "";

	return readlink("/proc/self/ns/time", own, sizeof(own) - 1) > 0 &&
	       readlink("/proc/self/ns/time_for_children", next, sizeof(next) - 1) > 0 &&
	       strcmp(own, next) != 0;
}

static void read_offsets(void)
{
	char text[256];
	_cleanup_close_ int fd = open("/proc/self/timens_offsets", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));
	int64_t boot, monotonic;

	if (n <= 0 || !proc_parse_timens(text, (size_t)n, "boottime", &boot) ||
	    !proc_parse_timens(text, (size_t)n, "monotonic", &monotonic) ||
	    ((boot || monotonic) && is_childrens()))
		return;
	boot_ahead_ns = boot;
	monotonic_ahead_ns = monotonic;
}

uint64_t clock_boottime_ns(void)
{
	pthread_once(&once, read_offsets);
	return ns(CLOCK_BOOTTIME) - (uint64_t)boot_ahead_ns;
}

uint64_t clock_thread_cpu_ns(void)
{
	return ns(CLOCK_THREAD_CPUTIME_ID);
}

bool clock_parse_stat(const char *text, size_t size, struct proc_stat *ret)
{
	pthread_once(&once, read_offsets);
	if (!proc_parse_stat(text, size, ret))
		return false;
	if (ret->last >= STAT_STARTTIME)
		ret->f[STAT_STARTTIME] -= (uint64_t)(boot_ahead_ns / (PL_TICK_US * 1000ll));
	return true;
}

uint64_t clock_start_us(const struct proc_stat *st)
{
	return boot_ahead_ns % (PL_TICK_US * 1000ll) ? 0 : proc_start_us(st, 0);
}

/* ---- readings -------------------------------------------------------------------------------- */

int64_t clock_realtime_us(void)
{
	return (int64_t)(ns(CLOCK_REALTIME) / 1000);
}

/* Tries again if the process lost the CPU between the calls; the shortest try counts. */
void clock_pair(uint64_t *ret_boot_ns, int64_t *ret_real_ns)
{
	uint64_t shortest = UINT64_MAX;

	for (unsigned tries = 0; tries < 8 && shortest > PAIR_NS; tries++) {
		uint64_t before = clock_boottime_ns(), real = ns(CLOCK_REALTIME);
		uint64_t took = clock_boottime_ns() - before;

		if (took >= shortest)
			continue;
		shortest = took;
		*ret_boot_ns = before + took / 2;
		*ret_real_ns = (int64_t)real;
	}
}

struct timespec clock_deadline(uint64_t ahead_ns)
{
	uint64_t at = ns(CLOCK_MONOTONIC) + ahead_ns;

	return (struct timespec){(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
}

uint64_t clock_monotonic_to_boot_ns(void)
{
	uint64_t mono = ns(CLOCK_MONOTONIC), boot = clock_boottime_ns();

	mono -= (uint64_t)monotonic_ahead_ns;
	/* never suspended: the difference is only the time between the two calls */
	return boot - mono > 1000000u ? boot - mono : 0;
}
