/* perfmon's JSON files from sample files: every key, lengths and values; values that are missing,
 * interfaces that go, sources read less often, several runs and hosts, and damage. */
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "formats/samplefile.h"
#include "job/perfmon_files.h"
#include "job/perfmon_keys.h"

/* ---- making sample files ---------------------------------------------------------------------
 */

#define START_S 1700000000
#define SECOND 1000000000ull
#define BOOT_NS (1000 * SECOND)

static const struct sample_metric process[] = {
	{"usertime", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "-"},
	{"systemtime", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "-"},
	{"cpu_percent", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0.01, "-"},
	{"rss", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"vms", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"num_threads", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"read_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"write_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"syscr", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"syscw", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"memory_percent", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0.01, "-"},
};
static const struct sample_metric process_memory[] = {
	{"uss", UNIT_KIBIBYTES, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"swap", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 1024, "-"},
	{"shared", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"num_fds", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, "-"},
};
static const struct sample_metric node[] = {
	{"load1", UNIT_NONE, KIND_GAUGE, AGG_SUM, 0.01, "-"},
	{"cpu_percent", UNIT_PERCENT, KIND_GAUGE, AGG_NONE, 0.001, "-"},
};
static const struct sample_metric network[] = {
	{"rx_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"rx_packets", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"tx_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"tx_packets", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
};
static const struct sample_metric infiniband[] = {
	{"port_rcv_data", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 4, "-"},
	{"port_rcv_packets", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"port_xmit_data", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 4, "-"},
	{"port_xmit_packets", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
};
static const struct sample_metric rapl[] = {
	{"energy", UNIT_JOULES, KIND_COUNTER, AGG_SUM, 1e-6, "-"},
};
static const struct sample_metric nvidia[] = {
	{"clock_graphics", UNIT_HERTZ, KIND_GAUGE, AGG_MAX, 1e6, "-"},
	{"clock_sm", UNIT_HERTZ, KIND_GAUGE, AGG_MAX, 1e6, "-"},
	{"clock_memory", UNIT_HERTZ, KIND_GAUGE, AGG_MAX, 1e6, "-"},
	{"ecc_single_aggregate", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"ecc_double_aggregate", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"memory_used", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"bar1_used", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"utilization_gpu", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"utilization_memory", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"encoder_util", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"decoder_util", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"power", UNIT_WATTS, KIND_GAUGE, AGG_SUM, 0.001, "-"},
	{"violation_app_clocks", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"temperature", UNIT_CELSIUS, KIND_GAUGE, AGG_MAX, 0, "-"},
	{"fan_speed", UNIT_PERCENT, KIND_GAUGE, AGG_MAX, 0, "-"},
	{"processes", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"pcie_tx", UNIT_BYTES_PER_SECOND, KIND_GAUGE, AGG_SUM, 1000, "-"},
	{"pcie_rx", UNIT_BYTES_PER_SECOND, KIND_GAUGE, AGG_SUM, 1000, "-"},
};

static const struct sample_metric counters[] = {
	{"cycles", UNIT_CYCLES, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"instructions", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"cache_misses", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"cache_references", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"branches", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"branch_misses", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"context_switches", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"cpu_migrations", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"dp_256", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"FLOPS_DP.flops", UNIT_PER_SECOND, KIND_GAUGE, AGG_SUM, 1e-3, "-"},
	{"l2_fills", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "-"},
	{"L3.bandwidth", UNIT_BYTES_PER_SECOND, KIND_GAUGE, AGG_SUM, 0, "-"},
	{"L3cache.miss_ratio", UNIT_RATIO, KIND_GAUGE, AGG_NONE, 1e-9, "-"},
	{"MEM_READ.bandwidth", UNIT_BYTES_PER_SECOND, KIND_GAUGE, AGG_SUM, 0, "-"},
};

struct file {
	struct samplewriter *writer;
	int fd;
	struct {
		struct sample_set set;
		unsigned number;
	} sources[8];
	size_t count;
};

/* A file of host that begins so many seconds after START_S. */
static void begin_file(struct file *f, const char *dir, const char *name, const char *host,
		       unsigned after_s, unsigned period_s)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	const struct samplefile_head head = {
		.host = (char *)(uintptr_t)host,
		.boot = (char *)(uintptr_t) "01234567-89ab-cdef-0123-456789abcdef",
		.job = (char *)(uintptr_t) "42",
		.run = (char *)(uintptr_t) "r1",
		.period_ns = period_s * SECOND,
		.boottime_ns = BOOT_NS + after_s * SECOND,
		.realtime_ns = (int64_t)(START_S + after_s) * (int64_t)SECOND,
	};

	*f = (struct file){.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
	assert_true(f->fd >= 0);
	f->writer = samplewriter_open(f->fd, &head);
	assert_non_null(f->writer);
	samplewriter_clock(f->writer, head.boottime_ns, head.realtime_ns);
}

#define ADD_SOURCE(f, name, every) add_source(f, #name, name, ARRAY_SIZE(name), every)
static struct sample_set *add_source(struct file *f, const char *name,
				     const struct sample_metric *columns, size_t n, unsigned every)
{
	struct sample_set *set = &f->sources[f->count].set;

	sample_init(set, columns, n);
	f->sources[f->count].number = samplewriter_source(f->writer, name, every, set);
	f->count++;
	return set;
}

/* Begins a reading at a time since START_S. */
static void at(struct sample_set *set, double second)
{
	sample_begin(set);
	set->time_ns = BOOT_NS + (uint64_t)(second * 1e9);
}

static void row(struct sample_set *set, enum entity_kind kind, const char *name)
{
	sample_row(set, sample_entity(set, kind, name));
}

/* Values of the row in order; those less than 0 are left out. */
static void values(struct sample_set *set, const int64_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] >= 0)
			sample_put(set, (unsigned)i, list[i]);
}
#define VALUES(set, ...)                            \
	values(set, (const int64_t[]){__VA_ARGS__}, \
	       sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void add(struct file *f, const struct sample_set *set)
{
	for (size_t i = 0; i < f->count; i++)
		if (&f->sources[i].set == set)
			samplewriter_add(f->writer, f->sources[i].number, &f->sources[i].set);
}

static void end_file(struct file *f)
{
	assert_int_equal(samplewriter_flush(f->writer, false), 0);
	assert_int_equal(samplewriter_close(f->writer, "job"), 0);
	for (size_t i = 0; i < f->count; i++)
		sample_release(&f->sources[i].set);
	close(f->fd);
}

/* ---- reading what was made --------------------------------------------------------------------
 */

static struct value *load(const char *dir, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/metrics/%s", dir, name);
	struct value *v = NULL;
	FILE *f = fopen(path, "r");
	char buf[4096];

	if (!f)
		return NULL;
	for (size_t n; (n = fread(buf, 1, sizeof(buf), f)) > 0;)
		strbuf_add(&text, buf, n);
	fclose(f);
	if (value_from_json(text.buf, text.len, &v, &why) < 0)
		fail_msg("%s: %s\n%s", name, why.buf, text.buf);
	return v;
}

/* What is at "host/group/key" as JSON. */
static void check_at(const struct value *v, const char *path, const char *want)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	_cleanup_free_ char *copy = xstrdup(path);
	char *save = NULL;

	for (char *key = strtok_r(copy, "/", &save); key && v; key = strtok_r(NULL, "/", &save))
		v = value_get(v, key);
	if (!v)
		fail_msg("there is no %s", path);
	value_to_json(v, &j, NULL);
	if (strcmp(j.out.buf, want) != 0)
		fail_msg("%s is %s, not %s", path, j.out.buf, want);
}

