/* perfmon's names and ours; see perfmon_map.h. */
#include "formats/perfmon_map.h"

#include <string.h>

struct row {
	enum perfmon_kind file;
	const char *group, *key;
	const char *source, *metric;
	enum entity_kind entity;
	enum metric_unit unit;
	enum metric_kind kind;
	enum metric_agg agg;
	double times, scale;
};

/* clang-format off */
#define CPU(group, key, source, metric, entity, unit, kind, agg, times, scale) \
	{PERFMON_CPU_FILE, group, key, source, metric, ENTITY_##entity, UNIT_##unit, KIND_##kind, AGG_##agg, times, scale}
#define GPU(group, key, metric, unit, kind, agg, times, scale) \
	{PERFMON_GPU_FILE, group, key, "nvidia", metric, ENTITY_GPU, UNIT_##unit, KIND_##kind, AGG_##agg, times, scale}

/* times: from perfmon's number to a whole one, scale: from that to the unit */
static const struct row rows[] = {
	CPU(NULL, "cpu_percent",     "process", "cpu_percent", JOB,  PERCENT, GAUGE, SUM, 1e6, 1e-6),
	CPU(NULL, "cpu_percent_sys", "system",  "cpu_percent", NODE, PERCENT, GAUGE, NONE, 1e6, 1e-6),
	CPU(NULL, "cpu_time",        "perfmon", "cpu_time",    JOB,  MICROSECONDS, COUNTER, SUM, 1e6, 0),
	CPU("ib_io_counters", "port_rcv_data",     "infiniband", "port_rcv_data",     NODE, BYTES, COUNTER, SUM, 1, 0),
	CPU("ib_io_counters", "port_rcv_packets",  "infiniband", "port_rcv_packets",  NODE, COUNT, COUNTER, SUM, 1, 0),
	CPU("ib_io_counters", "port_xmit_data",    "infiniband", "port_xmit_data",    NODE, BYTES, COUNTER, SUM, 1, 0),
	CPU("ib_io_counters", "port_xmit_packets", "infiniband", "port_xmit_packets", NODE, COUNT, COUNTER, SUM, 1, 0),
	CPU("io_counters", "read_bytes",  "process", "read_bytes",  JOB, BYTES, COUNTER, SUM, 1, 0),
	CPU("io_counters", "read_count",  "process", "syscr",       JOB, COUNT, COUNTER, SUM, 1, 0),
	CPU("io_counters", "write_bytes", "process", "write_bytes", JOB, BYTES, COUNTER, SUM, 1, 0),
	CPU("io_counters", "write_count", "process", "syscw",       JOB, COUNT, COUNTER, SUM, 1, 0),
	CPU(NULL, "memory_bw", "counters", "MEM_READ.bandwidth", JOB, BYTES_PER_SECOND, GAUGE, SUM, 1, 0),
	CPU("memory_full_info", "swap", "process_memory", "swap", JOB, BYTES, GAUGE, SUM, 1, 0),
	CPU("memory_full_info", "uss",  "process_memory", "uss",  JOB, BYTES, GAUGE, SUM, 1, 0),
	CPU("memory_info", "rss",    "process",        "rss",    JOB, BYTES, GAUGE, SUM, 1, 0),
	CPU("memory_info", "shared", "process_memory", "shared", JOB, BYTES, GAUGE, SUM, 1, 0),
	CPU("memory_info", "vms",    "process",        "vms",    JOB, BYTES, GAUGE, SUM, 1, 0),
	CPU(NULL, "memory_percent", "process", "memory_percent", JOB, PERCENT, GAUGE, SUM, 1e6, 1e-6),
	CPU("net_io_counters", "bytes_recv",   "network", "rx_bytes",   NODE, BYTES, COUNTER, SUM, 1, 0),
	CPU("net_io_counters", "bytes_sent",   "network", "tx_bytes",   NODE, BYTES, COUNTER, SUM, 1, 0),
	CPU("net_io_counters", "packets_recv", "network", "rx_packets", NODE, COUNT, COUNTER, SUM, 1, 0),
	CPU("net_io_counters", "packets_sent", "network", "tx_packets", NODE, COUNT, COUNTER, SUM, 1, 0),
	CPU(NULL, "num_fds",     "process_memory", "num_fds",     JOB, COUNT, GAUGE, SUM, 1, 0),
	CPU(NULL, "num_threads", "process",        "num_threads", JOB, COUNT, GAUGE, SUM, 1, 0),
	CPU("rapl_powercap", NULL, "rapl", "energy", PACKAGE, JOULES, COUNTER, SUM, 1, 1e-6),

	GPU("clock_info", "graphics", "clock_graphics", HERTZ, GAUGE, NONE, 1, 1e6),
	GPU("clock_info", "memory",   "clock_memory",   HERTZ, GAUGE, NONE, 1, 1e6),
	GPU("clock_info", "sm",       "clock_sm",       HERTZ, GAUGE, NONE, 1, 1e6),
	GPU(NULL, "decoder_util", "decoder_util", PERCENT, GAUGE, NONE, 1e3, 1e-3),
	GPU("ecc_errors", "dp", "ecc_double_aggregate", COUNT, COUNTER, SUM, 1, 0),
	GPU("ecc_errors", "sp", "ecc_single_aggregate", COUNT, COUNTER, SUM, 1, 0),
	GPU(NULL, "encoder_util", "encoder_util", PERCENT, GAUGE, NONE, 1e3, 1e-3),
	GPU(NULL, "fan_speed",    "fan_speed",    PERCENT, GAUGE, MAX, 1e3, 1e-3),
	GPU("memory_used", "bar1_memory", "bar1_used",   BYTES, GAUGE, SUM, 1, 0),
	GPU("memory_used", "gpu_memory",  "memory_used", BYTES, GAUGE, SUM, 1, 0),
	GPU(NULL, "num_procs", "processes", COUNT, GAUGE, SUM, 1, 0),
	GPU("pci_thgpt", "recv", "pcie_rx", BYTES_PER_SECOND, GAUGE, SUM, 1, 1e3),
	GPU("pci_thgpt", "send", "pcie_tx", BYTES_PER_SECOND, GAUGE, SUM, 1, 1e3),
	GPU(NULL, "power_usage", "power",       WATTS,   GAUGE, SUM, 1, 1e-3),
	GPU(NULL, "temperature", "temperature", CELSIUS, GAUGE, MAX, 1e3, 1e-3),
	GPU("utilization_rates", "gpu",    "utilization_gpu",    PERCENT, GAUGE, NONE, 1e3, 1e-3),
	GPU("utilization_rates", "memory", "utilization_memory", PERCENT, GAUGE, NONE, 1e3, 1e-3),
	GPU(NULL, "violation", "violation_app_clocks", NANOSECONDS, COUNTER, SUM, 1, 0),
};
/* clang-format on */

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static const struct row *find(enum perfmon_kind file, const char *group, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].file == file && same(rows[i].group, group) &&
		    (!rows[i].key || !strcmp(rows[i].key, key)))
			return &rows[i];
	return NULL;
}

