/*
 * Headers of perfmon's exports. Those that its own code names (memory bandwidth, InfiniBand, RAPL)
 * are its own; the others follow their pattern. Events are called as perf calls them.
 */
#include "compat/perfmon/perfmon_headers.h"

#include <ctype.h>
#include <string.h>

static const struct {
	const char *group, *key, *header;
} headers[] = {
	{NULL, "cpu_percent", "CPU usage [%]"},
	{NULL, "cpu_percent_sys", "System CPU usage [%]"},
	{NULL, "cpu_time", "CPU time [s]"},
	{"memory_info", "rss", "Memory RSS [bytes]"},
	{"memory_info", "vms", "Memory VMS [bytes]"},
	{"memory_info", "shared", "Memory shared [bytes]"},
	{"memory_full_info", "uss", "Memory USS [bytes]"},
	{"memory_full_info", "swap", "Memory swap [bytes]"},
	{NULL, "memory_percent", "Memory usage [%]"},
	{NULL, "num_threads", "Number of threads"},
	{NULL, "num_fds", "Number of file descriptors"},
	{"io_counters", "read_count", "IO read count"},
	{"io_counters", "write_count", "IO write count"},
	{"io_counters", "read_bytes", "IO read data [bytes]"},
	{"io_counters", "write_bytes", "IO write data [bytes]"},
	{"net_io_counters", "bytes_sent", "Net sent data [bytes]"},
	{"net_io_counters", "bytes_recv", "Net recv data [bytes]"},
	{"net_io_counters", "packets_sent", "Net sent packets"},
	{"net_io_counters", "packets_recv", "Net recv packets"},
	{NULL, "memory_bw", "Memory (read) bandwidth [MiB/s]"},
	{"ib_io_counters", "port_xmit_data", "IB xmit data [bytes]"},
	{"ib_io_counters", "port_rcv_data", "IB recv data [bytes]"},
	{"ib_io_counters", "port_xmit_packets", "IB xmit packets"},
	{"ib_io_counters", "port_rcv_packets", "IB recv packets"},
	{"utilization_rates", "gpu", "GPU usage [%]"},
	{"utilization_rates", "memory", "GPU memory usage [%]"},
	{"memory_used", "gpu_memory", "GPU memory used [bytes]"},
	{"memory_used", "bar1_memory", "GPU BAR1 memory used [bytes]"},
	{"clock_info", "graphics", "GPU graphics clock [MHz]"},
	{"clock_info", "sm", "GPU SM clock [MHz]"},
	{"clock_info", "memory", "GPU memory clock [MHz]"},
	{NULL, "power_usage", "GPU power [mW]"},
	{NULL, "temperature", "GPU temperature [C]"},
	{NULL, "fan_speed", "GPU fan speed [%]"},
	{NULL, "encoder_util", "GPU encoder usage [%]"},
	{NULL, "decoder_util", "GPU decoder usage [%]"},
	{"pci_thgpt", "send", "GPU PCIe sent data [kB/s]"},
	{"pci_thgpt", "recv", "GPU PCIe recv data [kB/s]"},
	{"ecc_errors", "sp", "GPU single bit ECC errors"},
	{"ecc_errors", "dp", "GPU double bit ECC errors"},
	{NULL, "violation", "GPU clock violation [ns]"},
	{NULL, "num_procs", "GPU number of processes"},
};

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

char *perfmon_header(enum perfmon_file file, const char *group, const char *key)
{
	size_t domain, socket;

	if (file == PERFMON_PERF)
		return group && in_several_groups(key) ? xasprintf("%s %s", group, key)
						       : xstrdup(key);
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (str_same(headers[i].group, group) && !strcmp(headers[i].key, key))
			return xstrdup(headers[i].header);
	if (group && !strcmp(group, RAPL) && split_domain(key, &domain, &socket))
		return xasprintf("RAPL %s %zu [uJ]", domains[domain], socket);
	if (group && !strcmp(group, RAPL))
		return xasprintf("RAPL %s [uJ]", key);
	return group ? xasprintf("%s %s", group, key) : xstrdup(key);
}

size_t perfmon_header_place(const char *group, const char *key)
{
	const size_t known = ARRAY_SIZE(headers);
	size_t domain, socket;

	for (size_t i = 0; i < known; i++)
		if (str_same(headers[i].group, group) && !strcmp(headers[i].key, key))
			return i;
	if (group && !strcmp(group, RAPL))
		return split_domain(key, &domain, &socket) ? known + domain * 1000 + socket
							   : known + ARRAY_SIZE(domains) * 1000;
	for (size_t i = 0; i < perfmon_key_count; i++)
		if (str_same(perfmon_keys[i].group, group) && str_same(perfmon_keys[i].key, key))
			return 10000 + i;
	return SIZE_MAX;
}
