/* CPU time of the whole host, by the kernel's own counters. */
#pragma once

#include <stdint.h>

#include "core/value.h"

struct host_cpu {
	int64_t busy_us, idle_us; /* over all CPUs, since boot; -1: unknown */
};
/* root: in front of /proc, "" for this machine. */
void host_cpu_read(const char *root, struct host_cpu *ret);
/* Adds host_busy_us and host_idle_us since an earlier reading, if both are known. */
void host_cpu_add_since(const char *root, const struct host_cpu *before, struct value *to);
