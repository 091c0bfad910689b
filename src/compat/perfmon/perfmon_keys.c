/*
 * perfmon's names and ours; see perfmon_keys.h. Headers of exports are perfmon's where its code has
 * them (memory bandwidth, InfiniBand, RAPL); the others follow their pattern.
 */
#include "compat/perfmon/perfmon_keys.h"

#include <math.h>
#include <string.h>

#include "jobs/job_files.h"

const char *const perfmon_file_names[PERFMON_FILES] = {
	[PERFMON_CPU] = "cpu_metrics.json",
	[PERFMON_PERF] = "perf_metrics.json",
	[PERFMON_GPU] = "nv_gpu_metrics.json",
};

#define DERIVED "derv" /* prefix of the keys of derived values */

/* clang-format off */
#define OURS(unit, kind, agg, scale) {NULL, UNIT_##unit, KIND_##kind, AGG_##agg, scale, NULL}
#define CPU(group, key, source, metric, entity, there, unit, kind, agg, scale, flags, place, header) \
	{PERFMON_CPU, group, key, source, metric, ENTITY_##entity, PERFMON_##there, OURS(unit, kind, agg, scale), flags, place, header}
#define PERF(group, key, metric) \
	{PERFMON_PERF, group, key, "counters", metric, ENTITY_JOB, PERFMON_PLAIN, OURS(COUNT, COUNTER, SUM, 0), \
	 PERFMON_OPTIONAL, 0, NULL}
#define EVENT(group, name) PERF(group, name, name)
#define DERV(group, value, there, unit, agg, scale) \
	{PERFMON_PERF, group, DERIVED "_" value, "counters", group "." value, ENTITY_JOB, PERFMON_##there, \
	 OURS(unit, GAUGE, agg, scale), PERFMON_OPTIONAL | PERFMON_LEVEL, 0, NULL}
#define RATE(group, value, unit) DERV(group, value, MILLIONS, unit, SUM, 0)
#define RATIO(group, value) DERV(group, value, PLAIN, RATIO, NONE, 1e-6)
#define GPU(group, key, metric, there, unit, kind, agg, scale, place, header) \
	{PERFMON_GPU, group, key, "nvidia", metric, ENTITY_GPU, PERFMON_##there, OURS(unit, kind, agg, scale), 0, place, header}

/* perfmon's unit; unit, kind, aggregation and scale of a series that is read; place and header in
 * exports */
const struct perfmon_key perfmon_keys[] = {
	CPU(NULL, "cpu_percent",     "process", "cpu_percent", JOB,  PLAIN, PERCENT, MEAN, SUM, 1e-6, 0, 1, "CPU usage [%]"),
	CPU(NULL, "cpu_percent_sys", "system",  "cpu_percent", NODE, PLAIN, PERCENT, MEAN, NONE, 1e-6, 0, 2, "System CPU usage [%]"),
	CPU(NULL, "cpu_time",        "process", "usertime",    JOB,  SECONDS, MICROSECONDS, COUNTER, SUM, 0, 0, 3, "CPU time [s]"),
	CPU(NULL, "cpu_time",        "process", "systemtime",  JOB,  SECONDS, MICROSECONDS, COUNTER, SUM, 0, 0, 3, "CPU time [s]"),
	CPU("ib_io_counters", "port_rcv_data",     "infiniband", "port_rcv_data",     PORT, PLAIN, BYTES, COUNTER, SUM, 0, PERFMON_OPTIONAL, 22, "IB recv data [bytes]"),
	CPU("ib_io_counters", "port_rcv_packets",  "infiniband", "port_rcv_packets",  PORT, PLAIN, COUNT, COUNTER, SUM, 0, PERFMON_OPTIONAL, 24, "IB recv packets"),
	CPU("ib_io_counters", "port_xmit_data",    "infiniband", "port_xmit_data",    PORT, PLAIN, BYTES, COUNTER, SUM, 0, PERFMON_OPTIONAL, 21, "IB xmit data [bytes]"),
	CPU("ib_io_counters", "port_xmit_packets", "infiniband", "port_xmit_packets", PORT, PLAIN, COUNT, COUNTER, SUM, 0, PERFMON_OPTIONAL, 23, "IB xmit packets"),
	CPU("io_counters", "read_bytes",  "process", "read_bytes",  JOB, PLAIN, BYTES, COUNTER, SUM, 0, 0, 14, "IO read data [bytes]"),
	CPU("io_counters", "read_count",  "process", "syscr",       JOB, PLAIN, COUNT, COUNTER, SUM, 0, 0, 12, "IO read count"),
	CPU("io_counters", "write_bytes", "process", "write_bytes", JOB, PLAIN, BYTES, COUNTER, SUM, 0, 0, 15, "IO write data [bytes]"),
	CPU("io_counters", "write_count", "process", "syscw",       JOB, PLAIN, COUNT, COUNTER, SUM, 0, 0, 13, "IO write count"),
	CPU(NULL, "memory_bw", "counters", "MEM_READ.bandwidth", JOB, PLAIN, BYTES_PER_SECOND, GAUGE, SUM, 0, PERFMON_OPTIONAL, 20, "Memory (read) bandwidth [MiB/s]"),
	CPU("memory_full_info", "swap", "process_memory", "swap", JOB, PLAIN, BYTES, GAUGE, SUM, 0, 0, 8, "Memory swap [bytes]"),
	CPU("memory_full_info", "uss",  "process_memory", "uss",  JOB, PLAIN, BYTES, GAUGE, SUM, 0, 0, 7, "Memory USS [bytes]"),
	CPU("memory_info", "rss",    "process",        "rss",    JOB, PLAIN, BYTES, GAUGE, SUM, 0, 0, 4, "Memory RSS [bytes]"),
	CPU("memory_info", "shared", "process_memory", "shared", JOB, PLAIN, BYTES, GAUGE, SUM, 0, 0, 6, "Memory shared [bytes]"),
	CPU("memory_info", "vms",    "process",        "vms",    JOB, PLAIN, BYTES, GAUGE, SUM, 0, 0, 5, "Memory VMS [bytes]"),
	CPU(NULL, "memory_percent", "process", "memory_percent", JOB, PLAIN, PERCENT, GAUGE, SUM, 1e-6, 0, 9, "Memory usage [%]"),
	CPU("net_io_counters", "bytes_recv",   "network", "rx_bytes",   INTERFACE, PLAIN, BYTES, COUNTER, SUM, 0, 0, 17, "Net recv data [bytes]"),
	CPU("net_io_counters", "bytes_sent",   "network", "tx_bytes",   INTERFACE, PLAIN, BYTES, COUNTER, SUM, 0, 0, 16, "Net sent data [bytes]"),
	CPU("net_io_counters", "packets_recv", "network", "rx_packets", INTERFACE, PLAIN, COUNT, COUNTER, SUM, 0, 0, 19, "Net recv packets"),
	CPU("net_io_counters", "packets_sent", "network", "tx_packets", INTERFACE, PLAIN, COUNT, COUNTER, SUM, 0, 0, 18, "Net sent packets"),
	CPU(NULL, "num_fds",     "process_memory", "num_fds",     JOB, PLAIN, COUNT, GAUGE, SUM, 0, 0, 11, "Number of file descriptors"),
	CPU(NULL, "num_threads", "process",        "num_threads", JOB, PLAIN, COUNT, GAUGE, SUM, 0, 0, 10, "Number of threads"),
	CPU("rapl_powercap", NULL, "rapl", "energy", PACKAGE, MICROJOULES, JOULES, COUNTER, SUM, 1e-6, PERFMON_OPTIONAL, 0, NULL),

	RATE("FLOPS_DP", "flops", PER_SECOND),
	RATIO("FLOPS_DP", "vector_ratio"),
	EVENT("FLOPS_DP", "dp_128"),
	EVENT("FLOPS_DP", "dp_256"),
	EVENT("FLOPS_DP", "dp_512"),
	EVENT("FLOPS_DP", "dp_flops"),
	EVENT("FLOPS_DP", "dp_scalar"),
	EVENT("FLOPS_DP", "fp_double"),
	EVENT("FLOPS_DP", "fp_packed"),
	EVENT("FLOPS_DP", "fp_scalar"),
	EVENT("FLOPS_DP", "fp_single"),
	RATE("FLOPS_SP", "flops", PER_SECOND),
	RATIO("FLOPS_SP", "vector_ratio"),
	EVENT("FLOPS_SP", "fp_double"),
	EVENT("FLOPS_SP", "fp_packed"),
	EVENT("FLOPS_SP", "fp_scalar"),
	EVENT("FLOPS_SP", "fp_single"),
	EVENT("FLOPS_SP", "sp_128"),
	EVENT("FLOPS_SP", "sp_256"),
	EVENT("FLOPS_SP", "sp_512"),
	EVENT("FLOPS_SP", "sp_flops"),
	EVENT("FLOPS_SP", "sp_scalar"),
	RATE("L2", "bandwidth", BYTES_PER_SECOND),
	RATE("L2", "evict_bandwidth", BYTES_PER_SECOND),
	RATE("L2", "load_bandwidth", BYTES_PER_SECOND),
	RATE("L2", "volume", BYTES),
	EVENT("L2", "l1_fills"),
	EVENT("L2", "l1d_evictions"),
	EVENT("L2", "l1d_fills"),
	EVENT("L2", "l1i_fills"),
	RATIO("L2cache", "miss_rate"),
	RATIO("L2cache", "miss_ratio"),
	RATIO("L2cache", "request_rate"),
	EVENT("L2cache", "l2_core_misses"),
	EVENT("L2cache", "l2_core_requests"),
	EVENT("L2cache", "l2_misses"),
	EVENT("L2cache", "l2_prefetch_hits"),
	EVENT("L2cache", "l2_prefetch_l3_hits"),
	EVENT("L2cache", "l2_prefetch_l3_misses"),
	EVENT("L2cache", "l2_requests"),
	RATE("L3", "bandwidth", BYTES_PER_SECOND),
	RATE("L3", "evict_bandwidth", BYTES_PER_SECOND),
	RATE("L3", "load_bandwidth", BYTES_PER_SECOND),
	RATE("L3", "volume", BYTES),
	EVENT("L3", "l2_core_misses"),
	EVENT("L3", "l2_evictions"),
	EVENT("L3", "l2_fills"),
	EVENT("L3", "l2_prefetch_l3_hits"),
	EVENT("L3", "l2_prefetch_l3_misses"),
	RATIO("L3cache", "miss_rate"),
	RATIO("L3cache", "miss_ratio"),
	RATIO("L3cache", "request_rate"),
	EVENT("L3cache", "l3_load_hits"),
	EVENT("L3cache", "l3_load_misses"),
	EVENT("L3cache", "l3_misses"),
	EVENT("L3cache", "l3_requests"),
	EVENT("L3cache", "ll_read_misses"),
	EVENT("L3cache", "ll_reads"),
	PERF("hardware_events", "branch-misses",    "branch_misses"),
	EVENT("hardware_events", "branches"),
	PERF("hardware_events", "cache-misses",     "cache_misses"),
	PERF("hardware_events", "cache-references", "cache_references"),
	EVENT("hardware_events", "cycles"),
	EVENT("hardware_events", "instructions"),
	PERF("software_events", "context-switches", "context_switches"),
	PERF("software_events", "cpu-migrations",   "cpu_migrations"),

	GPU("clock_info", "graphics", "clock_graphics", MEGAHERTZ, HERTZ, GAUGE, NONE, 1e6, 29, "GPU graphics clock [MHz]"),
	GPU("clock_info", "memory",   "clock_memory",   MEGAHERTZ, HERTZ, GAUGE, NONE, 1e6, 31, "GPU memory clock [MHz]"),
	GPU("clock_info", "sm",       "clock_sm",       MEGAHERTZ, HERTZ, GAUGE, NONE, 1e6, 30, "GPU SM clock [MHz]"),
	GPU(NULL, "decoder_util", "decoder_util", PLAIN, PERCENT, GAUGE, NONE, 1e-3, 36, "GPU decoder usage [%]"),
	GPU("ecc_errors", "dp", "ecc_double_aggregate", PLAIN, COUNT, COUNTER, SUM, 0, 40, "GPU double bit ECC errors"),
	GPU("ecc_errors", "sp", "ecc_single_aggregate", PLAIN, COUNT, COUNTER, SUM, 0, 39, "GPU single bit ECC errors"),
	GPU(NULL, "encoder_util", "encoder_util", PLAIN, PERCENT, GAUGE, NONE, 1e-3, 35, "GPU encoder usage [%]"),
	GPU(NULL, "fan_speed",    "fan_speed",    PLAIN, PERCENT, GAUGE, MAX, 1e-3, 34, "GPU fan speed [%]"),
	GPU("memory_used", "bar1_memory", "bar1_used",   PLAIN, BYTES, GAUGE, SUM, 0, 28, "GPU BAR1 memory used [bytes]"),
	GPU("memory_used", "gpu_memory",  "memory_used", PLAIN, BYTES, GAUGE, SUM, 0, 27, "GPU memory used [bytes]"),
	GPU(NULL, "num_procs", "processes", PLAIN, COUNT, GAUGE, SUM, 0, 42, "GPU number of processes"),
	GPU("pci_thgpt", "recv", "pcie_rx", KILOBYTES_PER_SECOND, BYTES_PER_SECOND, GAUGE, SUM, 1e3, 38, "GPU PCIe recv data [kB/s]"),
	GPU("pci_thgpt", "send", "pcie_tx", KILOBYTES_PER_SECOND, BYTES_PER_SECOND, GAUGE, SUM, 1e3, 37, "GPU PCIe sent data [kB/s]"),
	GPU(NULL, "power_usage", "power",       MILLIWATTS, WATTS, GAUGE, SUM, 1e-3, 32, "GPU power [mW]"),
	GPU(NULL, "temperature", "temperature", PLAIN, CELSIUS, GAUGE, MAX, 1e-3, 33, "GPU temperature [C]"),
	GPU("utilization_rates", "gpu",    "utilization_gpu",    PLAIN, PERCENT, GAUGE, NONE, 1e-3, 25, "GPU usage [%]"),
	GPU("utilization_rates", "memory", "utilization_memory", PLAIN, PERCENT, GAUGE, NONE, 1e-3, 26, "GPU memory usage [%]"),
	GPU(NULL, "violation", "violation_app_clocks", NANOSECONDS, NANOSECONDS, COUNTER, SUM, 0, 41, "GPU clock violation [ns]"),
};
/* clang-format on */
const size_t perfmon_key_count = ARRAY_SIZE(perfmon_keys);

/* For keys that are not in the table: events, derived values without a unit, and the rest. */
static const struct perfmon_key any_event = EVENT(NULL, NULL), any_ratio = RATIO("", ""),
				any_other = {.entity = ENTITY_JOB,
					     .ours = {.kind = KIND_GAUGE, .agg = AGG_NONE}};

const char *const perfmon_clocks[PERFMON_FILES][3] = {
	[PERFMON_CPU] = {"process", "system", NULL},
	[PERFMON_PERF] = {"counters", NULL},
	[PERFMON_GPU] = {"nvidia", NULL},
};

size_t perfmon_key_rows(size_t first)
{
	const struct perfmon_key *k = &perfmon_keys[first];
	size_t n = 1;

	while (k->key && first + n < perfmon_key_count && k[n].file == k->file &&
	       str_same(k[n].group, k->group) && str_same(k[n].key, k->key))
		n++;
	return n;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Our units that differ from "plain" in perfmon, and those that a key may need. */
static double unit_factor(enum perfmon_unit to, enum metric_unit from)
{
	double time = from == UNIT_MICROSECONDS ? 1e3 : 1; /* in nanoseconds */

	switch (to) {
	case PERFMON_SECONDS:
		return time * 1e-9;
	case PERFMON_NANOSECONDS:
		return time;
	case PERFMON_MICROJOULES:
		return 1e6;
	case PERFMON_MILLIWATTS:
		return 1e3;
	case PERFMON_MEGAHERTZ:
	case PERFMON_MILLIONS:
		return 1e-6;
	case PERFMON_KILOBYTES_PER_SECOND:
		return 1e-3;
	case PERFMON_PLAIN:
		break;
	}
	return from == UNIT_KIBIBYTES ? 1024 : 1;
}

/* v as an integer, apart from rounding errors; 0 if it is not an integer. */
static int64_t whole(double v)
{
	double near = v < 1e15 ? (double)round_i64(v) : 0;

	return near >= 1 && near < 1e15 && fabs(v - near) < near * 1e-9 ? (int64_t)near : 0;
}

void perfmon_factor(const struct perfmon_key *k, const struct sample_metric *m, int64_t *ret_times,
		    int64_t *ret_by)
{
	double factor = unit_factor(k->unit, m->unit) * (m->scale > 0 ? m->scale : 1);

	*ret_times = whole(factor);
	*ret_by = 1;
	/* 0.01, 64e-6: the smallest power of ten that makes it whole */
	for (int64_t by = 10; !*ret_times && by <= 1000000000000; by *= 10)
		if (whole(factor * (double)by)) {
			*ret_times = whole(factor * (double)by);
			*ret_by = by;
		}
	/* not a decimal fraction: 1/1024 and the like */
	if (!*ret_times && whole(1 / factor)) {
		*ret_times = 1;
		*ret_by = whole(1 / factor);
	}
	if (!*ret_times) {
		*ret_times = round_i64((factor < 1e-6 ? 1e-6 : factor > 1e6 ? 1e6 : factor) * 1e9);
		*ret_by = 1000000000;
	}
}

/* ---- what is read --------------------------------------------------------------------------- */

static size_t find(enum perfmon_file file, const char *group, const char *key)
{
	size_t i = 0;

	while (i < perfmon_key_count &&
	       (perfmon_keys[i].file != file || !str_same(perfmon_keys[i].group, group) ||
		(perfmon_keys[i].key && strcmp(perfmon_keys[i].key, key) != 0)))
		i++;
	return i;
}

/* An event that is not in the table. A derived value has the unit of the row whose name is part of
 * its name: "derv_read_bandwidth" is a bandwidth. The longest name wins. */
static const struct perfmon_key *like_event(const char *key)
{
	const struct perfmon_key *found = &any_ratio;
	size_t longest = 0;

	if (!str_prefix(key, DERIVED))
		return &any_event;
	for (const struct perfmon_key *k = perfmon_keys; k < perfmon_keys + perfmon_key_count;
	     k++) {
		const char *name =
			k->unit == PERFMON_MILLIONS ? k->key + strlen(DERIVED "_") : NULL;

		if (name && strlen(name) > longest && strstr(key + strlen(DERIVED), name)) {
			found = k;
			longest = strlen(name);
		}
	}
	return found;
}

/* "derv_bandwidth" of group L2 is L2.bandwidth, "branch-misses" of any group branch_misses. */
static void name_event(const char *group, const char *key, struct perfmon_series_map *r)
{
	if (str_prefix(key, DERIVED)) {
		key += strlen(DERIVED);
		key += *key == '_' || *key == '-';
		snprintf(r->metric, sizeof(r->metric), "%.60s.%.90s", group, key);
		return;
	}
	snprintf(r->metric, sizeof(r->metric), "%.150s", key);
	for (char *p = r->metric; *p; p++)
		if (*p == '-')
			*p = '_';
}

static void name_entity(const char *key, const char *gpu, struct perfmon_series_map *r)
{
	const char *name = r->kind == ENTITY_GPU       ? gpu ? gpu : "0"
			   : r->kind == ENTITY_PACKAGE ? key
						       : entity_kind_name(r->kind);

	snprintf(r->entity, sizeof(r->entity), "%.60s", name);
}

void perfmon_map(enum perfmon_file file, const char *group, const char *key, const char *gpu,
		 struct perfmon_series_map *r)
{
	size_t i = find(file, group, key);
	bool known = i < perfmon_key_count, event = !known && file == PERFMON_PERF && group;
	bool one = known && perfmon_key_rows(i) == 1; /* not the sum of several of ours */
	const struct perfmon_key *k = known   ? &perfmon_keys[i]
				      : event ? like_event(key)
					      : &any_other;
	int64_t times, by;

	perfmon_factor(k, &k->ours, &times, &by);
	*r = (struct perfmon_series_map){
		.m = k->ours,
		.times = (double)by / (double)times,
		.adds_up = k->file == PERFMON_PERF && !(k->flags & PERFMON_LEVEL),
		.guess = k == &any_other,
	};
	snprintf(r->source, sizeof(r->source), "%s", event || one ? k->source : "perfmon");
	if (event)
		name_event(group, key, r);
	else if (one)
		snprintf(r->metric, sizeof(r->metric), "%s", k->metric);
	else
		snprintf(r->metric, sizeof(r->metric), "%.70s%s%.70s", group ? group : "",
			 group ? "." : "", key);
	/* a sum over parts of the node belongs to the node */
	r->kind = file == PERFMON_GPU                              ? ENTITY_GPU
		  : k->entity == ENTITY_JOB || perfmon_key_each(k) ? k->entity
								   : ENTITY_NODE;
	name_entity(key, gpu, r);
}

/* ---- columns of exports --------------------------------------------------------------------- */

#define RAPL "rapl_powercap"
static const char *const domains[] = {"package", "dram", "core", "uncore"};

/* "package-0": the place of the domain, and the number of the socket. */
static bool split_domain(const char *key, size_t *ret_domain, size_t *ret_socket)
{
	const char *dash = strrchr(key, '-');
	uint64_t socket;

	if (!dash || parse_u64(dash + 1, &socket) < 0 || socket > 999)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(domains); i++)
		if (strlen(domains[i]) == (size_t)(dash - key) &&
		    !memcmp(domains[i], key, (size_t)(dash - key))) {
			*ret_domain = i;
			*ret_socket = (size_t)socket;
			return true;
		}
	return false;
}

/* A name that several groups have: "bandwidth" is L2's and L3's. */
static bool in_several_groups(const char *key)
{
	const char *group = NULL;

	for (size_t i = 0; i < perfmon_key_count; i++) {
		const struct perfmon_key *k = &perfmon_keys[i];

		if (k->file != PERFMON_PERF || !k->key || strcmp(k->key, key) != 0)
			continue;
		if (group && strcmp(group, k->group) != 0)
			return true;
		group = k->group;
	}
	return false;
}

/* The first row of a group and key, in any file; perfmon_key_count: there is none. */
static size_t find_header(const char *group, const char *key)
{
	size_t i = 0;

	while (i < perfmon_key_count &&
	       (!str_same(perfmon_keys[i].group, group) || !str_same(perfmon_keys[i].key, key)))
		i++;
	return i;
}

char *perfmon_header(enum perfmon_file file, const char *group, const char *key)
{
	size_t i = find_header(group, key), domain, socket;

	if (file == PERFMON_PERF)
		return group && in_several_groups(key) ? xasprintf("%s %s", group, key)
						       : xstrdup(key);
	if (i < perfmon_key_count && perfmon_keys[i].header)
		return xstrdup(perfmon_keys[i].header);
	if (str_same(group, RAPL) && split_domain(key, &domain, &socket))
		return xasprintf("RAPL %s %zu [uJ]", domains[domain], socket);
	if (str_same(group, RAPL))
		return xasprintf("RAPL %s [uJ]", key);
	return group ? xasprintf("%s %s", group, key) : xstrdup(key);
}

size_t perfmon_header_place(const char *group, const char *key)
{
	size_t i = find_header(group, key), domain, socket;

	if (i < perfmon_key_count)
		return perfmon_keys[i].place ? perfmon_keys[i].place : 10000 + i;
	if (!str_same(group, RAPL))
		return SIZE_MAX;
	return split_domain(key, &domain, &socket) ? 100 + domain * 1000 + socket
						   : 100 + ARRAY_SIZE(domains) * 1000;
}

/* ---- which files are perfmon's -------------------------------------------------------------- */

/* Tables in other formats have the same names with another suffix. */
static bool is_name(const char *base)
{
	for (size_t i = 0; i < PERFMON_FILES; i++) {
		size_t n = strcspn(perfmon_file_names[i], ".");

		if (!strncmp(base, perfmon_file_names[i], n) && base[n] == '.')
			return true;
	}
	return !strcmp(base, PERFMON_META_NAME);
}

const struct job_files job_files_perfmon = {.dir = "metrics", .is_name = is_name};
