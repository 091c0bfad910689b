/*
 * Feed clickhouse: every value is there once, columns come with new metrics. Against a stand-in
 * that reads every byte of a block; with PL_CLICKHOUSE_URL (and what is read from,
 * PL_CLICKHOUSE_READ) against servers, where PL_LONG=1 measures, too.
 */
#include "sink_clickhouse.h"
#include "many_names.h"

static void every_value_is_there_once(void **state)
{
	const char *url = getenv("PL_CLICKHOUSE_URL"), *read = getenv("PL_CLICKHOUSE_READ");
	struct fake_server s;

	if (url)
		drop_tables(url);
	else
		fake_start(&s, "fake_clickhouse.py", NULL);
	const struct sink_options o = {.target = url ? url : s.url, .state = *state};
	harness_life(&sink_clickhouse, &o, &plan);
	check_all(url ? read : s.url, &plan);
	if (url)
		return;
	json_t *seen = fake_state(&s);
	const json_t *types =
		json_object_get(json_object_get(seen, "tables"), "plimsoll_system_rows");
	assert_string_equal(text_of(types, "load"), "Nullable(Float64)");
	assert_string_equal(text_of(types, "forks"), "Nullable(Int64)");
	/* some came twice */
	assert_true(fake_count(seen, "rows") > 8 * 5 * 10);
	json_decref(seen);
	fake_stop(&s);
}

static void a_server_with_troubles(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;
	uint64_t position;

	fake_start(&s, "fake_clickhouse.py", NULL);
	const struct sink_options o = {.target = s.url, .state = *state};
	void *feed = harness_start(&sink_clickhouse, &o, &position);
	harness_must(&sink_clickhouse, feed, &plan, 1, 4, false);
	fake_faults(&s, "[{},{\"status\":503},{\"break\":\"after\"},{\"break\":\"before\"},"
			"{\"break\":\"after\"},{\"status\":500}]");
	unsigned failures = 0;
	while (sink_clickhouse.commit(feed, 4, &why) == -EAGAIN)
		assert_true(++failures < 20);
	assert_true(failures >= 3);
	assert_contains(why.buf, "Too many parts");
	harness_must(&sink_clickhouse, feed, &plan, 5, 8, true);
	check_all(s.url, &plan);
	/* all tables are gone: made again with what comes */
	fake_faults(&s, "[{\"drop\":true}]");
	harness_must(&sink_clickhouse, feed, &plan, 9, 9, false);
	assert_int_equal(sink_clickhouse.commit(feed, 9, &why), -EAGAIN);
	assert_int_equal(sink_clickhouse.commit(feed, 9, &why), -EAGAIN);
	failures = 0;
	while (sink_clickhouse.commit(feed, 9, &why) == -EAGAIN)
		assert_true(++failures < 20);
	sink_clickhouse.close(feed);
	struct found found = {.rows = json_object()};
	read_table(s.url, "group", &found);
	assert_int_equal(found.count, 5 * 3);
	json_decref(found.rows);
	json_decref(fake_state(&s));
	fake_stop(&s);
}

/* ---- metrics that come later ---- */

static void give_as(void *feed, const char *name_of_source, uint64_t number,
		    const struct sample_metric *columns, size_t count, int64_t value)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct batch_name name = {.node = "n", .boot = 1, .number = number};
	const struct sample_file_head head = {.host = (char *)"n",
					      .boot = (char *)"1",
					      .period_ns = 1,
					      .boottime_ns = 1,
					      .realtime_ns = HARNESS_BEGIN_S * 1000000000};
	int fd = memfd_create("batch", MFD_CLOEXEC);
	struct sample_file f;
	struct sample_set set;

	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	struct sample_writer *w = sample_writer_open(fd, &head);
	sample_init(&set, columns, count);
	unsigned source = sample_writer_source(w, name_of_source, 1, &set);
	sample_begin(&set);
	set.time_ns = number * 1000000000 + 1;
	uint32_t e = sample_entity(&set, ENTITY_JOB, "od\\d`'");
	sample_row(&set, e);
	for (unsigned m = 0; m < count; m++)
		sample_put(&set, m, value + m);
	sample_writer_add(w, source, &set);
	assert_int_equal(sample_writer_close(w, NULL), 0);
	sample_release(&set);
	assert_int_equal(sample_file_open(&f, fd, &why), 0);
	if (sink_clickhouse.batch(feed, number, &name, &f, &why) < 0 ||
	    sink_clickhouse.commit(feed, number, &why) < 0)
		fail_msg("%s", why.buf);
	sample_file_close(&f);
}

