/* Files of control groups; see cgroup_files.h. */
#include "sources/cgroup/cgroup_files.h"

#include <string.h>

#include "core/system/procparse.h"
#include "sources/cgroup/pressure.h"
#include "sources/columns.h"

#define TIME(n, text) TIME_COLUMN(n, 1, text)
#define MEMORY(n, text) COLUMN(n, BYTES, GAUGE, 1, text)

const struct sample_metric cgroup_columns[CGROUP_METRICS] = {
#define CGROUP_METRIC(id, ...) [id] = __VA_ARGS__,
#include "sources/cgroup/cgroup_metrics.def"
#undef CGROUP_METRIC
};

/* ---- which file gives what ------------------------------------------------------------------ */

/* A line of a file: its key, the metric, and factor and divisor to the raw value of the metric. */
struct cgroup_line {
	const char *key;
	unsigned metric, times, by;
};

static const struct cgroup_line cpuacct_stat[] = {{"user", CPU_USER, PL_TICK_US, 1},
						  {"system", CPU_SYSTEM, PL_TICK_US, 1}};
static const struct cgroup_line cpu_stat_v1[] = {
	{"nr_periods", CPU_PERIODS, 1, 1},
	{"nr_throttled", CPU_THROTTLED_PERIODS, 1, 1},
	{"throttled_time", CPU_THROTTLED_TIME, 1, 1000},
};
static const struct cgroup_line memory_stat_v1[] = {
	{"total_rss", MEMORY_ANON, 1, 1},
	{"total_cache", MEMORY_FILE, 1, 1},
	{"total_shmem", MEMORY_SHMEM, 1, 1},
	{"total_mapped_file", MEMORY_MAPPED, 1, 1},
	{"total_dirty", MEMORY_DIRTY, 1, 1},
	{"total_writeback", MEMORY_WRITEBACK, 1, 1},
	{"total_rss_huge", MEMORY_ANON_HUGEPAGES, 1, 1},
	{"total_swap", SWAP_CURRENT, 1, 1},
	{"total_pgfault", PAGE_FAULTS, 1, 1},
	{"total_pgmajfault", MAJOR_FAULTS, 1, 1},
	{"total_workingset_refault_file", MEMORY_REFAULTS, 1, 1}, /* since 6.0 */
};
static const struct cgroup_line oom_control[] = {{"oom_kill", OOM_KILLS, 1, 1}};
static const struct cgroup_line cpu_stat_v2[] = {
	{"usage_usec", CPU_USAGE, 1, 1},
	{"user_usec", CPU_USER, 1, 1},
	{"system_usec", CPU_SYSTEM, 1, 1},
	{"nr_periods", CPU_PERIODS, 1, 1},
	{"nr_throttled", CPU_THROTTLED_PERIODS, 1, 1},
	{"throttled_usec", CPU_THROTTLED_TIME, 1, 1},
};
static const struct cgroup_line memory_stat_v2[] = {
	{"anon", MEMORY_ANON, 1, 1},
	{"file", MEMORY_FILE, 1, 1},
	{"shmem", MEMORY_SHMEM, 1, 1},
	{"file_mapped", MEMORY_MAPPED, 1, 1},
	{"file_dirty", MEMORY_DIRTY, 1, 1},
	{"file_writeback", MEMORY_WRITEBACK, 1, 1},
	{"kernel", MEMORY_KERNEL, 1, 1},
	{"slab", MEMORY_SLAB, 1, 1},
	{"sock", MEMORY_SOCK, 1, 1},
	{"anon_thp", MEMORY_ANON_HUGEPAGES, 1, 1},
	{"pgfault", PAGE_FAULTS, 1, 1},
	{"pgmajfault", MAJOR_FAULTS, 1, 1},
	{"workingset_refault_file", MEMORY_REFAULTS, 1, 1}, /* since 5.9 */
};
static const struct cgroup_line memory_events[] = {
	{"high", MEMORY_HIGH_EVENTS, 1, 1},
	{"max", MEMORY_MAX_EVENTS, 1, 1},
	{"oom", OOM_EVENTS, 1, 1},
	{"oom_kill", OOM_KILLS, 1, 1},
};

#define ONE(controller, name, form, metric, by)                    \
	{                                                          \
		controller, name, FILE_##form, metric, by, NULL, 0 \
	}
#define LINES(controller, name, table)                                       \
	{                                                                    \
		controller, name, FILE_LINES, 0, 1, table, ARRAY_SIZE(table) \
	}

