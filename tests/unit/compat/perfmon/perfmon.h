/* Sample files as a host of a job leaves them, and perfmon's JSON files made of them. */
#pragma once

#include "unit.h"

#include "compat/perfmon/perfmon_files.h"
#include "samples/sample_file.h"

/* ---- making sample files --------------------------------------------------------------------- */

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
	struct sample_writer *writer;
	int fd;
	struct {
		struct sample_set set;
		unsigned number;
	} sources[8];
	size_t count;
};

/* A file of host that begins so many seconds after START_S. */
static inline void begin_file(struct file *f, const char *dir, const char *name, const char *host,
			      unsigned after_s, unsigned period_s)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	const struct sample_file_head head = {
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
	f->writer = sample_writer_open(f->fd, &head);
	assert_non_null(f->writer);
	sample_writer_clock(f->writer, head.boottime_ns, head.realtime_ns);
}

#define ADD_SOURCE(f, name, every) add_source(f, #name, name, ARRAY_SIZE(name), every)
static inline struct sample_set *add_source(struct file *f, const char *name,
					    const struct sample_metric *columns, size_t n,
					    unsigned every)
{
	struct sample_set *set = &f->sources[f->count].set;

	sample_init(set, columns, n);
	f->sources[f->count].number = sample_writer_source(f->writer, name, every, set);
	f->count++;
	return set;
}

/* Begins a reading at a time since START_S. */
static inline void at(struct sample_set *set, double second)
{
	sample_begin(set);
	set->time_ns = BOOT_NS + (uint64_t)(second * 1e9);
}

static inline void row(struct sample_set *set, enum entity_kind kind, const char *name)
{
	sample_row(set, sample_entity(set, kind, name));
}

/* Values of the row in order; those less than 0 are left out. */
static inline void values(struct sample_set *set, const int64_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] >= 0)
			sample_put(set, (unsigned)i, list[i]);
}
#define VALUES(set, ...)                            \
	values(set, (const int64_t[]){__VA_ARGS__}, \
	       sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static inline void add(struct file *f, const struct sample_set *set)
{
	for (size_t i = 0; i < f->count; i++)
		if (&f->sources[i].set == set)
			sample_writer_add(f->writer, f->sources[i].number, &f->sources[i].set);
}

static inline void end_file(struct file *f)
{
	assert_int_equal(sample_writer_flush(f->writer, false), 0);
	assert_int_equal(sample_writer_close(f->writer, "job"), 0);
	for (size_t i = 0; i < f->count; i++)
		sample_release(&f->sources[i].set);
	close(f->fd);
}

/* ---- reading what was made ------------------------------------------------------------------- */

static inline struct value *load(const char *dir, const char *name)
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
static inline void check_at(const struct value *v, const char *path, const char *want)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
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
static inline void check_keys(struct value *v, const char *want)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	assert_non_null(v);
	value_sort(v);
	for (size_t i = 0; i < value_pairs(v); i++)
		strbuf_addf(&got, "%s%s", i ? " " : "", value_key(v, i)->str.data);
	assert_string_equal(got.buf, want);
}

/* Every array below is as long as the time stamps beside it. */
static inline void check_lengths(const struct value *v, size_t n, const char *path)
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

static inline int write_hosts(const char *dir, const struct perfmon_host *hosts, size_t n,
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
static inline void write_one(const char *dir, const char *name)
{
	const struct perfmon_host host = {.name = "n1", .files = &name, .file_count = 1};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(write_hosts(dir, &host, 1, &why), 0);
	assert_string_equal(why.buf, "");
}

/* ---- hosts ----------------------------------------------------------------------------------- */

static inline void whole_host(const char *dir)
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
			sample_set_metadata(p, 0, "pid", "11");
			sample_set_metadata(p, 0, "ppid", "1");
			sample_set_metadata(p, 0, "comm", "matmul");
			sample_set_metadata(p, sample_entity(p, ENTITY_PROCESS, "12.8"), "pid",
					    "12");
			sample_set_metadata(p, sample_entity(p, ENTITY_PROCESS, "12.8"), "ppid",
					    "11");
			sample_set_metadata(p, sample_entity(p, ENTITY_PROCESS, "12.8"), "cmdline",
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
			sample_set_metadata(g, sample_entity(g, ENTITY_GPU, k ? "gpu-1" : "gpu-0"),
					    "name", "NVIDIA H200");
		}
		add(&f, g);
	}
	end_file(&f);
}

/* The job, and a process of it, once a second: CPU time in seconds as the time is since START_S. */
static inline void process_file(const char *dir, const char *name, const char *host,
				unsigned after_s, int ticks, const char *process_name)
{
	struct file f;

	begin_file(&f, dir, name, host, after_s, 1);
	struct sample_set *p = ADD_SOURCE(&f, process, 1);
	for (int t = 0; t < ticks; t++) {
		at(p, after_s + (unsigned)t);
		row(p, ENTITY_JOB, "job");
		VALUES(p, 100 * ((int64_t)after_s + t), 0, -1, 1000);
		if (process_name) {
			row(p, ENTITY_PROCESS, process_name);
			VALUES(p, 100 * ((int64_t)after_s + t), 0, -1, 1000);
		}
		add(&f, p);
	}
	end_file(&f);
}

static inline void small_file(const char *dir, const char *name, const char *host, unsigned after_s,
			      int ticks)
{
	process_file(dir, name, host, after_s, ticks, NULL);
}
