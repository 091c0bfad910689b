/* Frequencies in /proc/cpuinfo. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The next CPU with a frequency at or behind *p, which moves behind it; false at the end. *cpu is
 * kept from call to call: the number comes some lines before the frequency. */
bool cpufreq_next(const char **p, const char *end, int64_t *cpu, uint64_t *khz);
