/*
 * The description of a host on trees written here: processors of Intel, AMD, ARM, IBM and RISC-V by
 * their microarchitecture, sockets and caches, NUMA nodes, adapters, disks, GPUs, and garbage.
 */
#include "tree.h"

#include "jobs/hardware/hardware.h"
#include "jobs/hardware/microarch.h"

static struct value *metadata;

static int teardown(void **state)
{
	value_free(metadata);
	metadata = NULL;
	return scratch_teardown(state);
}

static void describe(void)
{
	value_free(metadata);
	metadata = hardware_metadata(tree);
	assert_non_null(metadata);
}

/* A value by its path: "cpu.cores", "caches.0.level"; NULL when there is none. */
static const struct value *at(const char *path)
{
	const struct value *v = metadata;

	for (const char *p = path; v && *p; p += strspn(p, ".")) {
		size_t n = strcspn(p, ".");
		_cleanup_free_ char *key = xstrndup(p, n);

		if (v->kind == VALUE_LIST) {
			size_t i = (size_t)strtoul(key, NULL, 10);

			v = i < v->list.count ? v->list.items[i] : NULL;
		} else {
			v = value_get(v, key);
		}
		p += n;
	}
	return v;
}

static void assert_text_at(const char *path, const char *want)
{
	const struct value *v = at(path);

	if (!v || v->kind != VALUE_STR || strcmp(v->str.data, want) != 0)
		fail_msg("%s is '%s', want '%s'", path,
			 v && v->kind == VALUE_STR ? v->str.data : "(none)", want);
}

static void assert_number_at(const char *path, int64_t want)
{
	const struct value *v = at(path);

	if (!v || v->kind != VALUE_INT || v->integer != want)
		fail_msg("%s is %lld, want %lld", path,
			 v && v->kind == VALUE_INT ? (long long)v->integer : -1LL, (long long)want);
}

/* ---- microarchitectures ---------------------------------------------------------------------- */

#define V3 "lm cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave"
#define V4 V3 " avx512f avx512bw avx512cd avx512dq avx512vl"

