/* Readings of our own sources as colmet's records: right values under its names. */
#include "colmet.h"

/* Records that were given away, as text: "job time backend field=value ... [jobs]". */
static void describe(void *user, const struct fixed_row *r)
{
	struct strbuf *out = user;

	strbuf_addf(out, "%s %llu %llu %.*s", r->host, (unsigned long long)r->job,
		    (unsigned long long)r->time_s, (int)strcspn(r->table->name, "_"),
		    r->table->name);
	for (size_t i = 0; i < r->table->metric_count; i++) {
		if (r->absent >> i & 1) {
			/* what a colmet collector gets for it */
			bool is_signed = r->table->fields[i].type == ROW_I64;

			assert_int_equal(r->values[i].i, is_signed ? -1 : 0);
			continue;
		}
		if (r->table->fields[i].type == ROW_F32)
			strbuf_addf(out, " %s=%g", r->table->fields[i].name,
				    (double)r->values[i].f);
		else
			strbuf_addf(out, " %s=%lld", r->table->fields[i].name,
				    (long long)r->values[i].i);
	}
	strbuf_addf(out, "%s%s\n", *r->involved ? " " : "", r->involved);
}

static void expect_records(struct row_mapper *m, const char *want)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	colmet_mapper_flush(m, describe, &out);
	assert_string_equal(out.buf, want);
}

/* A set with one row an entity: "kind name fact=value|value,value,..." */
static void add_row(struct sample_set *set, enum entity_kind kind, const char *name,
		    const char *fact, const char *fact_value, const int64_t *values)
{
	uint32_t e = sample_entity(set, kind, name);

	if (fact)
		sample_set_metadata(set, e, fact, fact_value);
	sample_row(set, e);
	for (unsigned i = 0; i < set->metric_count; i++)
		if (values[i] != INT64_MIN)
			sample_put(set, i, values[i]);
}
#define VALUES(...)         \
	(const int64_t[])   \
	{                   \
		__VA_ARGS__ \
	}
#define NONE INT64_MIN
#define T 1794709883000000ll

static const struct sample_metric task_metrics[] = {
	{"cpu_run_real_total", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"ac_utime", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"rss_peak", UNIT_BYTES, KIND_GAUGE, AGG_MAX, 0, NULL},
	{"ac_btime", UNIT_NONE, KIND_GAUGE, AGG_MIN, 0, NULL},
};
static const struct sample_metric group_metrics[] = {
	{"cpu_usage", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"cpu_system", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"page_faults", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"major_faults", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"memory_current", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, NULL},
};

