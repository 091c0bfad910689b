/* Clock readings. */
#include "core/clock.h"

/* Two readings of a clock that are no further apart are of one moment. */
#define PAIR_NS 5000u

static uint64_t ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t clock_boottime_ns(void)
{
	return ns(CLOCK_BOOTTIME);
}

int64_t clock_realtime_us(void)
{
	return (int64_t)(ns(CLOCK_REALTIME) / 1000);
}

/* Who is put off the CPU between the two calls asks again: the shortest try counts. */
void clock_pair(uint64_t *ret_boot_ns, int64_t *ret_real_ns)
{
	uint64_t shortest = UINT64_MAX;

	for (unsigned tries = 0; tries < 8 && shortest > PAIR_NS; tries++) {
		uint64_t before = ns(CLOCK_BOOTTIME), real = ns(CLOCK_REALTIME);
		uint64_t took = ns(CLOCK_BOOTTIME) - before;

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
	uint64_t mono = ns(CLOCK_MONOTONIC), boot = ns(CLOCK_BOOTTIME);

	/* never suspended: the difference is the time between the two readings, call it none */
	return boot - mono > 1000000u ? boot - mono : 0;
}