static void x86(void **state)
{
	static const struct {
		const char *vendor;
		int family, model;
		const char *flags, *name, *level;
	} rows[] = {
		{"GenuineIntel", 6, 44, "lm sse4_2 aes", "westmere", "x86_64"},
		{"GenuineIntel", 6, 45, "lm cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3 avx",
		 "sandybridge", "x86_64_v2"},
		{"GenuineIntel", 6, 62, "lm", "ivybridge", "x86_64"},
		{"GenuineIntel", 6, 63, V3, "haswell", "x86_64_v3"},
		{"GenuineIntel", 6, 79, V3, "broadwell", "x86_64_v3"},
		{"GenuineIntel", 6, 158, V3, "skylake", "x86_64_v3"},
		{"GenuineIntel", 6, 85, V4, "skylake_avx512", "x86_64_v4"},
		{"GenuineIntel", 6, 85, V4 " avx512_vnni", "cascadelake", "x86_64_v4"},
		{"GenuineIntel", 6, 106, V4 " avx512_vnni", "icelake", "x86_64_v4"},
		{"GenuineIntel", 6, 143, V4 " amx_tile", "sapphirerapids", "x86_64_v4"},
		{"GenuineIntel", 6, 207, V4, "sapphirerapids", "x86_64_v4"},
		{"GenuineIntel", 6, 87, V3, "mic_knl", "x86_64_v3"},
		{"AuthenticAMD", 16, 9, "lm", "k10", "x86_64"},
		{"AuthenticAMD", 21, 1, "lm", "bulldozer", "x86_64"},
		{"AuthenticAMD", 21, 2, "lm", "piledriver", "x86_64"},
		{"AuthenticAMD", 23, 1, V3, "zen", "x86_64_v3"},
		{"AuthenticAMD", 23, 49, V3, "zen2", "x86_64_v3"},
		{"AuthenticAMD", 25, 1, V3, "zen3", "x86_64_v3"},
		{"AuthenticAMD", 25, 33, V3, "zen3", "x86_64_v3"},
		{"AuthenticAMD", 25, 17, V4, "zen4", "x86_64_v4"},
		{"AuthenticAMD", 25, 97, V4, "zen4", "x86_64_v4"},
		{"AuthenticAMD", 25, 160, V4, "zen4", "x86_64_v4"},
		{"AuthenticAMD", 26, 2, V4, "zen5", "x86_64_v4"},
		{"HygonGenuine", 24, 0, V3, "zen", "x86_64_v3"},
		/* models of tomorrow, by their instructions */
		{"GenuineIntel", 6, 250, V4 " amx_tile avx512_vbmi2 avx512_vnni", "sapphirerapids",
		 "x86_64_v4"},
		{"GenuineIntel", 6, 251, V4 " avx512_vnni", "cascadelake", "x86_64_v4"},
		{"GenuineIntel", 19, 1, V3 " adx xsavec", "skylake", "x86_64_v3"},
		{"AuthenticAMD", 30, 1, V4 " vaes clwb clzero avx512_vp2intersect", "zen5",
		 "x86_64_v4"},
		/* part of a flag is not the flag */
		{"GenuineIntel", 6, 252, "lm avx512_vnnix adxx", "nocona", "x86_64"},
		{"CentaurHauls", 7, 59, V3, "x86_64_v3", "x86_64_v3"},
		{"GenuineIntel", 5, 2, "mmx", "x86", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct processor p = {.vendor = rows[i].vendor,
				      .family = rows[i].family,
				      .model = rows[i].model,
				      .flags = rows[i].flags,
				      .implementer = -1};
		const char *name = microarch_name(&p), *level = microarch_level(&p);

		if (strcmp(name, rows[i].name) != 0)
			fail_msg("%s %d/%d is %s, want %s", p.vendor, p.family, p.model, name,
				 rows[i].name);
		if ((level == NULL) != (rows[i].level == NULL) ||
		    (level && strcmp(level, rows[i].level) != 0))
			fail_msg("%s %d/%d is of level %s, want %s", p.vendor, p.family, p.model,
				 level ? level : "none", rows[i].level ? rows[i].level : "none");
	}
}

static void others(void **state)
{
	static const struct {
		int implementer, part;
		const char *power, *uarch, *machine, *name;
	} rows[] = {
		{0x41, 0xd0c, NULL, NULL, NULL, "neoverse_n1"},
		{0x41, 0xd40, NULL, NULL, NULL, "neoverse_v1"},
		{0x41, 0xd4f, NULL, NULL, NULL, "neoverse_v2"},
		{0x41, 0xd08, NULL, NULL, NULL, "cortex_a72"},
		{0x46, 0x001, NULL, NULL, NULL, "a64fx"},
		{0x43, 0x0af, NULL, NULL, NULL, "thunderx2"},
		{0x61, 0x022, NULL, NULL, NULL, "m1"},
		{0x41, 0xfff, NULL, NULL, NULL, "aarch64"},
		{0x41, 0xc07, NULL, NULL, "armv7l", "arm"},
		{-1, -1, "POWER9 (raw), altivec supported", NULL, "ppc64le", "power9le"},
		{-1, -1, "POWER8E, altivec supported", NULL, "ppc64", "power8"},
		{-1, -1, "POWER10 (architected)", NULL, NULL, "power10le"},
		{-1, -1, "POWER6", NULL, "ppc64", "ppc64"},
		{-1, -1, NULL, "sifive,u74-mc", NULL, "u74mc"},
		{-1, -1, NULL, "rv64imafdc", NULL, "riscv64"},
		{-1, -1, NULL, NULL, NULL, "unknown"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct processor p = {.family = -1,
				      .model = -1,
				      .implementer = rows[i].implementer,
				      .part = rows[i].part,
				      .power = rows[i].power,
				      .uarch = rows[i].uarch,
				      .machine = rows[i].machine};

		assert_string_equal(microarch_name(&p), rows[i].name);
		assert_null(microarch_level(&p));
	}
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static void put_cpu(int cpu, int socket, const char *siblings, const char *l3)
{
	struct {
		const char *file, *text;
	} files[] = {
		{"topology/thread_siblings_list", siblings},
		{"cache/index0/level", "1\n"},
		{"cache/index0/type", "Data\n"},
		{"cache/index0/size", "48K\n"},
		{"cache/index0/shared_cpu_list", siblings},
		{"cache/index1/level", "3\n"},
		{"cache/index1/type", "Unified\n"},
		{"cache/index1/size", "33M\n"},
		{"cache/index1/shared_cpu_list", l3},
	};
	_cleanup_free_ char *package =
		xasprintf("sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
	char number[16];

	snprintf(number, sizeof(number), "%d\n", socket);
	put(package, number);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *name =
			xasprintf("sys/devices/system/cpu/cpu%d/%s", cpu, files[i].file);

		put(name, files[i].text);
	}
}

static void intel(void **state)
{
	static const char *const siblings[] = {"0,4\n", "1,5\n", "2,6\n", "3,7\n"};

	(void)state;
	put("proc/cpuinfo",
	    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
	    "model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\nstepping\t: 6\n"
	    "microcode\t: 0xd0003a5\nflags\t\t: " V4 " avx512_vnni avx512_vbmi2\n\n"
	    "processor\t: 1\nvendor_id\t: GenuineIntel\n");
	put("proc/meminfo", "MemTotal:       263572388 kB\nMemFree: 5 kB\n");
	put("proc/sys/kernel/arch", "x86_64\n");
	put("proc/sys/kernel/osrelease", "5.14.0-70.el9.x86_64\n");
	put("etc/os-release", "NAME=\"Rocky\"\nPRETTY_NAME=\"Rocky Linux 9.2\"\nID=rocky\n");
	put("sys/class/dmi/id/sys_vendor", "Dell Inc.\n");
	put("sys/class/dmi/id/product_name", "PowerEdge C6520\n");
	put("sys/devices/system/cpu/online", "0-7\n");
	put("sys/devices/system/cpu/cpufreq/x", "");
	put("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3200000\n");
	for (int i = 0; i < 8; i++)
		put_cpu(i, i % 4 / 2, siblings[i % 4], i % 4 / 2 ? "2-3,6-7\n" : "0-1,4-5\n");
	/* offline: no topology */
	put_dir("sys/devices/system/cpu/cpu8");
	put("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
	put("sys/devices/system/node/node0/meminfo",
	    "Node 0 MemTotal:       131072000 kB\nNode 0 MemFree: 1 kB\n");
	put("sys/devices/system/node/node0/distance", "10 20\n");
	put("sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
	put("sys/devices/system/node/node1/meminfo", "garbage\n");
	describe();
	assert_text_at("architecture", "x86_64");
	assert_text_at("kernel", "5.14.0-70.el9.x86_64");
	assert_text_at("os", "Rocky Linux 9.2");
	assert_text_at("machine.vendor", "Dell Inc.");
	assert_text_at("machine.product", "PowerEdge C6520");
	assert_text_at("cpu.name", "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz");
	assert_text_at("cpu.vendor", "GenuineIntel");
	assert_number_at("cpu.family", 6);
	assert_number_at("cpu.model", 106);
	assert_number_at("cpu.stepping", 6);
	assert_text_at("cpu.microarchitecture", "icelake");
	assert_text_at("cpu.level", "x86_64_v4");
	assert_number_at("cpu.sockets", 2);
	assert_number_at("cpu.cores", 4);
	assert_number_at("cpu.threads", 8);
	assert_number_at("cpu.max_hz", 3200000000);
	assert_null(at("virtual"));
	assert_number_at("memory_bytes", 263572388ll * 1024);
	assert_number_at("caches.0.level", 1);
	assert_text_at("caches.0.type", "Data");
	assert_number_at("caches.0.size_bytes", 48 * 1024);
	assert_number_at("caches.0.shared_by", 2);
	assert_number_at("caches.0.count", 4);
	assert_number_at("caches.1.level", 3);
	assert_number_at("caches.1.size_bytes", 33 << 20);
	assert_number_at("caches.1.shared_by", 4);
	assert_number_at("caches.1.count", 2);
	assert_null(at("caches.2"));
	assert_number_at("numa.0.node", 0);
	assert_text_at("numa.0.cpus", "0-1,4-5");
	assert_number_at("numa.0.memory_bytes", 131072000ll * 1024);
	assert_text_at("numa.0.distance", "10 20");
	assert_text_at("numa.1.cpus", "2-3,6-7");
	assert_null(at("numa.1.memory_bytes"));
	assert_null(at("gpus"));
}

/* From /proc/cpuinfo alone. */
static void amd(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 16; i++)
		strbuf_addf(
			&text,
			"processor\t: %d\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\n"
			"model name\t: AMD EPYC 7763 64-Core Processor\nstepping\t: 1\n"
			"physical id\t: %d\nsiblings\t: 8\ncore id\t\t: %d\ncpu cores\t: 4\n"
			"flags\t\t: " V3 " hypervisor vaes\npower management:\n\n",
			i, i / 8, i % 4);
	put("proc/cpuinfo", text.buf);
	describe();
	assert_text_at("architecture", "x86_64");
	assert_text_at("cpu.microarchitecture", "zen3");
	assert_number_at("cpu.sockets", 2);
	assert_number_at("cpu.cores", 8);
	assert_number_at("cpu.threads", 16);
	assert_non_null(at("virtual"));
	assert_true(at("virtual")->boolean);
	assert_null(at("memory_bytes"));
	assert_null(at("numa"));
}

static void arm(void **state)
{
	(void)state;
	put("proc/cpuinfo",
	    "processor\t: 0\nBogoMIPS\t: 2100.00\nFeatures\t: fp asimd evtstrm aes sve\n"
	    "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: 0xd40\n"
	    "CPU revision\t: 1\n\nprocessor\t: 1\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n");
	describe();
	assert_text_at("architecture", "aarch64");
	assert_text_at("cpu.vendor", "ARM");
	assert_text_at("cpu.microarchitecture", "neoverse_v1");
	assert_number_at("cpu.implementer", 0x41);
	assert_number_at("cpu.part", 0xd40);
	assert_number_at("cpu.threads", 2);
	assert_null(at("cpu.level"));
	assert_null(at("cpu.sockets"));
	assert_null(at("cpu.family"));
}

static void devices(void **state)
{
	(void)state;
	put("sys/class/net/ib0/type", "32\n");
	put_dir("sys/class/net/ib0/device");
	put("sys/class/net/eth0/type", "1\n");
	put("sys/class/net/eth0/speed", "10000\n");
	put_link("sys/class/net/eth0/device", "../../../bus/pci/devices/0000:3b:00.0");
	put_link("sys/bus/pci/devices/0000:3b:00.0/driver", "../../../drivers/ixgbe");
	put("sys/bus/pci/devices/0000:3b:00.0/class", "0x020000\n");
	put("sys/class/net/lo/type", "772\n");
	put("sys/class/net/br0/type", "1\n");
	put("sys/class/infiniband/mlx5_0/hca_type", "MT4123\n");
	put("sys/class/infiniband/mlx5_0/fw_ver", "20.31.1014\n");
	put("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	put("sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n");
	put("sys/block/nvme0n1/size", "1875385008\n");
	put("sys/block/nvme0n1/device/model", "Dell Ent NVMe\n");
	put("sys/block/nvme0n1/queue/rotational", "0\n");
	put("sys/block/dm-0/size", "100\n");
	put("sys/block/loop0/size", "0\n");
	put("sys/bus/pci/devices/0000:07:00.0/class", "0x030200\n");
	put("sys/bus/pci/devices/0000:07:00.0/vendor", "0x10de\n");
	put("sys/bus/pci/devices/0000:07:00.0/device", "0x20b0\n");
	put("sys/bus/pci/devices/0000:07:00.0/numa_node", "3\n");
	put_link("sys/bus/pci/devices/0000:07:00.0/driver", "../../../drivers/nvidia");
	put("proc/driver/nvidia/gpus/0000:07:00.0/information",
	    "Model: \t\t NVIDIA A100-SXM4-40GB\nIRQ:   \t\t 341\n");
	put("sys/bus/pci/devices/0000:62:00.0/class", "0x030000\n");
	put("sys/bus/pci/devices/0000:62:00.0/vendor", "0x1a03\n");
	put("sys/bus/pci/devices/0000:62:00.0/numa_node", "-1\n");
	describe();
	assert_text_at("network.0.name", "eth0");
	assert_text_at("network.0.type", "ethernet");
	assert_text_at("network.0.driver", "ixgbe");
	assert_text_at("network.0.device", "0000:3b:00.0");
	assert_number_at("network.0.speed_mbit", 10000);
	assert_text_at("network.1.name", "ib0");
	assert_text_at("network.1.type", "infiniband");
	assert_null(at("network.2"));
	assert_text_at("infiniband.0.name", "mlx5_0");
	assert_text_at("infiniband.0.firmware", "20.31.1014");
	assert_text_at("infiniband.0.ports.0.rate", "200 Gb/sec (4X HDR)");
	assert_text_at("disks.0.name", "nvme0n1");
	assert_text_at("disks.0.model", "Dell Ent NVMe");
	assert_number_at("disks.0.size_bytes", 1875385008ll * 512);
	assert_false(at("disks.0.rotational")->boolean);
	assert_null(at("disks.1"));
	assert_text_at("gpus.0.pci", "0000:07:00.0");
	assert_text_at("gpus.0.kind", "3D");
	assert_text_at("gpus.0.vendor", "NVIDIA");
	assert_text_at("gpus.0.model", "NVIDIA A100-SXM4-40GB");
	assert_text_at("gpus.0.device_id", "0x20b0");
	assert_text_at("gpus.0.driver", "nvidia");
	assert_number_at("gpus.0.numa_node", 3);
	assert_text_at("gpus.1.vendor", "ASPEED");
	assert_null(at("gpus.1.numa_node"));
	assert_null(at("gpus.2"));
}

static void garbage(void **state)
{
	(void)state;
	describe();
	assert_int_equal(value_pairs(metadata), 0);
	put("proc/cpuinfo",
	    "vendor_id:\nvendor_id\nmodel\t: 99999999999999999999\ncpu family : -5\n: : :\n"
	    "physical id : x\nphysical id : 16777215\ncpu cores: 16777215\nflags");
	put("proc/meminfo", "MemTotal: 99999999999999999999 kB\n");
	put("etc/os-release", "PRETTY_NAME=\"\nPRETTY_NAME=x\n");
	put_cpu(0, -1, "9999999999-3\n", "0-99999999\n");
	put("sys/devices/system/cpu/cpu0/cache/index0/size", "x\n");
	put("sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list", "0-\n");
	put("sys/devices/system/cpu/cpu99999999999/topology/thread_siblings_list", "0\n");
	put("sys/devices/system/cpu/cpu1x/topology/thread_siblings_list", "0\n");
	put_dir("sys/devices/system/node/nodex");
	put("sys/block/sda/size", "9223372036854775807\n");
	put_dir("sys/block/sda/device");
	put("sys/bus/pci/devices/0000:00:00.0/class", "");
	put("sys/class/net/\xff\x1b[1m/device/x", "");
	describe();
	assert_null(at("cpu.family"));
	assert_null(at("cpu.model"));
	assert_number_at("cpu.threads", 1);
	assert_null(at("cpu.cores"));
	assert_null(at("cpu.vendor"));
	assert_null(at("memory_bytes"));
	assert_text_at("os", "\"");
	assert_null(at("disks.0.size_bytes"));
	assert_number_at("caches.0.count", 1);
	assert_null(at("caches.0.size_bytes"));
	assert_null(at("gpus"));
}

#define with_host(f) cmocka_unit_test_setup_teardown(f, tree_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86), cmocka_unit_test(others), with_host(intel),   with_host(amd),
		with_host(arm),        with_host(devices),       with_host(garbage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