/* jobs has the account of the group, job_tasks that of tasks that ended: the larger one counts. */
static void jobs_and_their_tasks(void **state)
{
	_cleanup_(sample_release) struct sample_set tasks = {0}, groups = {0};
	struct row_mapper *m = colmet_mapper_new();

	(void)state;
	sample_init(&tasks, task_metrics, ARRAY_SIZE(task_metrics));
	sample_init(&groups, group_metrics, ARRAY_SIZE(group_metrics));
	add_row(&groups, ENTITY_JOB, "1001", NULL, NULL, VALUES(5, 7000, 12, 2, 1));
	add_row(&groups, ENTITY_JOB, "1000", NULL, NULL, VALUES(6, 8499, NONE, 3, 1));
	add_row(&groups, ENTITY_JOB, "77.server", NULL, NULL, VALUES(1, 2000, 1, 2, 1));
	add_row(&groups, ENTITY_JOB, "pod-1", NULL, NULL, VALUES(1, 2, 3, 4, 5));
	add_row(&tasks, ENTITY_JOB, "1000", NULL, NULL, VALUES(123456789, 42, 99, 1794700000));
	add_row(&tasks, ENTITY_JOB, "1001", NULL, NULL, VALUES(4999, 43, 99, 1794700001));
	add_row(&tasks, ENTITY_NODE, "node", NULL, NULL, VALUES(1, 2, 3, 4));
	for (unsigned order = 0; order < 2; order++) {
		/* in either order; times within the same second are one sample */
		if (order)
			colmet_mapper_add(m, "n1", "job_tasks", &tasks, T + 400000);
		colmet_mapper_add(m, "n1", "jobs", &groups, T - 9000);
		colmet_mapper_add(m, "n1", "job_tasks", &tasks, T + 400000);
		expect_records(m, "n1 77 1794709883 taskstats cpu_run_real_total=1000 "
				  "cpu_run_virtual_total=1000 ac_stime=2 ac_minflt=0 ac_majflt=2\n"
				  "n1 1000 1794709883 taskstats cpu_run_real_total=123456789 "
				  "cpu_run_virtual_total=6000 ac_btime=1794700000 ac_utime=42 "
				  "ac_stime=8 ac_majflt=3\n"
				  "n1 1001 1794709883 taskstats cpu_run_real_total=5000 "
				  "cpu_run_virtual_total=5000 ac_btime=1794700001 ac_utime=43 "
				  "ac_stime=7 ac_minflt=10 ac_majflt=2\n");
	}
	expect_records(m, "");
	/* other seconds and other hosts are other records */
	colmet_mapper_add(m, "n1", "job_tasks", &tasks, T + 990000);
	colmet_mapper_add(m, "n0", "job_tasks", &tasks, T + 989999);
	colmet_mapper_add(m, "n1", "unknown", &groups, T);
	expect_records(m, "n0 1000 1794709883 taskstats cpu_run_real_total=123456789 "
			  "ac_btime=1794700000 ac_utime=42\n"
			  "n0 1001 1794709883 taskstats cpu_run_real_total=4999 "
			  "ac_btime=1794700001 ac_utime=43\n"
			  "n1 1000 1794709884 taskstats cpu_run_real_total=123456789 "
			  "ac_btime=1794700000 ac_utime=42\n"
			  "n1 1001 1794709884 taskstats cpu_run_real_total=4999 "
			  "ac_btime=1794700001 ac_utime=43\n");
	colmet_mapper_free(m);
}

static const struct sample_metric energy_metrics[] = {
	{"energy", UNIT_JOULES, KIND_COUNTER, AGG_SUM, 1e-6, NULL},
};

/* Package 0 has no counter of its cores; there is no third package. */
static void energies(void **state)
{
	_cleanup_(sample_release) struct sample_set set = {0}, jobs = {0};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, name = STRBUF_INIT;
	struct row_mapper *m = colmet_mapper_new();
	static const char *const zones[] = {"package-0", "dram-0", "psys-0",
					    "package-1", "core-1", "dram-1"};

	(void)state;
	sample_init(&set, energy_metrics, ARRAY_SIZE(energy_metrics));
	sample_init(&jobs, group_metrics, ARRAY_SIZE(group_metrics));
	for (unsigned round = 0; round < 3; round++) {
		sample_begin(&set);
		sample_begin(&jobs);
		for (unsigned i = 0; i < ARRAY_SIZE(zones); i++)
			add_row(&set, ENTITY_PACKAGE, zones[i], "range_uj", "262143328850",
				VALUES(1000000 * i + round * (i + 1)));
		add_row(&set, ENTITY_NODE, "node", NULL, NULL, VALUES(5000000 * round));
		if (round == 1)
			add_row(&jobs, ENTITY_JOB, "1000", NULL, NULL, VALUES(1, 1, NONE, NONE, 1));
		colmet_mapper_add(m, "n1", "rapl", &set, T + round * 5000000);
		colmet_mapper_add(m, "n1", "jobs", &jobs, T + round * 5000000);
	}
#define RANGE "262143328850"
	expect_records(m, "n1 0 1794709883 RAPLstats counter_2=" RANGE " counter_3=0 counter_4=0 "
			  "counter_6=" RANGE " counter_8=" RANGE " counter_10=" RANGE
			  " counter_12=" RANGE " []\n"
			  "n1 1000 1794709888 taskstats cpu_run_real_total=1000 "
			  "cpu_run_virtual_total=1000 ac_stime=0\n"
			  "n1 0 1794709888 RAPLstats counter_1=1 counter_2=" RANGE
			  " counter_3=0 counter_4=0 counter_5=2 counter_6=" RANGE
			  " counter_7=4 counter_8=" RANGE " counter_9=5 counter_10=" RANGE
			  " counter_11=6 counter_12=" RANGE " [1000]\n"
			  "n1 0 1794709893 RAPLstats counter_1=1 counter_2=" RANGE
			  " counter_3=0 counter_4=0 counter_5=2 counter_6=" RANGE
			  " counter_7=4 counter_8=" RANGE " counter_9=5 counter_10=" RANGE
			  " counter_11=6 counter_12=" RANGE " []\n");
	assert_true(colmet_mapping("rapl", &set, T + 120000, &name, &text));
	assert_string_equal(name.buf, "RAPL_mapping.1794709883.120000.csv");
	assert_contains(text.buf, "counter_1,energy_microjoule,package-0,package\n"
				  "counter_2,max_energy_range_microjoule,package-0,package\n"
				  "counter_3,counter_not_supported_by_hardware,,\n"
				  "counter_4,counter_not_supported_by_hardware,,\n"
				  "counter_5,energy_microjoule,package-0,dram\n");
	assert_contains(text.buf, "counter_9,energy_microjoule,package-1,core\n");
	assert_contains(text.buf, "counter_13,no_counter,,\n");
	assert_contains(text.buf, "counter_24,no_counter,,\n");
	colmet_mapper_free(m);
}