/* The keys of an object, blanks between, sorted. */
static void check_keys(struct value *v, const char *want)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	assert_non_null(v);
	value_sort(v);
	for (size_t i = 0; i < value_pairs(v); i++)
		strbuf_addf(&got, "%s%s", i ? " " : "", value_key(v, i)->str.data);
	assert_string_equal(got.buf, want);
}

/* Every array below is as long as the time stamps beside it. */
static void check_lengths(const struct value *v, size_t n, const char *path)
{
	for (size_t i = 0; i < value_pairs(v); i++) {
		const char *key = value_key(v, i)->str.data;
		const struct value *item = value_at(v, i);
		_cleanup_free_ char *name = xasprintf("%s/%s", path, key);

		if (item->kind == VALUE_DICT)
			check_lengths(item, n, name);
		else if (strcmp(key, "child_proc_md") != 0 && item->kind == VALUE_LIST &&
			 item->list.count != n)
			fail_msg("%s has %zu values, not %zu", name, item->list.count, n);
	}
}

static int write_hosts(const char *dir, const struct perfmon_host *hosts, size_t n,
		       struct strbuf *why)
{
	_cleanup_close_ int fd = open_dir(dir);
	const struct perfmon_input in = {.dir = fd,
					 .hosts = hosts,
					 .host_count = n,
					 .period_s = 10,
					 .job = "42",
					 .user = "jo",
					 .system = "tycho"};

	return perfmon_write(&in, fd, why);
}

/* Of one host with one file. */
static void write_one(const char *dir, const char *name)
{
	const struct perfmon_host host = {.name = "n1", .files = &name, .file_count = 1};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(write_hosts(dir, &host, 1, &why), 0);
	assert_string_equal(why.buf, "");
}

/* ---- all keys ---------------------------------------------------------------------------------
 */

