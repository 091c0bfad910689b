/*
 * The two clocks: boot time for order and durations, wall clock for labels.
 *
 * A time namespace shifts the boot time in clocks and in /proc/PID/stat, but not in events of forks
 * and exits. All our times are those of the machine.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct proc_stat;

uint64_t clock_boottime_ns(void);
int64_t clock_realtime_us(void);
/* CPU time of the calling thread. */
uint64_t clock_thread_cpu_ns(void);
/* Both clocks at one moment, to compute their offset. */
void clock_pair(uint64_t *ret_boot_ns, int64_t *ret_real_ns);
/* A time on CLOCK_MONOTONIC, ns from now, for waits that do not depend on the wall clock. */
struct timespec clock_deadline(uint64_t ns);
/* Boot time minus CLOCK_MONOTONIC: the time spent suspended. */
uint64_t clock_monotonic_to_boot_ns(void);
/* proc_parse_stat() with the start of the process by the machine's clock. */
bool clock_parse_stat(const char *text, size_t size, struct proc_stat *ret);
/* The start of a process in microseconds, as in records; 0: not exact. */
uint64_t clock_start_us(const struct proc_stat *st);