static void give(void *feed, uint64_t number, const struct sample_metric *columns, size_t count,
		 int64_t value)
{
	give_as(feed, "group", number, columns, count, value);
}

static void metrics_come_later(void **state)
{
	static const struct sample_metric first[] = {
		{"a", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL}};
	/* more of them; one with a name of ours; one that is a fraction now, and stays whole there
	 */
	static const struct sample_metric more[] = {
		{"b`\\'x", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0.5, NULL},
		{"a", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0.1, NULL},
		{"time", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 1024, NULL}};
	const char *url = getenv("PL_CLICKHOUSE_URL"), *read = getenv("PL_CLICKHOUSE_READ");
	struct fake_server s;
	uint64_t position;

	if (url)
		drop_tables(url);
	else
		fake_start(&s, "fake_clickhouse.py", NULL);
	const struct sink_options o = {.target = url ? url : s.url, .state = *state};
	void *feed = harness_start(&sink_clickhouse, &o, &position);
	give(feed, 1, first, 1, 7);
	give(feed, 2, more, 3, 41);
	sink_clickhouse.close(feed);
	/* one that knows nothing of it */
	feed = harness_start(&sink_clickhouse, &o, &position);
	give(feed, 3, more, 3, 51);
	give(feed, 4, first, 1, 9);
	sink_clickhouse.close(feed);
	char *text = ask(url ? read : s.url, "SELECT * FROM plimsoll_group FORMAT JSONEachRow");
	static const char *const want[][3] = {{"7", NULL, NULL},
					      {"4", "20.5", "44032"},
					      {"5", "25.5", "54272"},
					      {"9", NULL, NULL}};
	size_t count = 0;
	for (char *line = text; *line; line += strcspn(line, "\n") + 1) {
		json_t *row = json_loadb(line, strcspn(line, "\n"), JSON_DECODE_ANY, NULL);
		static const char *const names[] = {"a", "b___x", "time_"};

		if (!row)
			fail_msg("%s", line);
		assert_string_equal(text_of(row, "job"), "od\\d`'");
		size_t at = (size_t)(strtoll(text_of(row, "time_us"), NULL, 10) / 1000000 -
				     HARNESS_BEGIN_S);
		assert_true(at >= 1 && at <= 4);
		for (size_t i = 0; i < 3; i++) {
			const json_t *v = json_object_get(row, names[i]);
			double got = json_is_string(v) ? strtod(json_string_value(v), NULL)
						       : json_number_value(v);

			assert_non_null(v);
			assert_int_equal(json_is_null(v), !want[at - 1][i]);
			if (want[at - 1][i] && got != strtod(want[at - 1][i], NULL))
				fail_msg("%s: %s", names[i], line);
		}
		json_decref(row);
		count++;
	}
	assert_int_equal(count, 4);
	free(text);
	if (!url) {
		json_decref(fake_state(&s));
		fake_stop(&s);
	}
}