static void whole_host(const char *dir)
{
	struct file f;

	begin_file(&f, dir, "all", "n1", 0, 10);
	struct sample_set *p = ADD_SOURCE(&f, process, 1), *m = ADD_SOURCE(&f, process_memory, 3),
			  *s = add_source(&f, "system", node, ARRAY_SIZE(node), 1),
			  *n = ADD_SOURCE(&f, network, 1), *ib = ADD_SOURCE(&f, infiniband, 1),
			  *e = ADD_SOURCE(&f, rapl, 1), *g = ADD_SOURCE(&f, nvidia, 1);
	for (int t = 0; t < 4; t++) {
		double now = t * 10;

		at(s, now + 0.001);
		row(s, ENTITY_NODE, "node");
		VALUES(s, 100, t ? 50000 + t : -1);
		add(&f, s);
		at(p, now + 0.002);
		row(p, ENTITY_PROCESS, "11.7");
		VALUES(p, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
		row(p, ENTITY_JOB, "job");
		VALUES(p, 1000 + 100 * t, 50 + t, t ? 15050 : -1, 4096 * (t + 1), 1 << 20, 3 + t,
		       1000 * t, 2000 * t, 10 * t, 20 * t, 1234);
		if (t == 0) {
			sample_fact(p, 0, "pid", "11");
			sample_fact(p, 0, "ppid", "1");
			sample_fact(p, 0, "comm", "matmul");
			sample_fact(p, sample_entity(p, ENTITY_PROCESS, "12.8"), "pid", "12");
			sample_fact(p, sample_entity(p, ENTITY_PROCESS, "12.8"), "ppid", "11");
			sample_fact(p, sample_entity(p, ENTITY_PROCESS, "12.8"), "cmdline",
				    "./matmul 2000");
		}
		add(&f, p);
		if (t % 3 == 0) {
			at(m, now + 0.003);
			row(m, ENTITY_PROCESS, "11.7");
			row(m, ENTITY_JOB, "job");
			VALUES(m, 7 + t, 8 + t, 9 + t, 30 + t);
			add(&f, m);
		}
		at(n, now + 0.004);
		row(n, ENTITY_NODE, "node");
		VALUES(n, 1, 1, 1, 1);
		row(n, ENTITY_INTERFACE, "lo");
		VALUES(n, 100, 10, 100, 10);
		if (t != 2) {
			row(n, ENTITY_INTERFACE, "eth0");
			VALUES(n, 5000 + t, 50 + t, 6000 + t, 60 + t);
		}
		add(&f, n);
		at(ib, now + 0.005);
		row(ib, ENTITY_PORT, "mlx5_0/1");
		VALUES(ib, 1000 * (t + 1), 100 + t, 2000 * (t + 1), 200 + t);
		row(ib, ENTITY_PORT, "mlx5_1/1");
		VALUES(ib, 1, 1, 1, 1);
		add(&f, ib);
		at(e, now + 0.006);
		row(e, ENTITY_PACKAGE, "package-0");
		VALUES(e, 262143999999 + t);
		row(e, ENTITY_PACKAGE, "dram-0");
		VALUES(e, t == 1 ? -1 : 7 + t);
		add(&f, e);
		at(g, now + 0.5);
		for (int k = 0; k < 2; k++) {
			row(g, ENTITY_GPU, k ? "gpu-1" : "gpu-0");
			VALUES(g, 1410 + k, 1411, 2619, 1, 2, 80ll << 30, 4096, 97, 45, 5, 6,
			       350500, 123456789, 61, k ? -1 : 30, 2, 1500, 700);
			sample_fact(g, sample_entity(g, ENTITY_GPU, k ? "gpu-1" : "gpu-0"), "name",
				    "NVIDIA H200");
		}
		add(&f, g);
	}
	end_file(&f);
}

static void keys_and_values(void **state)
{
	const char *dir = *state;

	whole_host(dir);
	write_one(dir, "all");
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_keys(v, "host_names n1 sampling_frequency");
	check_at(v, "host_names", "[\"n1\"]");
	check_at(v, "sampling_frequency", "10");
	struct value *n1 = value_get(v, "n1");
	check_keys(n1, "child_proc_md cpu_percent cpu_percent_sys cpu_time ib_io_counters "
		       "io_counters memory_full_info memory_info memory_percent net_io_counters "
		       "num_fds num_threads parent_proc_md rapl_powercap time_stamps");
	check_lengths(n1, 4, "n1");
	check_at(n1, "time_stamps", "[1700000000,1700000010,1700000020,1700000030]");
	check_at(n1, "cpu_percent", "[null,150.5,150.5,150.5]");
	check_at(n1, "cpu_percent_sys", "[null,50.001,50.002,50.003]");
	/* (1000 + 50) ticks of 10 ms */
	check_at(n1, "cpu_time", "[10.5,11.51,12.52,13.53]");
	check_at(n1, "memory_percent", "[12.34,12.34,12.34,12.34]");
	check_at(n1, "num_threads", "[3,4,5,6]");
	/* read at every third tick: the value stays until then */
	check_at(n1, "num_fds", "[30,30,30,33]");
	check_at(n1, "parent_proc_md", "{\"pid\":11,\"ppid\":1,\"comm\":\"matmul\"}");
	check_at(n1, "child_proc_md", "[\"12 ./matmul 2000\"]");
	check_keys(value_get(n1, "io_counters"), "read_bytes read_count write_bytes write_count");
	check_at(n1, "io_counters/read_bytes", "[0,1000,2000,3000]");
	check_at(n1, "io_counters/read_count", "[0,10,20,30]");
	check_at(n1, "io_counters/write_bytes", "[0,2000,4000,6000]");
	check_at(n1, "io_counters/write_count", "[0,20,40,60]");
	check_keys(value_get(n1, "memory_info"), "rss shared vms");
	check_at(n1, "memory_info/rss", "[4096,8192,12288,16384]");
	check_at(n1, "memory_info/shared", "[9,9,9,12]");
	check_at(n1, "memory_info/vms", "[1048576,1048576,1048576,1048576]");
	check_keys(value_get(n1, "memory_full_info"), "swap uss");
	check_at(n1, "memory_full_info/uss", "[7168,7168,7168,10240]");
	check_at(n1, "memory_full_info/swap", "[8192,8192,8192,11264]");
}

static void devices(void **state)
{
	const char *dir = *state;

	whole_host(dir);
	write_one(dir, "all");
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	struct value *n1 = value_get(v, "n1");
	/* an interface that is away for a moment does not take its counters with it, and a row of
	 * the whole node is no interface */
	check_keys(value_get(n1, "net_io_counters"),
		   "bytes_recv bytes_sent packets_recv packets_sent");
	check_at(n1, "net_io_counters/bytes_recv", "[5100,5101,5101,5103]");
	check_at(n1, "net_io_counters/bytes_sent", "[6100,6101,6101,6103]");
	check_at(n1, "net_io_counters/packets_recv", "[60,61,61,63]");
	check_at(n1, "net_io_counters/packets_sent", "[70,71,71,73]");
	/* bytes, not words; packets are packets */
	check_keys(value_get(n1, "ib_io_counters"),
		   "port_rcv_data port_rcv_packets port_xmit_data port_xmit_packets");
	check_at(n1, "ib_io_counters/port_rcv_data", "[4004,8004,12004,16004]");
	check_at(n1, "ib_io_counters/port_rcv_packets", "[101,102,103,104]");
	check_at(n1, "ib_io_counters/port_xmit_data", "[8004,16004,24004,32004]");
	check_at(n1, "ib_io_counters/port_xmit_packets", "[201,202,203,204]");
	check_keys(value_get(n1, "rapl_powercap"), "dram-0 package-0");
	check_at(n1, "rapl_powercap/package-0",
		 "[262143999999,262144000000,262144000001,262144000002]");
	check_at(n1, "rapl_powercap/dram-0", "[7,null,9,10]");
}

static void gpus(void **state)
{
	const char *dir = *state;

	whole_host(dir);
	write_one(dir, "all");
	_cleanup_value_ struct value *v = load(dir, "nv_gpu_metrics.json");
	check_keys(v, "gpu-0.n1 gpu-1.n1 host_names sampling_frequency");
	check_at(v, "host_names", "[\"gpu-0.n1\",\"gpu-1.n1\"]");
	for (int k = 0; k < 2; k++) {
		struct value *g = value_get(v, k ? "gpu-1.n1" : "gpu-0.n1");

		check_keys(g,
			   "clock_info decoder_util ecc_errors encoder_util fan_speed memory_used "
			   "num_procs pci_thgpt power_usage temperature time_stamps "
			   "utilization_rates violation");
		check_lengths(g, 4, "gpu");
		check_keys(value_get(g, "clock_info"), "graphics memory sm");
		check_at(g, "clock_info/graphics",
			 k ? "[1411,1411,1411,1411]" : "[1410,1410,1410,1410]");
		check_at(g, "clock_info/memory", "[2619,2619,2619,2619]");
		check_at(g, "clock_info/sm", "[1411,1411,1411,1411]");
		check_keys(value_get(g, "ecc_errors"), "dp sp");
		check_at(g, "ecc_errors/sp", "[1,1,1,1]");
		check_at(g, "ecc_errors/dp", "[2,2,2,2]");
		check_keys(value_get(g, "memory_used"), "bar1_memory gpu_memory");
		check_at(g, "memory_used/gpu_memory",
			 "[85899345920,85899345920,85899345920,85899345920]");
		check_at(g, "memory_used/bar1_memory", "[4096,4096,4096,4096]");
		check_keys(value_get(g, "utilization_rates"), "gpu memory");
		check_at(g, "utilization_rates/gpu", "[97,97,97,97]");
		check_at(g, "utilization_rates/memory", "[45,45,45,45]");
		check_at(g, "encoder_util", "[5,5,5,5]");
		check_at(g, "decoder_util", "[6,6,6,6]");
		/* milliwatts and kilobytes a second, as NVML has them */
		check_at(g, "power_usage", "[350500,350500,350500,350500]");
		check_keys(value_get(g, "pci_thgpt"), "recv send");
		check_at(g, "pci_thgpt/send", "[1500,1500,1500,1500]");
		check_at(g, "pci_thgpt/recv", "[700,700,700,700]");
		check_at(g, "violation", "[123456789,123456789,123456789,123456789]");
		check_at(g, "temperature", "[61,61,61,61]");
		check_at(g, "num_procs", "[2,2,2,2]");
		/* one that has no fan */
		check_at(g, "fan_speed", k ? "[null,null,null,null]" : "[30,30,30,30]");
	}
	_cleanup_value_ struct value *meta = load(dir, "meta_data.json");
	check_at(meta, "n1/nv_gpus/gpu-1/name", "\"NVIDIA H200\"");
	check_at(meta, "n1/system", "\"tycho\"");
	check_at(meta, "n1/job_id", "\"42\"");
	check_at(meta, "n1/user", "\"jo\"");
	check_at(meta, "n1/partition", "null");
}

/* ---- counters ---------------------------------------------------------------------------------
 */

static void perf(void **state)
{
	const char *dir = *state;
	struct file f;

	begin_file(&f, dir, "perf", "n1", 0, 10);
	struct sample_set *p = ADD_SOURCE(&f, process, 1), *c = ADD_SOURCE(&f, counters, 1);
	for (int t = 0; t < 4; t++) {
		at(p, t * 10);
		row(p, ENTITY_JOB, "job");
		VALUES(p, t, t);
		add(&f, p);
		at(c, t * 10 + 0.1);
		row(c, ENTITY_JOB, "job");
		/* no cache references, and branch misses that begin anew at the third */
		VALUES(c, 1000 * t * t, 500 * t, 7 * t, -1, 100 * t, t == 2 ? 1 : 10 * t, 3 * t, t,
		       10 * t, t ? 2500000000 * t : -1, 64 * t, t ? 128000000 : -1,
		       t ? 250000000 : -1, t ? 12345678901 + t : -1);
		add(&f, c);
	}
	end_file(&f);
	write_one(dir, "perf");
	_cleanup_value_ struct value *v = load(dir, "perf_metrics.json");
	check_keys(v, "host_names n1 sampling_frequency");
	struct value *n1 = value_get(v, "n1");
	/* events that were never there are left out, groups without any, too */
	check_keys(n1, "FLOPS_DP L3 L3cache hardware_events software_events time_stamps");
	/* counts of the time that begins at the stamp: one less than readings */
	check_at(n1, "time_stamps", "[1700000000,1700000010,1700000020]");
	check_lengths(n1, 3, "n1");
	check_keys(value_get(n1, "hardware_events"),
		   "branch-misses branches cache-misses cycles instructions");
	check_at(n1, "hardware_events/cycles", "[1000,3000,5000]");
	check_at(n1, "hardware_events/instructions", "[500,500,500]");
	check_at(n1, "hardware_events/cache-misses", "[7,7,7]");
	check_at(n1, "hardware_events/branches", "[100,100,100]");
	check_at(n1, "hardware_events/branch-misses", "[10,null,29]");
	check_keys(value_get(n1, "software_events"), "context-switches cpu-migrations");
	check_at(n1, "software_events/context-switches", "[3,3,3]");
	check_at(n1, "software_events/cpu-migrations", "[1,1,1]");
	check_keys(value_get(n1, "FLOPS_DP"), "derv_flops dp_256");
	check_at(n1, "FLOPS_DP/dp_256", "[10,10,10]");
	/* millions a second, of bytes likewise */
	check_at(n1, "FLOPS_DP/derv_flops", "[2.5,5.0,7.5]");
	check_at(n1, "L3/derv_bandwidth", "[128.0,128.0,128.0]");
	check_at(n1, "L3/l2_fills", "[64,64,64]");
	check_at(n1, "L3cache/derv_miss_ratio", "[0.25,0.25,0.25]");
	_cleanup_value_ struct value *cpu = load(dir, "cpu_metrics.json");
	check_at(cpu, "n1/memory_bw", "[null,12345678902,12345678903,12345678904]");
}

/* ---- what is not there ------------------------------------------------------------------------
 */

static void small_file(const char *dir, const char *name, const char *host, unsigned after_s,
		       int ticks)
{
	struct file f;

	begin_file(&f, dir, name, host, after_s, 1);
	struct sample_set *p = ADD_SOURCE(&f, process, 1);
	for (int t = 0; t < ticks; t++) {
		at(p, after_s + (unsigned)t);
		row(p, ENTITY_JOB, "job");
		VALUES(p, 100 * ((int64_t)after_s + t), 0);
		add(&f, p);
	}
	end_file(&f);
}

static void absent_sources(void **state)
{
	const char *dir = *state;

	small_file(dir, "small", "n1", 0, 2);
	write_one(dir, "small");
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	struct value *n1 = value_get(v, "n1");
	/* without InfiniBand, energy and memory bandwidth; the rest is there and says null */
	check_keys(n1, "child_proc_md cpu_percent cpu_percent_sys cpu_time io_counters "
		       "memory_full_info memory_info memory_percent net_io_counters num_fds "
		       "num_threads parent_proc_md time_stamps");
	check_lengths(n1, 2, "n1");
	check_at(n1, "cpu_time", "[0.0,1.0]");
	check_at(n1, "net_io_counters/bytes_recv", "[null,null]");
	check_at(n1, "num_fds", "[null,null]");
	check_at(n1, "parent_proc_md", "{}");
	check_at(n1, "child_proc_md", "[]");
	assert_null(load(dir, "nv_gpu_metrics.json"));
	_cleanup_value_ struct value *perf = load(dir, "perf_metrics.json");
	check_at(perf, "host_names", "[]");
}

static void no_samples_at_all(void **state)
{
	const char *dir = *state, *missing = "missing", *text = "text";
	const struct perfmon_host hosts[] = {{"n1", &missing, 1, NULL}, {"n2", &text, 1, NULL}};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/text", dir);

	write_file(path, "hello\n", 6);
	assert_int_equal(write_hosts(dir, hosts, 2, &why), -ENODATA);
	assert_contains(why.buf, "cannot read 'missing' of host n1: No such file");
	assert_contains(why.buf, "cannot read 'text' of host n2: ");
	assert_null(load(dir, "cpu_metrics.json"));
	/* and nothing is left lying about */
	_cleanup_free_ char *metrics_dir = xasprintf("%s/metrics", dir);
	assert_int_equal(rmdir(metrics_dir), 0);
}

/* A host that only began: no readings. */
static void no_readings(void **state)
{
	const char *dir = *state;

	small_file(dir, "none", "n1", 0, 0);
	write_one(dir, "none");
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "host_names", "[\"n1\"]");
	check_lengths(value_get(v, "n1"), 0, "n1");
	check_at(v, "n1/time_stamps", "[]");
}