static const struct sample_metric event_metrics[] = {
	{"instructions", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"running", UNIT_RATIO, KIND_GAUGE, AGG_NONE, 0, NULL},
	{"cache_misses", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"page_faults", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
};

static void events(void **state)
{
	_cleanup_(sample_release) struct sample_set set = {0};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, name = STRBUF_INIT;
	struct row_mapper *m = colmet_mapper_new();

	(void)state;
	sample_init(&set, event_metrics, ARRAY_SIZE(event_metrics));
	/* the first reading says nothing of what came since the one before */
	add_row(&set, ENTITY_JOB, "5", NULL, NULL, VALUES(1000, 1, 10, 3));
	colmet_mapper_add(m, "n1", "job_counters", &set, T);
	expect_records(m, "");
	sample_begin(&set);
	add_row(&set, ENTITY_JOB, "5", NULL, NULL, VALUES(1500, 1, NONE, 3));
	add_row(&set, ENTITY_JOB, "6", NULL, NULL, VALUES(70, 1, 7, 0));
	colmet_mapper_add(m, "n1", "job_counters", &set, T + 1000000);
	expect_records(m, "n1 5 1794709884 perfhwstats counter_1=500 counter_3=0\n"
			  "n1 6 1794709884 perfhwstats counter_1=70 counter_2=7 counter_3=0\n");
	/* two readings within a second are one sample; a counter that began anew says nothing; job
	 * 6 is gone, and counts from nothing when it is there again */
	sample_begin(&set);
	add_row(&set, ENTITY_JOB, "5", NULL, NULL, VALUES(1600, 1, 12, 1));
	colmet_mapper_add(m, "n1", "job_counters", &set, T + 2000000);
	sample_begin(&set);
	add_row(&set, ENTITY_JOB, "5", NULL, NULL, VALUES(1700, 1, 13, 2));
	add_row(&set, ENTITY_JOB, "6", NULL, NULL, VALUES(20, 1, 1, 1));
	colmet_mapper_add(m, "n1", "job_counters", &set, T + 2500000);
	expect_records(m, "n1 5 1794709885 perfhwstats counter_1=200 counter_2=3 counter_3=1\n"
			  "n1 6 1794709885 perfhwstats counter_1=20 counter_2=1 counter_3=1\n");
	assert_true(colmet_mapping("job_counters", &set, T, &name, &text));
	assert_string_equal(name.buf, "perfhw_mapping.1794709883.000000.csv");
	assert_string_equal(text.buf, "counter_1,instructions\ncounter_2,cache_misses\n"
				      "counter_3,page_faults\ncounter_4,no_counter\n"
				      "counter_5,no_counter\n");
	colmet_mapper_free(m);
}

static const struct sample_metric gpu_metrics[] = {
	{"power", UNIT_WATTS, KIND_GAUGE, AGG_SUM, 0.001, NULL},
	{"temperature", UNIT_CELSIUS, KIND_GAUGE, AGG_MAX, 0, NULL},
	{"utilization_gpu", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0, NULL},
	{"memory_used", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, NULL},
	{"energy", UNIT_JOULES, KIND_COUNTER, AGG_SUM, 0.001, NULL},
};

static void gpus_by_job(void **state)
{
	_cleanup_(sample_release) struct sample_set set = {0};
	struct row_mapper *m = colmet_mapper_new();

	(void)state;
	sample_init(&set, gpu_metrics, ARRAY_SIZE(gpu_metrics));
	for (unsigned round = 0; round < 2; round++) {
		sample_begin(&set);
		add_row(&set, ENTITY_GPU, "0", "job", "8", VALUES(250400, 60, 90, 3 << 20, 1));
		add_row(&set, ENTITY_GPU, "1", "job", "8,9", VALUES(100200, 70, NONE, 1 << 20, 1));
		add_row(&set, ENTITY_GPU, "2", NULL, NULL, VALUES(30000, 30, 0, 0, 1));
		/* twice in the same second: the later one counts */
		colmet_mapper_add(m, "n1", "nvidia", &set, T + round * 500000);
	}
	expect_records(m, "n1 8 1794709883 nvidiastats power=350 temperature=70 utilization-gpu=90 "
			  "memory-used=4\n"
			  "n1 9 1794709883 nvidiastats power=100 temperature=70 memory-used=1\n");
	colmet_mapper_free(m);
}

static const struct sample_metric port_metrics[] = {
	{"port_xmit_data", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"port_rcv_packets", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"symbol_error", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
};
static const struct sample_metric lustre_metrics[] = {
	{"read_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"reads", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"writes", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
};
static const struct sample_metric thermal_metrics[] = {
	{"temperature", UNIT_CELSIUS, KIND_GAUGE, AGG_MAX, 1e-3, NULL},
	{"cooling", UNIT_NONE, KIND_GAUGE, AGG_MAX, 0, NULL},
};
static const struct sample_metric power_metrics[] = {
	{"power", UNIT_WATTS, KIND_GAUGE, AGG_SUM, 0, NULL},
	{"power_average", UNIT_WATTS, KIND_GAUGE, AGG_NONE, 0, NULL},
};

static void devices_of_a_node(void **state)
{
	_cleanup_(sample_release) struct sample_set ports = {0}, mounts = {0}, zones = {0},
						    power = {0};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, name = STRBUF_INIT;
	struct row_mapper *m = colmet_mapper_new();

	(void)state;
	sample_init(&ports, port_metrics, ARRAY_SIZE(port_metrics));
	add_row(&ports, ENTITY_PORT, "mlx5_0/1", NULL, NULL, VALUES(4000, 5, 1));
	add_row(&ports, ENTITY_PORT, "mlx5_1/1", NULL, NULL, VALUES(96, NONE, 1));
	/* the node's total is one of the rows, and all that counts */
	add_row(&ports, ENTITY_NODE, "node", NULL, NULL, VALUES(4096, 5, 2));
	sample_init(&mounts, lustre_metrics, ARRAY_SIZE(lustre_metrics));
	add_row(&mounts, ENTITY_FILESYSTEM, "a", NULL, NULL, VALUES(100, 2, 0));
	add_row(&mounts, ENTITY_FILESYSTEM, "b", NULL, NULL, VALUES(INT64_MAX, 3, 4));
	sample_init(&zones, thermal_metrics, ARRAY_SIZE(thermal_metrics));
	add_row(&zones, ENTITY_SENSOR, "acpitz", "device", "thermal_zone0", VALUES(27800, NONE));
	add_row(&zones, ENTITY_SENSOR, "x86_pkg_temp", "device", "thermal_zone5",
		VALUES(-3000, NONE));
	add_row(&zones, ENTITY_SENSOR, "far", "device", "thermal_zone6", VALUES(1000, NONE));
	add_row(&zones, ENTITY_SENSOR, "ten", "device", "thermal_zone10", VALUES(1000, NONE));
	add_row(&zones, ENTITY_SENSOR, "fan", "device", "cooling_device1", VALUES(NONE, 2));
	sample_set_metadata(&zones, 0, "type", "acpitz");
	sample_set_metadata(&zones, 1, "type", "x86_pkg_temp");
	sample_init(&power, power_metrics, ARRAY_SIZE(power_metrics));
	add_row(&power, ENTITY_NODE, "node", NULL, NULL, VALUES(180, 170));
	colmet_mapper_add(m, "n1", "ipmi", &power, T);
	colmet_mapper_add(m, "n1", "thermal", &zones, T);
	colmet_mapper_add(m, "n1", "lustre", &mounts, T);
	colmet_mapper_add(m, "n1", "infiniband", &ports, T);
	expect_records(m, "n1 0 1794709883 infinibandstats portXmitData=4096 portRcvPkts=5 []\n"
			  "n1 0 1794709883 lustrestats lustre_nb_read=5 "
			  "lustre_bytes_read=9223372036854775807 lustre_nb_write=4 []\n"
			  "n1 0 1794709883 temperaturestats counter_1=28 counter_6=-3\n"
			  "n1 0 1794709883 ipmipowerstats average_power_consumption=180 []\n");
	assert_true(colmet_mapping("thermal", &zones, T, &name, &text));
	assert_string_equal(text.buf, "counter_1, acpitz_0\ncounter_2, no counter\n"
				      "counter_3, no counter\ncounter_4, no counter\n"
				      "counter_5, no counter\ncounter_6, x86_pkg_temp_5\n");
	assert_false(colmet_mapping("system", &zones, T, &name, &text));
	colmet_mapper_free(m);
}

/* More jobs than the text holds: whole ones, and the list is closed. */
static void many_jobs(void **state)
{
	_cleanup_(sample_release) struct sample_set jobs = {0}, power = {0};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct row_mapper *m = colmet_mapper_new();

	(void)state;
	sample_init(&jobs, group_metrics, ARRAY_SIZE(group_metrics));
	sample_init(&power, power_metrics, ARRAY_SIZE(power_metrics));
	add_row(&power, ENTITY_NODE, "node", NULL, NULL, VALUES(180, 170));
	for (unsigned i = 0; i < 2000; i++) {
		char id[16];

		snprintf(id, sizeof(id), "%u", 1001999 - i);
		add_row(&jobs, ENTITY_JOB, id, NULL, NULL, VALUES(i, 1000 * i, NONE, NONE, NONE));
	}
	colmet_mapper_add(m, "n1", "jobs", &jobs, T);
	colmet_mapper_add(m, "n1", "ipmi", &power, T);
	colmet_mapper_flush(m, describe, &out);
	/* "[" and 910 numbers of 7 digits, ", " between them, and "]" */
	assert_contains(out.buf, "average_power_consumption=180 [1000000, 1000001, ");
	assert_contains(out.buf, ", 1000908, 1000909]\n");
	assert_contains(out.buf, "n1 1000000 1794709883 taskstats cpu_run_real_total=1999000 "
				 "cpu_run_virtual_total=1999000 ac_stime=1999\n");
	assert_contains(out.buf, "n1 1001999 1794709883 taskstats cpu_run_real_total=0 "
				 "cpu_run_virtual_total=0 ac_stime=0\n");
	colmet_mapper_free(m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_and_their_tasks),
		cmocka_unit_test(energies),
		cmocka_unit_test(events),
		cmocka_unit_test(gpus_by_job),
		cmocka_unit_test(devices_of_a_node),
		cmocka_unit_test(many_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
