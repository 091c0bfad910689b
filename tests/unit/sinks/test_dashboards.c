/* The dashboards of contrib/grafana ask for what the feeds write: sources, metrics, names. */
#include "unit.h"

#include <jansson.h>
#include <regex.h>

#include "jobs/discovery/cgroup_jobs.h"
#include "sinks/prometheus/openmetrics.h"
#include "sources/source.h"

static char *read_text(const char *name)
{
	const char *dir = getenv("PL_SOURCE");
	_cleanup_free_ char *path = xasprintf("%s/%s", dir ? dir : "..", name);
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	struct strbuf text = STRBUF_INIT;
	char piece[4096];
	size_t n;

	if (!f)
		fail_msg("no %s", path);
	while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
		strbuf_add(&text, piece, n);
	return strbuf_take(&text);
}

/* What job_counters says when it is to count an event; "" when it does. */
static char *refusal(const char *event)
{
	const struct source *s = source_find("job_counters");
	const struct cgroup_jobs_options none = {.root = "/nonexistent"};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct source_context ctx = {.root = "", .option = event};
	struct sample_set set;
	void *state = NULL;

	assert_int_equal(cgroup_jobs_open(&ctx.jobs, &none, &why), 0);
	sample_init(&set, s->metrics, s->metric_count);
	if (s->open(&ctx, &set, &state, &why) == 0)
		s->close(state);
	sample_release(&set);
	cgroup_jobs_close(ctx.jobs);
	/* behind the name of the event */
	return xstrdup(state || !strstr(why.buf, ": ") ? "" : strstr(why.buf, ": "));
}

/* Is there such an event, whether or not it can be counted here? */
static bool is_event(const char *name)
{
	_cleanup_free_ char *unknown = refusal("no_such_event"), *got = refusal(name);

	assert_true(*unknown);
	return strcmp(got, unknown) != 0;
}

/* Has a source such a metric? Those of job_counters are chosen when it is opened. */
static bool is_metric(const char *source, const char *metric)
{
	const struct source *s = source_find(source);

	if (s && !strcmp(source, "job_counters"))
		return is_event(metric);
	for (size_t i = 0; s && i < s->metric_count; i++)
		if (!strcmp(s->metrics[i].name, metric))
			return true;
	return false;
}

/* Is there a metric that Prometheus has under this name? */
static bool is_prometheus(const char *name)
{
	static const char own[] = "plimsoll_job_counters_";

	for (const struct source *const *s = sources; *s; s++)
		for (size_t i = 0; i < (*s)->metric_count; i++) {
			_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

			openmetrics_name(&text, (*s)->name, &(*s)->metrics[i]);
			if ((*s)->metrics[i].kind == KIND_COUNTER)
				strbuf_addstr(&text, "_total");
			if (!strcmp(text.buf, name))
				return true;
		}
	if (str_prefix(name, own) && str_suffix(name, "_total")) {
		_cleanup_free_ char *metric =
			xstrndup(name + strlen(own), strlen(name) - strlen(own) - 6);

		return is_metric("job_counters", metric);
	}
	return false;
}

/* Every place that an expression matches, with its first part; how many. */
static size_t each_match(const char *text, const char *expression,
			 void (*check)(const char *first, const char *second))
{
	regmatch_t m[3];
	regex_t r;
	size_t n = 0;

	assert_int_equal(regcomp(&r, expression, REG_EXTENDED), 0);
	for (; !regexec(&r, text, 3, m, 0); text += m[0].rm_eo, n++) {
		_cleanup_free_ char *first =
			xstrndup(text + m[1].rm_so, (size_t)(m[1].rm_eo - m[1].rm_so));
		_cleanup_free_ char *second =
			m[2].rm_so < 0
				? NULL
				: xstrndup(text + m[2].rm_so, (size_t)(m[2].rm_eo - m[2].rm_so));
		check(first, second);
	}
	regfree(&r);
	return n;
}

static void check_metric(const char *source, const char *metric)
{
	if (!is_metric(source, metric))
		fail_msg("%s.%s is no metric", source, metric);
}

static void check_prometheus(const char *name, const char *second)
{
	(void)second;
	if (!is_prometheus(name))
		fail_msg("%s is no name", name);
}

static void check_source(const char *source, const char *second)
{
	(void)second;
	if (!source_find(source))
		fail_msg("%s is no source", source);
}

static json_t *load_board(const char *name)
{
	_cleanup_free_ char *path = xasprintf("contrib/grafana/%s.json", name);
	_cleanup_free_ char *text = read_text(path);
	json_error_t error;
	json_t *board = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!board)
		fail_msg("%s:%d: %s", path, error.line, error.text);
	return board;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