/* ---- several runs and hosts -------------------------------------------------------------------
 */

static void runs_of_a_host(void **state)
{
	const char *dir = *state;
	const char *const files[] = {"first", "second", "third"};
	const struct perfmon_host host = {.name = "n1", .files = files, .file_count = 3};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	/* the second began while the first was there: it counts from where that ends */
	small_file(dir, "first", "n1", 0, 4);
	small_file(dir, "second", "n1", 2, 4);
	small_file(dir, "third", "n1", 100, 1);
	assert_int_equal(write_hosts(dir, &host, 1, &why), 0);
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "n1/time_stamps",
		 "[1700000000,1700000001,1700000002,1700000003,1700000004,1700000005,1700000100]");
	check_at(v, "n1/cpu_time", "[0.0,1.0,2.0,3.0,4.0,5.0,100.0]");
}

static void two_hosts(void **state)
{
	const char *dir = *state, *one = "one", *two = "two", *gone = "gone";
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *hardware = value_new(VALUE_DICT);

	value_set(hardware, "cpus", value_int(64));
	const struct perfmon_host hosts[] = {
		{"n2", &two, 1, hardware}, {"n3", &gone, 1, NULL}, {"n1", &one, 1, NULL}};
	small_file(dir, "one", "n1", 0, 2);
	small_file(dir, "two", "n2", 5, 3);
	assert_int_equal(write_hosts(dir, hosts, 3, &why), 0);
	assert_contains(why.buf, "'gone' of host n3");
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "host_names", "[\"n2\",\"n1\"]");
	check_at(v, "n1/time_stamps", "[1700000000,1700000001]");
	check_at(v, "n2/time_stamps", "[1700000005,1700000006,1700000007]");
	_cleanup_value_ struct value *meta = load(dir, "meta_data.json");
	check_at(meta, "n2/cpus", "64");
	check_at(meta, "host_names", "[\"n2\",\"n1\"]");
}

