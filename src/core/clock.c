/* Clock readings. */
#include "core/clock.h"

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
