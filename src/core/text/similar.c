/* See similar.h. */
#include "core/text/similar.h"

#include <ctype.h>
#include <string.h>

unsigned word_distance(const char *a, const char *b)
{
	size_t n = strnlen(a, NEAR_BYTES_MAX), m = strnlen(b, NEAR_BYTES_MAX);
	unsigned row[NEAR_BYTES_MAX + 1];

	for (unsigned k = 0; k <= m; k++)
		row[k] = k;
	for (size_t i = 1; i <= n; i++) {
		unsigned before = row[0];

		row[0] = (unsigned)i;
		for (size_t k = 1; k <= m; k++) {
			unsigned change = before + (tolower((unsigned char)a[i - 1]) !=
						    tolower((unsigned char)b[k - 1]));
			before = row[k];
			unsigned drop = (row[k] < row[k - 1] ? row[k] : row[k - 1]) + 1;
			row[k] = change < drop ? change : drop;
		}
	}
	return row[m];
}

/* Distance to a name, with and (counting less) without its source, or if one contains the other. */
static unsigned unlikeness(const char *word, const char *name)
{
	const char *dot = strchr(name, '.');
	unsigned whole = 2 * word_distance(word, name);
	unsigned part = dot ? 2 * word_distance(word, dot + 1) + 1 : whole;
	unsigned least = whole < part ? whole : part;

	if (*word && (strcasestr(name, word) || (dot && strcasestr(word, dot + 1))))
		return least < 4 ? least : 4;
	return least;
}

/* Common words, and the metrics that they mean, best first. */
static const struct {
	const char *words, *metrics[6];
} meanings[] = {
	{",cpu,cpus,processor,load,",
	 {
		 "process.cpu_percent",
		 "system.cpu_percent",
#define IMPORTED_CPU(time, percent) percent,
#include "core/metrics/imported_cpu.def"
#undef IMPORTED_CPU
	 }},
	{",mem,memory,ram,", {"process.rss", "system.memory_used", "cgroup.memory_current"}},
	{",io,i/o,disk,storage,read,write,",
	 {"process.read_bytes", "process.write_bytes", "disk.read_bytes", "disk.write_bytes"}},
	{",net,network,traffic,", {"network.rx_bytes", "network.tx_bytes"}},
	{",ib,infiniband,fabric,", {"infiniband.port_rcv_data", "infiniband.port_xmit_data"}},
	{",gpu,gpus,cuda,nvidia,",
	 {"nvidia.utilization_gpu", "nvidia.memory_used", "amdgpu.utilization_gpu"}},
	{",power,watt,watts,energy,joules,",
	 {"ipmi.power", "rapl.energy", "nvidia.power", "nvidia.energy", "job_energy.energy"}},
	{",threads,thread,", {"process.threads"}},
	{",temperature,temp,heat,", {"sensors.temperature", "nvidia.temperature"}},
};

static bool has_name(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* Adds the metrics that a word means; returns how many more may be added. */
static size_t by_meaning(const char *const *names, size_t count, const char *word, size_t max,
			 struct strbuf *out)
{
	_cleanup_free_ char *want = xasprintf(",%.*s,", NEAR_BYTES_MAX, word);
	size_t before = out->len;

	for (size_t i = 0; i < ARRAY_SIZE(meanings); i++)
		for (size_t k = 0; k < ARRAY_SIZE(meanings[i].metrics) && max; k++) {
			const char *name = meanings[i].metrics[k];

			if (!name || !strcasestr(meanings[i].words, want) ||
			    !has_name(names, count, name))
				continue;
			strbuf_addf(out, "%s%s", out->len > before ? ", " : "", name);
			max--;
		}
	return max;
}

void near_metrics(const char *const *names, size_t count, const char *word, size_t max,
		  struct strbuf *out)
{
	size_t n = strnlen(word, NEAR_BYTES_MAX), before = out->len;
	unsigned limit = n < 4 ? 3 : n < 7 ? 5 : (unsigned)n / 3 * 2 + 1;

	max = by_meaning(names, count, word, max, out);
	if (out->len > before)
		return;
	for (unsigned d = 0; d <= limit && max; d++)
		for (size_t i = 0; i < count && max; i++) {
			if (unlikeness(word, names[i]) != d)
				continue;
			strbuf_addf(out, "%s%s", out->len > before ? ", " : "", names[i]);
			max--;
		}
}