const struct cgroup_file cgroup_files[] = {
	ONE("cpuacct", "cpuacct.usage", NUMBER, CPU_USAGE, 1000),
	LINES("cpuacct", "cpuacct.stat", cpuacct_stat),
	LINES("cpu", "cpu.stat", cpu_stat_v1),
	ONE("cpu", "cpu.cfs_quota_us", QUOTA, CPU_LIMIT, 1),
	ONE("cpu", "cpu.cfs_period_us", PERIOD, CPU_LIMIT, 1),
	ONE("memory", "memory.usage_in_bytes", NUMBER, MEMORY_CURRENT, 1),
	ONE("memory", "memory.max_usage_in_bytes", NUMBER, MEMORY_PEAK, 1),
	ONE("memory", "memory.limit_in_bytes", LIMIT, MEMORY_LIMIT, 1),
	ONE("memory", "memory.memsw.usage_in_bytes", NUMBER, MEMSW_CURRENT, 1),
	ONE("memory", "memory.memsw.max_usage_in_bytes", NUMBER, MEMSW_PEAK, 1),
	ONE("memory", "memory.memsw.limit_in_bytes", LIMIT, MEMSW_LIMIT, 1),
	ONE("memory", "memory.failcnt", NUMBER, MEMORY_MAX_EVENTS, 1),
	ONE("memory", "memory.kmem.usage_in_bytes", NUMBER, MEMORY_KERNEL, 1),
	ONE("memory", "memory.kmem.tcp.usage_in_bytes", NUMBER, MEMORY_SOCK, 1),
	LINES("memory", "memory.stat", memory_stat_v1),
	LINES("memory", "memory.oom_control", oom_control),
	ONE("blkio", "blkio.throttle.io_service_bytes_recursive", IO_V1, IO_READ_BYTES, 1),
	ONE("blkio", "blkio.throttle.io_service_bytes", IO_V1, IO_READ_BYTES, 1),
	ONE("blkio", "blkio.throttle.io_serviced_recursive", IO_V1, IO_READS, 1),
	ONE("blkio", "blkio.throttle.io_serviced", IO_V1, IO_READS, 1),
	ONE("pids", "pids.current", NUMBER, PIDS_CURRENT, 1),
	ONE("pids", "pids.peak", NUMBER, PIDS_PEAK, 1),
	ONE("pids", "pids.max", LIMIT, PIDS_LIMIT, 1),
	LINES("", "cpu.stat", cpu_stat_v2),
	ONE("", "cpu.max", CPU_MAX, CPU_LIMIT, 1),
	ONE("", "memory.current", NUMBER, MEMORY_CURRENT, 1),
	ONE("", "memory.peak", NUMBER, MEMORY_PEAK, 1),
	ONE("", "memory.max", LIMIT, MEMORY_LIMIT, 1),
	ONE("", "memory.swap.current", NUMBER, SWAP_CURRENT, 1),
	ONE("", "memory.swap.max", LIMIT, SWAP_LIMIT, 1),
	LINES("", "memory.stat", memory_stat_v2),
	LINES("", "memory.events", memory_events),
	ONE("", "io.stat", IO_V2, IO_READ_BYTES, 1),
	ONE("", "pids.current", NUMBER, PIDS_CURRENT, 1),
	ONE("", "pids.peak", NUMBER, PIDS_PEAK, 1),
	ONE("", "pids.max", LIMIT, PIDS_LIMIT, 1),
	ONE("", "cpu.pressure", PSI, CPU_PRESSURE_SOME, 1),
	ONE("", "memory.pressure", PSI, MEMORY_PRESSURE_SOME, 1),
	ONE("", "io.pressure", PSI, IO_PRESSURE_SOME, 1),
};
const size_t cgroup_file_count = ARRAY_SIZE(cgroup_files);

/* ---- texts ---------------------------------------------------------------------------------- */

/* A limit above this means no limit: version 1 prints 2^63 rounded down to a page. */
#define NO_LIMIT ((uint64_t)1 << 60)

static void put(struct cgroup_values *ret, unsigned metric, uint64_t v)
{
	if (ret->present >> metric & 1)
		return;
	ret->v[metric] = v;
	ret->present |= (uint64_t)1 << metric;
}

static void sum_up(uint64_t *sum, uint64_t v)
{
	*sum = v > INT64_MAX - *sum ? INT64_MAX : *sum + v;
}

static void take_lines(const struct cgroup_file *f, struct words text, struct cgroup_values *ret)
{
	struct words line, key;
	uint64_t v;

	while (line_next(&text, &line)) {
		if (!word_next(&line, &key))
			continue;
		for (size_t i = 0; i < f->line_count; i++) {
			const struct cgroup_line *l = &f->lines[i];

			if (!word_is(&key, l->key))
				continue;
			if (number_next(&line, &v) && v <= INT64_MAX / l->times)
				put(ret, l->metric, v * l->times / l->by);
			break;
		}
	}
}

/* Every line is a device; lines without numbers, and an empty file, mean no I/O. */
static void take_io_v2(struct words text, struct cgroup_values *ret)
{
	static const char *const keys[IO_FIELDS] = {"rbytes=", "wbytes=", "rios=", "wios="};
	struct words line, device, word;
	uint64_t v;

	cgroup_io_begin(ret->io);
	while (line_next(&text, &line)) {
		if (!word_next(&line, &device))
			continue;
		while (word_next(&line, &word))
			for (unsigned i = 0; i < IO_FIELDS; i++) {
				if (!word_begins(&word, keys[i]))
					continue;
				word.p += strlen(keys[i]);
				if (number_next(&word, &v))
					cgroup_io_add(ret->io, &device, i, v);
				break;
			}
	}
	for (unsigned i = 0; i < IO_FIELDS; i++)
		put(ret, IO_READ_BYTES + i, cgroup_io_sum(ret->io, i));
}

