/* Records as colmet's stdout shows them, and the files that name its numbered counters. */
#include "colmet.h"

static void the_look_is_colmets(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xcalloc(1, sizeof(*r));
	static const struct {
		const char *field;
		int64_t value;
	} values[] = {
		{"coremem", 338711},       {"virtmem", 1513000000},
		{"ac_btime", 1794709880},  {"cpu_scaled_run_real_total", 660998003},
		{"ac_etime", 1490000},     {"ac_minflt", 56},
		{"cpu_count", 165},        {"nivcsw", 123456},
		{"read_char", 5000000000}, {"ac_stime", 4000},
		{"cpu_delay_total", 1},    {"cpu_run_real_total", 9223372036854775807},
		{"ac_utime", 657000},
	};

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	r->table = colmet_backends;
	r->job = 1001;
	r->time_s = 1794709881;
	snprintf(r->host, sizeof(r->host), "vm");
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		r->values[row_field_find(r->table, values[i].field)].i = values[i].value;
	r->absent = (uint64_t)1 << row_field_find(r->table, "blkio_count");
	colmet_text(r, &out);
	assert_text(&out, "1794709881  Job(1001)/ taskstats_default -> Host(vm) -> {\n"
			  "\t                  coremem : 355164.225536 (bytes*seconds)\n"
			  "\t                  virtmem : 1586495488 (bytes*seconds)\n"
			  "\t                 ac_btime : 15/11/2026 - 02:31:20\n"
			  "\t                read_char : 5000000000 (bytes)\n"
			  "\t               write_char : 0 (bytes)\n"
			  "\tcpu_scaled_run_real_total : 0.660998003 (seconds)\n"
			  "\t    cancelled_write_bytes : 0 (bytes)\n"
			  "\t                 ac_etime : 1.49 (seconds)\n"
			  "\t                ac_majflt : 0 (count)\n"
			  "\t                ac_minflt : 56 (count)\n"
			  "\t              blkio_count : n/a\n"
			  "\t                cpu_count : 165 (count)\n"
			  "\t             swapin_count : 0 (count)\n"
			  "\t                   nivcsw : 123456 (count)\n"
			  "\t          freepages_count : 0 (count)\n"
			  "\t               read_bytes : 0 (bytes)\n"
			  "\t            read_syscalls : 0 (count)\n"
			  "\t                 ac_stime : 0.004 (seconds)\n"
			  "\t           ac_stimescaled : 0 (seconds)\n"
			  "\t        blkio_delay_total : 0 (seconds)\n"
			  "\t          cpu_delay_total : 0.000000001 (seconds)\n"
			  "\t       cpu_run_real_total : 9223372036.854775807 (seconds)\n"
			  "\t    cpu_run_virtual_total : 0 (seconds)\n"
			  "\t    freepages_delay_total : 0 (seconds)\n"
			  "\t       swapin_delay_total : 0 (seconds)\n"
			  "\t                 ac_utime : 0.657 (seconds)\n"
			  "\t           ac_utimescaled : 0 (seconds)\n"
			  "\t                    nvcsw : 0 (count)\n"
			  "\t              write_bytes : 0 (bytes)\n"
			  "\t           write_syscalls : 0 (count)\n"
			  "}\n");
}

/* Line by line what was captured: the same head, names, order, alignment and units. */
static void as_it_was_captured(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xcalloc(1, sizeof(*r));
	size_t n = 0, lines = 0;
	_cleanup_free_ char *want = captured("stdout_backend_sample.txt", &n);
	char *end_want, *end_got;

	(void)state;
	if (!want)
		skip_because("no sample data beside the project");
	want[n] = 0;
	r->table = colmet_backends;
	r->job = 1001;
	r->time_s = 1794709881;
	snprintf(r->host, sizeof(r->host), "vm");
	colmet_text(r, &out);
	char *w = strtok_r(want, "\n", &end_want), *g = strtok_r(out.buf, "\n", &end_got);
	for (; g; w = strtok_r(NULL, "\n", &end_want), g = strtok_r(NULL, "\n", &end_got)) {
		const char *unit = strchr(g, '(');

		assert_non_null(w);
		assert_memory_equal(w, g, *g == '\t' ? strcspn(g, ":") + 2 : strlen(g) + 1);
		if (*g == '\t' && unit)
			assert_string_equal(strchr(w, '('), unit);
		lines++;
	}
	assert_int_equal(lines, 32);
}