/* All hosts in one file, as merging leaves them. */
static void merged_file(void **state)
{
	const char *dir = *state, *both = "both";
	const struct perfmon_host hosts[] = {{"n1", &both, 1, NULL}, {"n2", &both, 1, NULL}};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	small_file(dir, "both", "n1", 0, 2);
	small_file(dir, "both", "n2", 5, 3);
	assert_int_equal(write_hosts(dir, hosts, 2, &why), 0);
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "n1/time_stamps", "[1700000000,1700000001]");
	check_at(v, "n2/time_stamps", "[1700000005,1700000006,1700000007]");
}

/* ---- times ------------------------------------------------------------------------------------
 */

/* The first and the last tick are between whole seconds; ticks come a little early or late. */
static void stamps_differ(void **state)
{
	static const double times[] = {0.7, 0.9999, 2.0003, 3.0, 3.4};
	const char *dir = *state;
	struct file f;

	begin_file(&f, dir, "odd", "n1", 0, 1);
	struct sample_set *p = ADD_SOURCE(&f, process, 1), *n = ADD_SOURCE(&f, network, 1);
	for (size_t t = 0; t < ARRAY_SIZE(times); t++) {
		at(n, times[t]);
		row(n, ENTITY_INTERFACE, "lo");
		VALUES(n, (int64_t)t, 0, 0, 0);
		add(&f, n);
		at(p, times[t] + 0.01);
		row(p, ENTITY_JOB, "job");
		VALUES(p, (int64_t)t, 0, -1, 100 + (int64_t)t);
		add(&f, p);
	}
	end_file(&f);
	write_one(dir, "odd");
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "n1/time_stamps", "[1700000000,1700000001,1700000002,1700000003]");
	/* the last second has two: levels of the first of them, counters of the second */
	check_at(v, "n1/cpu_time", "[0.0,0.01,0.02,0.04]");
	check_at(v, "n1/net_io_counters/bytes_recv", "[0,1,2,4]");
	check_at(v, "n1/memory_info/rss", "[100,101,102,103]");
}