/* A file without a device means no I/O, unless no group of this kernel has one. */
static void take_io_v1(unsigned first, struct words text, struct cgroup_values *ret)
{
	unsigned field = first - IO_READ_BYTES;
	struct words line, device, what;
	bool any = false;
	uint64_t v;

	cgroup_io_begin(ret->io);
	while (line_next(&text, &line)) {
		if (!word_next(&line, &device) || !word_next(&line, &what))
			continue;
		bool write = word_is(&what, "Write");

		if ((write || word_is(&what, "Read")) && number_next(&line, &v)) {
			cgroup_io_add(ret->io, &device, field + write, v);
			any = true;
		}
	}
	bool none = ret->io->devices && blockdevs_uncounted(ret->io->devices);
	if (!any && !ret->io->count && none) {
		ret->uncounted = true;
		return;
	}
	cgroup_io_partly(ret->io);
	put(ret, first, cgroup_io_sum(ret->io, field));
	put(ret, first + 1, cgroup_io_sum(ret->io, field + 1));
}

static void take_psi(unsigned first, struct words text, struct cgroup_values *ret)
{
	struct psi psi;

	psi_parse(text, &psi);
	if (psi.some.has_total)
		put(ret, first, psi.some.total_us);
	if (psi.full.has_total)
		put(ret, first + 1, psi.full.total_us);
}

static void take_limit(unsigned metric, struct words text, struct cgroup_values *ret)
{
	struct words line, word;
	uint64_t v;

	if (!line_next(&text, &line) || !word_next(&line, &word))
		return;
	bool none = word_is(&word, "max") || word_is(&word, "-1");
	if (!none && !number_next(&word, &v))
		return; /* garbage */
	if (none || v >= NO_LIMIT)
		ret->unlimited |= (uint64_t)1 << metric;
	else
		put(ret, metric, v);
}

/* "50000 100000" of version 2, with the period; "50000" of version 1. "max" and -1: no limit. */
static void take_quota(struct words text, struct cgroup_values *ret)
{
	struct words line, word;
	uint64_t v;

	if (!line_next(&text, &line) || !word_next(&line, &word))
		return;
	if (word_is(&word, "max") || word_is(&word, "-1")) {
		ret->unlimited |= (uint64_t)1 << CPU_LIMIT;
		return;
	}
	if (!number_next(&word, &ret->quota_us))
		return;
	if (number_next(&line, &v))
		ret->period_us = v;
}

void cgroup_take(const struct cgroup_file *f, struct words text, struct cgroup_values *ret)
{
	uint64_t v;

	switch (f->form) {
	case FILE_NUMBER:
		if (number_only(&text, &v))
			put(ret, f->metric, v / f->by);
		break;
	case FILE_LIMIT:
		take_limit(f->metric, text, ret);
		break;
	case FILE_LINES:
		take_lines(f, text, ret);
		break;
	/* counters by device are cumulative: a second file with the same must not be added */
	case FILE_IO_V2:
		if (!(ret->present >> f->metric & 1))
			take_io_v2(text, ret);
		break;
	case FILE_IO_V1:
		if (!(ret->present >> f->metric & 1))
			take_io_v1(f->metric, text, ret);
		break;
	case FILE_PSI:
		take_psi(f->metric, text, ret);
		break;
	case FILE_CPU_MAX:
	case FILE_QUOTA:
		take_quota(text, ret);
		break;
	case FILE_PERIOD:
		if (!number_only(&text, &ret->period_us))
			ret->period_us = 0;
		break;
	}
}

void cgroup_finish(struct cgroup_values *v)
{
	const uint64_t both = (uint64_t)1 << MEMORY_CURRENT | (uint64_t)1 << SWAP_CURRENT;
	const uint64_t limits = (uint64_t)1 << MEMORY_LIMIT | (uint64_t)1 << SWAP_LIMIT;

	if (v->quota_us && v->period_us && v->quota_us < INT64_MAX / 1000)
		put(v, CPU_LIMIT, v->quota_us * 1000 / v->period_us);
	uint64_t used = v->v[MEMORY_CURRENT];
	sum_up(&used, v->v[SWAP_CURRENT]);
	if ((v->present & both) == both)
		put(v, MEMSW_CURRENT, used);
	if ((v->present & limits) == limits)
		put(v, MEMSW_LIMIT, v->v[MEMORY_LIMIT] + v->v[SWAP_LIMIT]);
	else if (v->unlimited & limits && !(v->present >> MEMSW_LIMIT & 1))
		v->unlimited |= (uint64_t)1 << MEMSW_LIMIT;
	v->unlimited &= ~v->present;
}
