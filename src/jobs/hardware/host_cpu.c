/*
 * See host_cpu.h. The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq and
 * steal, in ticks; the times of guests are part of user and nice. A CPU that waits for I/O could
 * have run something: it counts as idle.
 */
#include "jobs/hardware/host_cpu.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/util.h"

enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };

static bool parse(const char *s, int64_t ret[FIELDS])
{
	if (strncmp(s, "cpu ", 4) != 0)
		return false;
	s += 4;
	for (size_t i = 0; i < FIELDS; i++) {
		char *end;

		errno = 0;
		ret[i] = strtoll(s, &end, 10);
		if (end == s || errno || ret[i] < 0 || ret[i] > INT64_MAX / 100000 / FIELDS)
			return false;
		s = end;
	}
	return true;
}

void host_cpu_read(const char *root, struct host_cpu *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/stat", root);
	FILE *f = fopen(path, "re");
	char line[512];
	int64_t v[FIELDS], tick = 1000000 / sysconf(_SC_CLK_TCK);

	*ret = (struct host_cpu){-1, -1};
	if (!f)
		return;
	if (fgets(line, sizeof(line), f) && parse(line, v)) {
		ret->idle_us = (v[IDLE] + v[IOWAIT]) * tick;
		ret->busy_us =
			(v[USER] + v[NICE] + v[SYSTEM] + v[IRQ] + v[SOFTIRQ] + v[STEAL]) * tick;
	}
	fclose(f);
}

void host_cpu_add_since(const char *root, const struct host_cpu *before, struct value *to)
{
	struct host_cpu now;

	host_cpu_read(root, &now);
	/* the kernel corrects the idle time of a CPU at times */
	if (before->busy_us < 0 || now.busy_us < before->busy_us || now.idle_us < before->idle_us)
		return;
	value_set(to, "host_busy_us", value_int(now.busy_us - before->busy_us));
	value_set(to, "host_idle_us", value_int(now.idle_us - before->idle_us));
}
