/* What file systems, management controllers and their commands say. */
#include "fuzz.h"

#include <string.h>

#include "sources/energy/ipmi.h"
#include "sources/filesystem/gpfs.h"
#include "sources/filesystem/lustre.h"
#include "sources/node/cpufreq.h"

static void read_lustre(const char *text, size_t size)
{
	const char *p = text, *end = text + size, *before = p;
	struct lustre_stat st;

	while (lustre_next_stat(&p, end, &st)) {
		REQUIRE(p > before && p <= end);
		REQUIRE(st.name >= before && st.name_size > 0 && st.name + st.name_size < end);
		REQUIRE(!memchr(st.name, '\n', st.name_size));
		REQUIRE(st.has_sum || !st.sum);
		before = p;
	}
	REQUIRE(p == end);
}

static void read_gpfs(const char *text, size_t size)
{
	const char *p = text, *end = text + size, *before = p;
	struct gpfs_stat st;

	while (gpfs_next_stat(&p, end, &st)) {
		REQUIRE(p > before && p <= end);
		REQUIRE(strlen(st.cluster) < sizeof(st.cluster));
		REQUIRE(strlen(st.filesystem) < sizeof(st.filesystem));
		REQUIRE(!strchr(st.filesystem, '\n') && !strchr(st.filesystem, ' '));
		REQUIRE(st.present < 1u << GPFS_COUNTS);
		before = p;
	}
	REQUIRE(p == end);
}

static void check_power(int r, const struct ipmi_reading *got)
{
	REQUIRE(r == 0 || !(got->present & 1u << IPMI_NOW));
	for (unsigned i = 0; i < IPMI_POWERS; i++)
		REQUIRE(!(got->present >> i & 1) ||
			(got->watts[i] > 0 && got->watts[i] <= 1000000));
}

static void read_cpuinfo(const char *text, size_t size)
{
	const char *p = text, *end = text + size;
	int64_t cpu = -1;
	uint64_t khz;

	while (cpufreq_next(&p, end, &cpu, &khz))
		REQUIRE(cpu >= 0 && khz > 0 && khz < (uint64_t)1 << 60);
	REQUIRE(p == end);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct ipmi_reading got;

	read_lustre(text, size);
	read_gpfs(text, size);
	read_cpuinfo(text, size);
	check_power(ipmi_parse_text(text, size, &got), &got);
	check_power(ipmi_parse_sensors(text, size, &got), &got);
	check_power(ipmi_parse_dcmi(data, size, &got), &got);
	return 0;
}