/* 18 panels with a query each, in places of their own, and the two variables. */
static void shape(const json_t *board)
{
	const json_t *panels = json_object_get(board, "panels"), *p;
	const json_t *list = json_object_get(json_object_get(board, "templating"), "list");
	size_t i;

	assert_int_equal(json_array_size(panels), 18);
	json_array_foreach(panels, i, p) {
		const json_t *at = json_object_get(p, "gridPos");

		assert_true(*text_of(p, "title") && *text_of(p, "type"));
		assert_int_equal(json_array_size(json_object_get(p, "targets")), 1);
		assert_int_equal(json_integer_value(json_object_get(p, "id")), i + 1);
		assert_int_equal(json_integer_value(json_object_get(at, "x")), i % 2 * 12);
		assert_int_equal(json_integer_value(json_object_get(at, "y")), i / 2 * 8);
	}
	assert_string_equal(text_of(json_array_get(list, 1), "name"), "Job_ID");
	assert_string_equal(text_of(json_array_get(list, 2), "name"), "Node");
}

static const json_t *target_of(const json_t *board, size_t i)
{
	const json_t *p = json_array_get(json_object_get(board, "panels"), i);

	return json_array_get(json_object_get(p, "targets"), 0);
}

/* The checks below find a name that is none. */
static void unknown_names(void **state)
{
	(void)state;
	assert_true(is_metric("job_counters", "cache_misses"));
	assert_false(is_metric("job_counters", "cache_missing"));
	assert_true(is_prometheus("plimsoll_job_counters_cpu_cycles_total"));
	assert_false(is_prometheus("plimsoll_job_counters_cpu_circles_total"));
	assert_false(is_metric("no_such_source", "cpu_cycles"));
}

static void postgresql(void **state)
{
	json_t *board = load_board("postgresql");
	size_t n = 0;

	(void)state;
	shape(board);
	for (size_t i = 0; i < 18; i++)
		n += each_match(text_of(target_of(board, i), "rawSql"),
				"metric = '([a-z_]+)\\.([A-Za-z0-9_]+)'", check_metric);
	assert_int_equal(n, 16); /* all but the two lists */
	json_decref(board);
}

static const char *source_now;

static void note_source(const char *source, const char *second)
{
	static char name[64];

	check_source(source, second);
	snprintf(name, sizeof(name), "%s", source);
	source_now = name;
}

static void check_column(const char *column, const char *second)
{
	(void)second;
	check_metric(source_now, column);
}

static void clickhouse(void **state)
{
	json_t *board = load_board("clickhouse");

	(void)state;
	shape(board);
	for (size_t i = 0; i < 18; i++) {
		const char *sql = text_of(target_of(board, i), "rawSql");

		assert_int_equal(each_match(sql, "FROM plimsoll_([a-z_]+)", note_source), 1);
		assert_true(each_match(sql, "`([A-Za-z0-9_]+)`", check_column) > 0 ||
			    strstr(sql, "uniqExact"));
	}
	json_decref(board);
}

static void elasticsearch(void **state)
{
	json_t *board = load_board("elasticsearch");

	(void)state;
	shape(board);
	for (size_t i = 0; i < 18; i++) {
		const json_t *target = target_of(board, i);
		const json_t *metric = json_array_get(json_object_get(target, "metrics"), 0);

		assert_int_equal(each_match(text_of(target, "query"),
					    "_index:plimsoll_([a-z_]+)-\\*", note_source),
				 1);
		if (strcmp(text_of(metric, "type"), "cardinality") != 0)
			check_metric(source_now, text_of(metric, "field"));
		/* rates are of a second, not of an interval */
		const json_t *next = json_array_get(json_object_get(target, "metrics"), 1);
		if (next && i > 1)
			assert_string_equal(text_of(json_object_get(next, "settings"), "unit"),
					    "1s");
	}
	json_decref(board);
}

static void prometheus(void **state)
{
	json_t *board = load_board("prometheus");
	const json_t *list = json_object_get(json_object_get(board, "templating"), "list");

	(void)state;
	shape(board);
	for (size_t i = 0; i < 18; i++)
		assert_int_equal(each_match(text_of(target_of(board, i), "expr"),
					    "(plimsoll_[a-z0-9_]+)", check_prometheus),
				 1);
	for (size_t i = 1; i < 3; i++)
		assert_int_equal(each_match(text_of(json_array_get(list, i), "query"),
					    "(plimsoll_[a-z0-9_]+)", check_prometheus),
				 1);
	json_decref(board);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unknown_names), cmocka_unit_test(postgresql),
		cmocka_unit_test(clickhouse),    cmocka_unit_test(elasticsearch),
		cmocka_unit_test(prometheus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
