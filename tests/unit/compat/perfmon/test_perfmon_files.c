/* perfmon's JSON files from sample files: every key, lengths and values, what is missing, and the
 * way back by the same table. */
#include "perfmon.h"

#include <errno.h>
#include <math.h>

#include "compat/perfmon/perfmon_keys.h"
#include "compat/perfmon/perfmon_read.h"

/* ---- all keys -------------------------------------------------------------------------------- */

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

/* ---- counters -------------------------------------------------------------------------------- */

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

/* ---- what is not there ----------------------------------------------------------------------- */

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

/* ---- the table ------------------------------------------------------------------------------- */

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

/* What was written by a row is read by it: the same source, metric, and raw number. */
static void every_name_comes_back(void **state)
{
	(void)state;
	for (size_t i = 0, rows; i < perfmon_key_count; i += rows) {
		const struct perfmon_key *k = &perfmon_keys[i];
		const char *key = k->key ? k->key : "package-7";
		struct perfmon_series_map map;
		int64_t times, by;

		rows = perfmon_key_rows(i);
		perfmon_map(k->file, k->group, key, k->file == PERFMON_GPU ? "3" : NULL, &map);
		assert_string_equal(map.source, rows == 1 ? k->source : "perfmon");
		assert_string_equal(map.metric, rows == 1 ? k->metric : key);
		assert_false(map.guess);
		/* what was added up over parts of the node is the node's */
		assert_int_equal(map.kind, k->entity == ENTITY_INTERFACE || k->entity == ENTITY_PORT
						   ? ENTITY_NODE
						   : k->entity);
		assert_string_equal(map.entity, map.kind == ENTITY_GPU       ? "3"
						: map.kind == ENTITY_PACKAGE ? "package-7"
						: map.kind == ENTITY_NODE    ? "node"
									     : "job");
		assert_int_equal(map.adds_up,
				 k->file == PERFMON_PERF && map.m.kind == KIND_COUNTER);
		perfmon_factor(k, &map.m, &times, &by);
		for (int64_t raw = 0; raw < 1000000000000; raw = raw * 7 + 1)
			if (round_i64((double)raw * (double)times / (double)by * map.times) != raw)
				fail_msg("%s: %lld does not come back", key, (long long)raw);
	}
}

/* The last reading of a series in its unit. */
static double last_of(const char *dir, const char *source, const char *metric, const char *entity)
{
	_cleanup_close_ int at = open_dir(dir);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sample_file f;
	double found = NAN;
	int event;

	assert_int_equal(sample_file_open(&f, openat(at, "back", O_RDONLY | O_CLOEXEC), &why), 0);
	while ((event = sample_file_next(&f)) > 0) {
		const struct sample_file_source *s = &f.sources[f.source];

		if (event != SAMPLE_READING || strcmp(s->name, source) != 0)
			continue;
		for (size_t r = 0; r < f.reading.row_count; r++)
			for (size_t m = 0; m < s->metric_count; m++)
				if (f.reading.rows[r].present >> m & 1 &&
				    !strcmp(s->metrics[m].name, metric) &&
				    !strcmp(s->entities[f.reading.rows[r].entity].name, entity))
					found = (double)f.reading.values[r * s->metric_count + m] *
						(s->metrics[m].scale > 0 ? s->metrics[m].scale : 1);
	}
	assert_int_equal(event, 0);
	sample_file_close(&f);
	return found;
}

/* The files of a host as samples again. */
static void files_come_back(void **state)
{
	static const struct {
		const char *source, *metric, *entity;
		double value;
	} rows[] = {
		{"process", "cpu_percent", "job", 150.5},
		{"system", "cpu_percent", "node", 50.003},
		{"perfmon", "cpu_time", "job", 13530000},
		{"process", "syscw", "job", 60},
		{"process", "rss", "job", 16384},
		{"process_memory", "uss", "job", 10240},
		{"process_memory", "num_fds", "job", 33},
		{"network", "rx_bytes", "node", 5103},
		{"infiniband", "port_rcv_data", "node", 16004},
		{"rapl", "energy", "package-0", 262144.000002},
		{"rapl", "energy", "dram-0", 0.00001},
		{"nvidia", "clock_graphics", "1", 1411e6},
		{"nvidia", "memory_used", "0", 85899345920},
		{"nvidia", "power", "0", 350.5},
		{"nvidia", "pcie_rx", "1", 700000},
		{"nvidia", "temperature", "1", 61},
		{"nvidia", "violation_app_clocks", "1", 123456789},
	};
	const char *dir = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/back", dir), *id = NULL;
	struct sampled_job result;

	whole_host(dir);
	write_one(dir, "all");
	_cleanup_close_ int from = perfmon_open(dir, &id);
	_cleanup_close_ int to = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_int_equal(perfmon_read(from, id, to, &result, &why), 0);
	assert_int_equal(result.warnings ? result.warnings->list.count : 0, 0);
	sampled_job_release(&result);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		double v = last_of(dir, rows[i].source, rows[i].metric, rows[i].entity);

		if (!(fabs(v - rows[i].value) <= fabs(rows[i].value) * 1e-12))
			fail_msg("%s.%s of %s: %.9f", rows[i].source, rows[i].metric,
				 rows[i].entity, v);
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
		cmocka_unit_test(factors),
		cmocka_unit_test(table_is_sorted),
		cmocka_unit_test(every_name_comes_back),
		IN_SCRATCH(files_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