/* Derived values: "derv_bandwidth" of group L2 is counters.L2.bandwidth. perfmon has millions of
 * operations and bytes. */
static void map_derived(const char *group, const char *key, struct perfmon_series_map *r)
{
	bool bytes = strstr(key, "bandwidth") || strstr(key, "volume");
	bool millions = bytes || strstr(key, "flops");

	key += strlen("derv");
	key += *key == '_' || *key == '-';
	snprintf(r->metric, sizeof(r->metric), "%.60s.%.90s", group, key);
	r->m.kind = KIND_GAUGE;
	r->m.agg = millions ? AGG_SUM : AGG_NONE;
	r->m.unit = strstr(key, "bandwidth") ? UNIT_BYTES_PER_SECOND
		    : strstr(key, "volume")  ? UNIT_BYTES
		    : strstr(key, "flops")   ? UNIT_PER_SECOND
					     : UNIT_RATIO;
	r->times = 1e6;
	r->m.scale = millions ? 0 : 1e-6;
}

static void map_event(const char *group, const char *key, struct perfmon_series_map *r)
{
	snprintf(r->source, sizeof(r->source), "counters");
	if (str_prefix(key, "derv")) {
		map_derived(group, key, r);
		return;
	}
	snprintf(r->metric, sizeof(r->metric), "%.150s", key);
	for (char *p = r->metric; *p; p++)
		if (*p == '-')
			*p = '_';
	r->m.unit = UNIT_COUNT;
	r->m.kind = KIND_COUNTER;
	r->m.agg = AGG_SUM;
	r->adds_up = true;
}

void perfmon_map(enum perfmon_kind file, const char *group, const char *key, const char *gpu,
		 struct perfmon_series_map *r)
{
	const struct row *row = find(file, group, key);

	*r = (struct perfmon_series_map){.kind = ENTITY_JOB, .times = 1};
	snprintf(r->entity, sizeof(r->entity), "job");
	if (row) {
		snprintf(r->source, sizeof(r->source), "%s", row->source);
		snprintf(r->metric, sizeof(r->metric), "%s", row->metric);
		r->m = (struct sample_metric){
			.unit = row->unit, .kind = row->kind, .agg = row->agg, .scale = row->scale};
		r->times = row->times;
		r->kind = row->entity;
	} else if (file == PERFMON_PERF_FILE && group) {
		map_event(group, key, r);
	} else {
		snprintf(r->source, sizeof(r->source), "perfmon");
		snprintf(r->metric, sizeof(r->metric), "%.70s%s%.70s", group ? group : "",
			 group ? "." : "", key);
		r->m = (struct sample_metric){.kind = KIND_GAUGE, .agg = AGG_NONE};
		r->guess = true;
	}
	if (file == PERFMON_GPU_FILE)
		r->kind = ENTITY_GPU;
	if (r->kind == ENTITY_NODE)
		snprintf(r->entity, sizeof(r->entity), "node");
	else if (r->kind == ENTITY_PACKAGE)
		snprintf(r->entity, sizeof(r->entity), "%.60s", key);
	else if (r->kind == ENTITY_GPU)
		snprintf(r->entity, sizeof(r->entity), "%.60s", gpu ? gpu : "0");
}