static void numbers_of_all_kinds(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xcalloc(1, sizeof(*r));

	(void)state;
	make_record(r, &colmet_backends[4], 5, 100);
	r->values[4].i = -1;
	r->absent = 1 << 4;
	colmet_text(r, &out);
	assert_text(&out, "100  Job(5)/ perfhwstats_default -> Host(node-1.site) -> {\n"
			  "\tcounter_1 : 5 (count)\n\tcounter_2 : 1005 (count)\n"
			  "\tcounter_3 : 2005 (count)\n\tcounter_4 : 3005 (count)\n"
			  "\tcounter_5 : -1 (count)\n}\n");
	strbuf_reset(&out);
	make_record(r, &colmet_backends[8], 0, 100);
	colmet_text(r, &out);
	assert_text(&out, "100  Job(0)/ ipmipowerstats_default -> Host(node-1.site) -> {\n"
			  "\taverage_power_consumption : 0\n"
			  "\t            involved_jobs : [1000, 1001]\n}\n");
	strbuf_reset(&out);
	make_record(r, &colmet_backends[1], 0, 100);
	colmet_text(r, &out);
	/* by name; kibibytes are shown as bytes */
	assert_contains(out.buf, "{\n\t          involved_jobs : [1000, 1001]\n"
				 "\t          loadavg_15min : 15.25\n");
	assert_contains(out.buf, "\n\t       meminfo_memtotal : 2048000 (bytes)\n");
	assert_contains(out.buf, "\n\t           uptime_total : 0 (seconds)\n");
	strbuf_reset(&out);
	make_record(r, &colmet_backends[5], 0, 100);
	colmet_text(r, &out);
	/* counters as they count, not by their letters */
	assert_contains(out.buf, "    counter_9 : 8000\n\t   counter_10 : 9000\n");
}

static const struct sample_metric energy[] = {
	{"energy", UNIT_JOULES, KIND_COUNTER, AGG_SUM, 1e-6, NULL}};

static void mapping_files(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_(sample_release) struct sample_set set = {0};
	_cleanup_free_ char *path = xasprintf("%s/RAPL_mapping.5.000007.csv", (char *)*state);
	char text[2048] = "";

	sample_init(&set, energy, 1);
	(void)sample_entity(&set, ENTITY_PACKAGE, "package-0");
	assert_int_equal(colmet_mapping_write(*state, "rapl", &set, 5000007, &why), 0);
	FILE *f = fopen(path, "re");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = 0;
	fclose(f);
	assert_contains(text, "counter_1,energy_microjoule,package-0,package\n");
	assert_contains(text, "counter_6,counter_not_supported_by_hardware,,\n");
	/* what is there is not written over, and other sources have no such file */
	assert_int_equal(colmet_mapping_write(*state, "rapl", &set, 5000007, &why), -EEXIST);
	assert_contains(why.buf, "RAPL_mapping.5.000007.csv': File exists");
	assert_int_equal(colmet_mapping_write(*state, "system", &set, 5000007, &why), 0);
	assert_int_equal(colmet_mapping_write("/nowhere", "rapl", &set, 5, &why), -ENOENT);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_look_is_colmets),
		cmocka_unit_test(as_it_was_captured),
		cmocka_unit_test(numbers_of_all_kinds),
		cmocka_unit_test_setup_teardown(mapping_files, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