/* The wall clock is set back by an hour: stamps follow it, nothing is lost. */
static void the_clock_is_set(void **state)
{
	const char *dir = *state;
	struct file f;

	begin_file(&f, dir, "set", "n1", 0, 1);
	struct sample_set *p = ADD_SOURCE(&f, process, 1);
	for (int t = 0; t < 4; t++) {
		if (t == 2)
			samplewriter_clock(f.writer, BOOT_NS + 2 * SECOND,
					   (int64_t)(START_S + 2 - 3600) * (int64_t)SECOND);
		at(p, t);
		row(p, ENTITY_JOB, "job");
		VALUES(p, 100 * t, 0);
		add(&f, p);
		assert_int_equal(samplewriter_flush(f.writer, false), 0);
	}
	end_file(&f);
	write_one(dir, "set");
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "n1/time_stamps", "[1700000000,1700000001,1699996402,1699996403]");
	check_at(v, "n1/cpu_time", "[0.0,1.0,2.0,3.0]");
}

/* ---- damage -----------------------------------------------------------------------------------
 */

/* Whatever bytes change: files are written and whole, or nothing is. */
static void damaged_files(void **state)
{
	const char *dir = *state, *name = "bad";
	const struct perfmon_host host = {.name = "n1", .files = &name, .file_count = 1};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/all", dir), *bad = xasprintf("%s/bad", dir);
	uint64_t seed = 4711;
	char buf[65536];

	whole_host(dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	for (ssize_t n; (n = read(fd, buf, sizeof(buf))) > 0;)
		strbuf_add(&text, buf, (size_t)n);
	close(fd);
	for (int i = 0; i < 300; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_free_ char *copy = exact_copy(text.buf, text.len);
		size_t n = i % 3 ? text.len : random_next(&seed) % text.len;

		for (int k = 0; k < i % 5; k++)
			copy[random_next(&seed) % text.len] = (char)random_next(&seed);
		write_file(bad, copy, n);
		int r = write_hosts(dir, &host, 1, &why);
		if (r < 0) {
			assert_int_equal(r, -ENODATA);
			continue;
		}
		_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
		const struct value *n1 = value_get(v, "n1");
		check_lengths(n1, value_get(n1, "time_stamps")->list.count, "n1");
	}
}

/* Numbers at the ends of what there is, and scales that nobody would use. */
static void extremes(void **state)
{
	static const struct sample_metric odd[] = {
		{"rx_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 1e18, "-"},
		{"rx_packets", UNIT_COUNT, KIND_COUNTER, AGG_SUM, -1, "-"},
		{"tx_bytes", UNIT_KIBIBYTES, KIND_COUNTER, AGG_SUM, 1, "-"},
		{"tx_packets", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 1e-300, "-"},
	};
	const char *dir = *state;
	struct file f;

	begin_file(&f, dir, "odd", "n1", 0, 1);
	struct sample_set *p = ADD_SOURCE(&f, process, 1),
			  *n = add_source(&f, "network", odd, ARRAY_SIZE(odd), UINT32_MAX);
	at(p, 0);
	row(p, ENTITY_JOB, "job");
	sample_put(p, 0, INT64_MAX);
	sample_put(p, 1, INT64_MAX);
	sample_put(p, 3, INT64_MIN);
	add(&f, p);
	at(n, 0);
	for (int i = 0; i < 3; i++) {
		row(n, ENTITY_INTERFACE, i ? i > 1 ? "c" : "b" : "a");
		for (unsigned m = 0; m < 4; m++)
			sample_put(n, m, m == 1 ? INT64_MIN : INT64_MAX);
	}
	add(&f, n);
	end_file(&f);
	write_one(dir, "odd");
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	struct value *n1 = value_get(v, "n1");
	check_lengths(n1, 1, "n1");
	check_at(n1, "memory_info/rss", "[-9223372036854775808]");
	const struct value *time = value_get(n1, "cpu_time")->list.items[0];
	assert_true(time->kind == VALUE_REAL &&
		    fabs(time->real / 1.8446744073709552e17 - 1) < 1e-9);
}

/* ---- the table --------------------------------------------------------------------------------
 */

static void factors(void **state)
{
	static const struct {
		enum perfmon_unit to;
		enum metric_unit from;
		double scale;
		int64_t times, by;
	} rows[] = {
		{PERFMON_PLAIN, UNIT_BYTES, 0, 1, 1},
		{PERFMON_PLAIN, UNIT_KIBIBYTES, 0, 1024, 1},
		{PERFMON_PLAIN, UNIT_BYTES, 4, 4, 1},
		{PERFMON_PLAIN, UNIT_PERCENT, 0.01, 1, 100},
		{PERFMON_PLAIN, UNIT_RATIO, 1e-9, 1, 1000000000},
		{PERFMON_MILLIONS, UNIT_PER_SECOND, 1e-3, 1, 1000000000},
		{PERFMON_SECONDS, UNIT_MICROSECONDS, 10000, 1, 100},
		{PERFMON_SECONDS, UNIT_MICROSECONDS, 0, 1, 1000000},
		{PERFMON_SECONDS, UNIT_NANOSECONDS, 0, 1, 1000000000},
		{PERFMON_NANOSECONDS, UNIT_MICROSECONDS, 0, 1000, 1},
		{PERFMON_MICROJOULES, UNIT_JOULES, 1e-6, 1, 1},
		{PERFMON_MICROJOULES, UNIT_JOULES, 0.001, 1000, 1},
		{PERFMON_MILLIWATTS, UNIT_WATTS, 0.001, 1, 1},
		{PERFMON_MEGAHERTZ, UNIT_HERTZ, 1e6, 1, 1},
		{PERFMON_MEGAHERTZ, UNIT_HERTZ, 0, 1, 1000000},
		{PERFMON_KILOBYTES_PER_SECOND, UNIT_BYTES_PER_SECOND, 1000, 1, 1},
		{PERFMON_PLAIN, UNIT_NONE, 1.0 / 1024, 1, 1024},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct perfmon_key key = {.unit = rows[i].to};
		const struct sample_metric metric = {.unit = rows[i].from, .scale = rows[i].scale};
		int64_t times, by;

		perfmon_factor(&key, &metric, &times, &by);
		if ((double)times / (double)by != (double)rows[i].times / (double)rows[i].by)
			fail_msg("row %zu: %lld/%lld", i, (long long)times, (long long)by);
		if (rows[i].by == 1)
			assert_int_equal(by, 1);
	}
}

/* Groups are opened once: their rows stand together, and names are unique. */
static void table_is_sorted(void **state)
{
	(void)state;
	for (size_t i = 0; i < perfmon_key_count; i++)
		for (size_t k = 0; k < i; k++) {
			const struct perfmon_key *a = &perfmon_keys[k], *b = &perfmon_keys[i],
						 *between = &perfmon_keys[i - 1];
			bool same = a->file == b->file && a->group && b->group &&
				    !strcmp(a->group, b->group);

			if (same && (!between->group || strcmp(between->group, b->group) != 0))
				fail_msg("group %s is in two places", b->group);
		}
}

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(keys_and_values),
		IN_SCRATCH(devices),
		IN_SCRATCH(gpus),
		IN_SCRATCH(perf),
		IN_SCRATCH(absent_sources),
		IN_SCRATCH(no_samples_at_all),
		IN_SCRATCH(no_readings),
		IN_SCRATCH(runs_of_a_host),
		IN_SCRATCH(two_hosts),
		IN_SCRATCH(merged_file),
		IN_SCRATCH(stamps_differ),
		IN_SCRATCH(the_clock_is_set),
		IN_SCRATCH(damaged_files),
		IN_SCRATCH(extremes),
		cmocka_unit_test(factors),
		cmocka_unit_test(table_is_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
