/*
 * The two clocks: boot time for order and durations, wall clock for labels.
 *
 * In a time namespace the kernel shifts boot times, in the clocks and in /proc/PID/stat, but not in
 * what it tells of exits and forks. All times of ours are those of the machine.
 */
#ifndef PL_CORE_CLOCK_H
#define PL_CORE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct proc_stat;

uint64_t clock_boottime_ns(void);
int64_t clock_realtime_us(void);
/* Both at one moment: what they differ by is their offset, not the time between two calls too. */
void clock_pair(uint64_t *ret_boot_ns, int64_t *ret_real_ns);
/* So far ahead on CLOCK_MONOTONIC, for waits: setting the wall clock neither ends nor prolongs
 * them. */
struct timespec clock_deadline(uint64_t ns);
/* What to add to CLOCK_MONOTONIC readings of the kernel to get boot time: time spent suspended. */
uint64_t clock_monotonic_to_boot_ns(void);
/* proc_parse_stat() for all who use the start of a process: it is that of the machine's clock. */
bool clock_parse_stat(const char *text, size_t size, struct proc_stat *ret);
/* Its start in microseconds, as records name processes by; 0 where it is not exact. */
uint64_t clock_start_us(const struct proc_stat *st);

#endif
