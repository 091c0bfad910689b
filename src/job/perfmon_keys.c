/* perfmon's names and ours; see perfmon_keys.h. */
#include "job/perfmon_keys.h"

#include <math.h>

/* clang-format off */
#define CPU(group, key, source, metric, entity, unit, flags) \
	{PERFMON_CPU, group, key, source, metric, ENTITY_##entity, PERFMON_##unit, flags}
#define PERF(group, key, metric) \
	{PERFMON_PERF, group, key, "counters", metric, ENTITY_JOB, PERFMON_PLAIN, PERFMON_OPTIONAL}
#define DERV(group, value, unit) \
	{PERFMON_PERF, group, "derv_" value, "counters", group "." value, ENTITY_JOB, PERFMON_##unit, \
	 PERFMON_OPTIONAL | PERFMON_LEVEL}
#define GPU(group, key, metric, unit) \
	{PERFMON_GPU, group, key, "nvidia", metric, ENTITY_GPU, PERFMON_##unit, 0}

const struct perfmon_key perfmon_keys[] = {
	CPU(NULL, "cpu_percent",     "process", "cpu_percent", JOB,  PLAIN,   0),
	CPU(NULL, "cpu_percent_sys", "system",  "cpu_percent", NODE, PLAIN,   0),
	CPU(NULL, "cpu_time",        "process", "usertime",    JOB,  SECONDS, 0),
	CPU(NULL, "cpu_time",        "process", "systemtime",  JOB,  SECONDS, 0),
	CPU("ib_io_counters", "port_rcv_data",     "infiniband", "port_rcv_data",     PORT, PLAIN, PERFMON_OPTIONAL),
	CPU("ib_io_counters", "port_rcv_packets",  "infiniband", "port_rcv_packets",  PORT, PLAIN, PERFMON_OPTIONAL),
	CPU("ib_io_counters", "port_xmit_data",    "infiniband", "port_xmit_data",    PORT, PLAIN, PERFMON_OPTIONAL),
	CPU("ib_io_counters", "port_xmit_packets", "infiniband", "port_xmit_packets", PORT, PLAIN, PERFMON_OPTIONAL),
	CPU("io_counters", "read_bytes",  "process", "read_bytes",  JOB, PLAIN, 0),
	CPU("io_counters", "read_count",  "process", "syscr",       JOB, PLAIN, 0),
	CPU("io_counters", "write_bytes", "process", "write_bytes", JOB, PLAIN, 0),
	CPU("io_counters", "write_count", "process", "syscw",       JOB, PLAIN, 0),
	CPU(NULL, "memory_bw", "counters", "MEM_READ.bandwidth", JOB, PLAIN, PERFMON_OPTIONAL),
	CPU("memory_full_info", "swap", "process_memory", "swap", JOB, PLAIN, 0),
	CPU("memory_full_info", "uss",  "process_memory", "uss",  JOB, PLAIN, 0),
	CPU("memory_info", "rss",    "process",        "rss",    JOB, PLAIN, 0),
	CPU("memory_info", "shared", "process_memory", "shared", JOB, PLAIN, 0),
	CPU("memory_info", "vms",    "process",        "vms",    JOB, PLAIN, 0),
	CPU(NULL, "memory_percent", "process", "memory_percent", JOB, PLAIN, 0),
	CPU("net_io_counters", "bytes_recv",   "network", "rx_bytes",   INTERFACE, PLAIN, 0),
	CPU("net_io_counters", "bytes_sent",   "network", "tx_bytes",   INTERFACE, PLAIN, 0),
	CPU("net_io_counters", "packets_recv", "network", "rx_packets", INTERFACE, PLAIN, 0),
	CPU("net_io_counters", "packets_sent", "network", "tx_packets", INTERFACE, PLAIN, 0),
	CPU(NULL, "num_fds",     "process_memory", "num_fds",     JOB, PLAIN, 0),
	CPU(NULL, "num_threads", "process",        "num_threads", JOB, PLAIN, 0),
	CPU("rapl_powercap", NULL, "rapl", "energy", PACKAGE, MICROJOULES, PERFMON_OPTIONAL),

	DERV("FLOPS_DP", "flops", MILLIONS),
	DERV("FLOPS_DP", "vector_ratio", PLAIN),
	PERF("FLOPS_DP", "dp_128", "dp_128"),
	PERF("FLOPS_DP", "dp_256", "dp_256"),
	PERF("FLOPS_DP", "dp_512", "dp_512"),
	PERF("FLOPS_DP", "dp_flops", "dp_flops"),
	PERF("FLOPS_DP", "dp_scalar", "dp_scalar"),
	PERF("FLOPS_DP", "fp_double", "fp_double"),
	PERF("FLOPS_DP", "fp_packed", "fp_packed"),
	PERF("FLOPS_DP", "fp_scalar", "fp_scalar"),
	PERF("FLOPS_DP", "fp_single", "fp_single"),
	DERV("FLOPS_SP", "flops", MILLIONS),
	DERV("FLOPS_SP", "vector_ratio", PLAIN),
	PERF("FLOPS_SP", "fp_double", "fp_double"),
	PERF("FLOPS_SP", "fp_packed", "fp_packed"),
	PERF("FLOPS_SP", "fp_scalar", "fp_scalar"),
	PERF("FLOPS_SP", "fp_single", "fp_single"),
	PERF("FLOPS_SP", "sp_128", "sp_128"),
	PERF("FLOPS_SP", "sp_256", "sp_256"),
	PERF("FLOPS_SP", "sp_512", "sp_512"),
	PERF("FLOPS_SP", "sp_flops", "sp_flops"),
	PERF("FLOPS_SP", "sp_scalar", "sp_scalar"),
	DERV("L2", "bandwidth", MILLIONS),
	DERV("L2", "evict_bandwidth", MILLIONS),
	DERV("L2", "load_bandwidth", MILLIONS),
	DERV("L2", "volume", MILLIONS),
	PERF("L2", "l1_fills", "l1_fills"),
	PERF("L2", "l1d_evictions", "l1d_evictions"),
	PERF("L2", "l1d_fills", "l1d_fills"),
	PERF("L2", "l1i_fills", "l1i_fills"),
	DERV("L2cache", "miss_rate", PLAIN),
	DERV("L2cache", "miss_ratio", PLAIN),
	DERV("L2cache", "request_rate", PLAIN),
	PERF("L2cache", "l2_core_misses", "l2_core_misses"),
	PERF("L2cache", "l2_core_requests", "l2_core_requests"),
	PERF("L2cache", "l2_misses", "l2_misses"),
	PERF("L2cache", "l2_prefetch_hits", "l2_prefetch_hits"),
	PERF("L2cache", "l2_prefetch_l3_hits", "l2_prefetch_l3_hits"),
	PERF("L2cache", "l2_prefetch_l3_misses", "l2_prefetch_l3_misses"),
	PERF("L2cache", "l2_requests", "l2_requests"),
	DERV("L3", "bandwidth", MILLIONS),
	DERV("L3", "evict_bandwidth", MILLIONS),
	DERV("L3", "load_bandwidth", MILLIONS),
	DERV("L3", "volume", MILLIONS),
	PERF("L3", "l2_core_misses", "l2_core_misses"),
	PERF("L3", "l2_evictions", "l2_evictions"),
	PERF("L3", "l2_fills", "l2_fills"),
	PERF("L3", "l2_prefetch_l3_hits", "l2_prefetch_l3_hits"),
	PERF("L3", "l2_prefetch_l3_misses", "l2_prefetch_l3_misses"),
	DERV("L3cache", "miss_rate", PLAIN),
	DERV("L3cache", "miss_ratio", PLAIN),
	DERV("L3cache", "request_rate", PLAIN),
	PERF("L3cache", "l3_load_hits", "l3_load_hits"),
	PERF("L3cache", "l3_load_misses", "l3_load_misses"),
	PERF("L3cache", "l3_misses", "l3_misses"),
	PERF("L3cache", "l3_requests", "l3_requests"),
	PERF("L3cache", "ll_read_misses", "ll_read_misses"),
	PERF("L3cache", "ll_reads", "ll_reads"),
	PERF("hardware_events", "branch-misses",    "branch_misses"),
	PERF("hardware_events", "branches",         "branches"),
	PERF("hardware_events", "cache-misses",     "cache_misses"),
	PERF("hardware_events", "cache-references", "cache_references"),
	PERF("hardware_events", "cycles",           "cycles"),
	PERF("hardware_events", "instructions",     "instructions"),
	PERF("software_events", "context-switches", "context_switches"),
	PERF("software_events", "cpu-migrations",   "cpu_migrations"),

	GPU("clock_info", "graphics", "clock_graphics", MEGAHERTZ),
	GPU("clock_info", "memory",   "clock_memory",   MEGAHERTZ),
	GPU("clock_info", "sm",       "clock_sm",       MEGAHERTZ),
	GPU(NULL, "decoder_util", "decoder_util", PLAIN),
	GPU("ecc_errors", "dp", "ecc_double_aggregate", PLAIN),
	GPU("ecc_errors", "sp", "ecc_single_aggregate", PLAIN),
	GPU(NULL, "encoder_util", "encoder_util", PLAIN),
	GPU(NULL, "fan_speed",    "fan_speed",    PLAIN),
	GPU("memory_used", "bar1_memory", "bar1_used",   PLAIN),
	GPU("memory_used", "gpu_memory",  "memory_used", PLAIN),
	GPU(NULL, "num_procs", "processes", PLAIN),
	GPU("pci_thgpt", "recv", "pcie_rx", KILOBYTES_PER_SECOND),
	GPU("pci_thgpt", "send", "pcie_tx", KILOBYTES_PER_SECOND),
	GPU(NULL, "power_usage", "power",       MILLIWATTS),
	GPU(NULL, "temperature", "temperature", PLAIN),
	GPU("utilization_rates", "gpu",    "utilization_gpu",    PLAIN),
	GPU("utilization_rates", "memory", "utilization_memory", PLAIN),
	GPU(NULL, "violation", "violation_app_clocks", NANOSECONDS),
};
/* clang-format on */
const size_t perfmon_key_count = ARRAY_SIZE(perfmon_keys);

const char *const perfmon_clocks[PERFMON_FILES][3] = {
	[PERFMON_CPU] = {"process", "system", NULL},
	[PERFMON_PERF] = {"counters", NULL},
	[PERFMON_GPU] = {"nvidia", NULL},
};

/* Units of ours that are not what "plain" means there, and those that a key may want. */
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

/* A whole number, when it is one but for what floating point does to it; 0 when it is none. */
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
	/* what is no decimal fraction: 1/1024 and the like */
	if (!*ret_times && whole(1 / factor)) {
		*ret_times = 1;
		*ret_by = whole(1 / factor);
	}
	if (!*ret_times) {
		*ret_times = round_i64((factor < 1e-6 ? 1e-6 : factor > 1e6 ? 1e6 : factor) * 1e9);
		*ret_by = 1000000000;
	}
}
