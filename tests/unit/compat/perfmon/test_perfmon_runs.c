/* perfmon's JSON files: several runs and hosts, clocks that differ or are set, and damage. */
#include "perfmon.h"

#include <errno.h>
#include <math.h>

/* ---- several runs and hosts ------------------------------------------------------------------ */

static void runs_of_a_host(void **state)
{
	const char *dir = *state;
	const char *const files[] = {"first", "second", "third"};
	const struct perfmon_host host = {.name = "n1", .files = files, .file_count = 3};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	/* the second began while the first was there, and saw the same: it counts from where that
	 * ends */
	process_file(dir, "first", "n1", 0, 4, "7.100");
	process_file(dir, "second", "n1", 2, 4, "7.100");
	small_file(dir, "third", "n1", 100, 1);
	assert_int_equal(write_hosts(dir, &host, 1, &why), 0);
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "n1/time_stamps",
		 "[1700000000,1700000001,1700000002,1700000003,1700000004,1700000005,1700000100]");
	check_at(v, "n1/cpu_time", "[0.0,1.0,2.0,3.0,4.0,5.0,100.0]");
}

/* Two samplers side by side, each of its own processes, as `srun -n2` starts them: the job is what
 * both saw, and counters of one that has ended stay. */
static void runs_beside_each_other(void **state)
{
	const char *dir = *state;
	const char *const files[] = {"first", "second"};
	const struct perfmon_host host = {.name = "n1", .files = files, .file_count = 2};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	process_file(dir, "first", "n1", 0, 4, "7.100");
	process_file(dir, "second", "n1", 2, 4, "8.100");
	assert_int_equal(write_hosts(dir, &host, 1, &why), 0);
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "n1/time_stamps",
		 "[1700000000,1700000001,1700000002,1700000003,1700000004,1700000005]");
	check_at(v, "n1/cpu_time", "[0.0,1.0,4.0,6.0,7.0,8.0]");
	check_at(v, "n1/memory_info/rss", "[1000,1000,2000,2000,1000,1000]");
}

/* A monitor of the whole job that began later, beside one that saw a part of it. */
static void a_run_that_saw_more(void **state)
{
	const char *dir = *state;
	const char *const files[] = {"part", "whole"};
	const struct perfmon_host host = {.name = "n1", .files = files, .file_count = 2};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct file f;

	process_file(dir, "part", "n1", 0, 4, "7.100");
	begin_file(&f, dir, "whole", "n1", 2, 1);
	struct sample_set *p = ADD_SOURCE(&f, process, 1);
	for (int t = 2; t < 6; t++) {
		at(p, t);
		row(p, ENTITY_JOB, "job");
		VALUES(p, 1000 * t, 0, -1, 5000);
		row(p, ENTITY_PROCESS, "7.100");
		row(p, ENTITY_PROCESS, "8.100");
		add(&f, p);
	}
	end_file(&f);
	assert_int_equal(write_hosts(dir, &host, 1, &why), 0);
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "n1/cpu_time", "[0.0,1.0,20.0,30.0,40.0,50.0]");
	check_at(v, "n1/memory_info/rss", "[1000,1000,5000,5000,5000,5000]");
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

/* ---- times ----------------------------------------------------------------------------------- */

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
			sample_writer_clock(f.writer, BOOT_NS + 2 * SECOND,
					    (int64_t)(START_S + 2 - 3600) * (int64_t)SECOND);
		at(p, t);
		row(p, ENTITY_JOB, "job");
		VALUES(p, 100 * t, 0);
		add(&f, p);
		assert_int_equal(sample_writer_flush(f.writer, false), 0);
	}
	end_file(&f);
	write_one(dir, "set");
	_cleanup_value_ struct value *v = load(dir, "cpu_metrics.json");
	check_at(v, "n1/time_stamps", "[1700000000,1700000001,1699996402,1699996403]");
	check_at(v, "n1/cpu_time", "[0.0,1.0,2.0,3.0]");
}

/* ---- damage ---------------------------------------------------------------------------------- */

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

int main(void)
{
#define IN_SCRATCH(test) cmocka_unit_test_setup_teardown(test, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(runs_of_a_host),
		IN_SCRATCH(runs_beside_each_other),
		IN_SCRATCH(a_run_that_saw_more),
		IN_SCRATCH(two_hosts),
		IN_SCRATCH(merged_file),
		IN_SCRATCH(stamps_differ),
		IN_SCRATCH(the_clock_is_set),
		IN_SCRATCH(damaged_files),
		IN_SCRATCH(extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