/* Statements go in the URL, and names in them are from nodes. */
static void names_stay_names(void **state)
{
	static const char name[] = "a&query=DROP%20TABLE#%41;+)b";
	static const struct sample_metric metric[] = {
		{name, UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL}};
	struct fake_server s;
	uint64_t position;

	fake_start(&s, "fake_clickhouse.py", NULL);
	const struct sink_options o = {.target = s.url, .state = *state};
	void *feed = harness_start(&sink_clickhouse, &o, &position);
	give(feed, 1, metric, 1, 7);
	sink_clickhouse.close(feed);
	char *text = ask(s.url, "SELECT * FROM plimsoll_group FORMAT JSONEachRow");
	json_t *row = json_loads(text, JSON_DECODE_ANY, NULL);
	assert_non_null(row);
	const json_t *v = json_object_get(row, name);
	assert_non_null(v);
	assert_int_equal(json_is_string(v) ? (int)strtol(json_string_value(v), NULL, 10)
					   : (int)json_number_value(v),
			 7);
	json_decref(row);
	free(text);
	json_decref(fake_state(&s));
	fake_stop(&s);
}

/* A server makes names of files of them, and takes nothing into a table that has one it cannot. */
static void names_that_are_too_long(void **state)
{
	static char odd[256], plain[2][256], source[256];
	const struct sample_metric named[] = {
		{odd, UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
		{plain[0], UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
		{plain[1], UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL}};
	const char *url = getenv("PL_CLICKHOUSE_URL"), *read = getenv("PL_CLICKHOUSE_READ");
	struct fake_server s;
	uint64_t position;

	memset(odd, '&', 255);
	memset(plain, 'm', sizeof(plain));
	plain[0][255] = plain[1][255] = 0;
	plain[1][254] = 'n';
	memset(source, 's', 255);
	if (url)
		drop_tables(url);
	else
		fake_start(&s, "fake_clickhouse.py", NULL);
	const struct sink_options o = {.target = url ? url : s.url, .state = *state};
	void *feed = harness_start(&sink_clickhouse, &o, &position);
	give(feed, 1, named, 3, 7);
	give_as(feed, source, 2, named, 3, 7);
	sink_clickhouse.close(feed);
	char *text = ask(url ? read : s.url, "SELECT * FROM plimsoll_group FORMAT JSONEachRow");
	json_t *row = json_loads(text, JSON_DECODE_ANY, NULL);
	const char *key;
	json_t *v;
	unsigned sum = 0;
	assert_non_null(row);
	json_object_foreach(row, key, v)
		if (strlen(key) > 20)
			sum += (unsigned)(json_is_string(v) ? strtol(json_string_value(v), NULL, 10)
							    : json_integer_value(v));
	assert_int_equal(sum, 7 + 8 + 9);
	json_decref(row);
	free(text);
	if (!url) {
		json_decref(fake_state(&s));
		fake_stop(&s);
	}
}

static size_t told_of_names;

static int on_names(void *user, uint64_t number, const char *reason)
{
	(void)user;
	(void)number;
	assert_contains(reason, "too many names");
	told_of_names++;
	return 0;
}

/* Who has used as many names as he can keeps nobody from those that he needs. */
static void one_node_cannot_use_up_the_names(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct sink_options o = {.target = "x", .refused = on_names};
	struct clickhouse c = {.prefix = (char *)"", .refusals = sink_refusals("clickhouse", &o)};
	const struct source *ours = source_find("system");
	struct sample_file f;

	(void)state;
	for (unsigned n = 1; n <= 12; n++) {
		many_evil(n, &f);
		clickhouse_add(&c, &f, n);
		sample_file_close(&f);
	}
	assert_true(c.table_count <= 512 / 4 + 1);
	assert_int_equal(sink_tell_names(&c.refusals, &why), 0);
	assert_int_equal(told_of_names, 11);
	many_good(&f);
	clickhouse_add(&c, &f, 13);
	sample_file_close(&f);
	assert_int_equal(sink_tell_names(&c.refusals, &why), 0);
	assert_int_equal(told_of_names, 11);
	for (size_t i = 0, found = 0; i <= c.table_count; i++) {
		assert_true(i < c.table_count || found == 2);
		const struct clickhouse_table *t = i < c.table_count ? &c.tables[i] : NULL;

		if (!t || (strcmp(t->name, "system") != 0 && strcmp(t->name, "special") != 0))
			continue;
		const struct sample_metric *list =
			*t->name == 's' && t->name[1] == 'y' ? ours->metrics : special_metrics;
		size_t count =
			list == special_metrics ? ARRAY_SIZE(special_metrics) : ours->metric_count;
		assert_true(t->column_count <= 512 / 4 + count);
		for (size_t m = 0; m < count; m++) {
			size_t k = 0;

			while (k < t->column_count && strcmp(t->columns[k].name, list[m].name) != 0)
				k++;
			/* there, in the last row, and of the type that the honest one means */
			assert_true(k < t->column_count);
			assert_int_equal(t->columns[k].nulls.len, t->rows);
			assert_int_equal(t->columns[k].nulls.buf[t->rows - 1], 0);
			assert_int_equal(t->columns[k].real, !sink_is_whole(&list[m]));
		}
		found++;
	}
	for (size_t i = 0; i < c.table_count; i++)
		clickhouse_table_release(&c.tables[i]);
	free(c.tables);
	quota_release(&c.names);
	sink_refusals_release(&c.refusals);
}

static void what_cannot_be(void **state)
{
	static const struct {
		const char *target, *why;
		int error;
	} cases[] = {{"ch:8123", "http://", -EINVAL},
		     {"http://127.0.0.1:1", "", -EAGAIN},
		     {"http://127.0.0.1:1,http://127.0.0.1:2", "cluster=", -EINVAL},
		     {"http://127.0.0.1:1/?database=a`b", "a`b", -EINVAL},
		     {"http://127.0.0.1:1/?timeout=never", "never", -EINVAL}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		const struct sink_options o = {.target = cases[i].target, .state = *state};
		uint64_t position;
		void *feed;

		assert_int_equal(sink_clickhouse.open(&o, &feed, &position, &why), cases[i].error);
		assert_contains(why.buf, cases[i].why);
	}
}

/* How many values a second get there. */
static void speed(void **state)
{
	static const struct harness_plan large = {
		.nodes = 20, .entries = 400, .readings = 10, .jobs = 20, .processes = 20};
	const char *url = getenv("PL_CLICKHOUSE_URL");
	uint64_t position;

	if (!url || !getenv("PL_LONG"))
		return;
	drop_tables(url);
	const struct sink_options o = {.target = url, .state = *state};
	void *feed = harness_start(&sink_clickhouse, &o, &position);
	uint64_t making = 0, begin = clock_boottime_ns();
	for (unsigned k = 1; k <= large.entries; k++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct batch_name name;
		struct sample_file f;
		uint64_t at = clock_boottime_ns();

		harness_open(&large, k, &name, &f);
		making += clock_boottime_ns() - at;
		int r = sink_clickhouse.batch(feed, k, &name, &f, &why);
		sample_file_close(&f);
		if (r < 0 ||
		    ((r > 0 || k == large.entries) && sink_clickhouse.commit(feed, k, &why) < 0))
			fail_msg("%s", why.buf);
	}
	double seconds = (double)(clock_boottime_ns() - begin - making) / 1e9;
	size_t values = harness_expect(&large, large.entries, NULL, NULL);
	print_message("%zu values in %.2f s: %.0f values/s\n", values, seconds,
		      (double)values / seconds);
	sink_clickhouse.close(feed);
	drop_tables(url);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_value_is_there_once),
		TEST(a_server_with_troubles),
		TEST(one_node_cannot_use_up_the_names),
		TEST(metrics_come_later),
		TEST(names_stay_names),
		TEST(names_that_are_too_long),
		TEST(what_cannot_be),
		TEST(speed),
	};

	log_init("test", LOG_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
