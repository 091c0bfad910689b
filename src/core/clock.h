/* The two clocks: boot time for order and durations, wall clock for labels. */
#ifndef PL_CORE_CLOCK_H
#define PL_CORE_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t clock_boottime_ns(void);
int64_t clock_realtime_us(void);
/* Both at one moment: what they differ by is their offset, not the time between two calls too. */
void clock_pair(uint64_t *ret_boot_ns, int64_t *ret_real_ns);
/* So far ahead on CLOCK_MONOTONIC, for waits: setting the wall clock neither ends nor prolongs
 * them. */
struct timespec clock_deadline(uint64_t ns);
/* What to add to CLOCK_MONOTONIC readings of the kernel to get boot time: time spent suspended. */
uint64_t clock_monotonic_to_boot_ns(void);

#endif
