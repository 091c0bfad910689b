/*
 * The list of jobs against an answer that is computed here, job by job: each filter, any two, in
 * several orders, page by page, on each engine, with lists taken for short and for long ones.
 */
#include "job_list_jobs.h"

#include <math.h>

#include "store/job_admin.h"
#include "store/job_list.h"

#define PAGE 137

/* What jobs are sorted by; text: a name. false: not known. */
static bool value_of(const struct job *j, const char *key, int64_t *ret, const char **ret_text)
{
	*ret_text = NULL;
	if (!strcmp(key, "jobname"))
		*ret_text = j->name;
	else if (!strcmp(key, "user"))
		*ret_text = j->user;
	else
		*ret = !strcmp(key, "start")      ? j->start
		       : !strcmp(key, "duration") ? j->duration
						  : j->cpu;
	return !strcmp(key, "jobname") || (!strcmp(key, "user") ? j->user != NULL : *ret >= 0);
}

static const char *sort_key;
static bool descending;

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b, u = 0, v = 0;
	const char *s, *t;
	bool known = value_of(&jobs[x], sort_key, &u, &s),
	     other = value_of(&jobs[y], sort_key, &v, &t);
	int r;

	if (known != other)
		return known ? -1 : 1;
	r = !known ? 0 : s ? strcmp(s, t) : u < v ? -1 : u > v;
	if (!r)
		r = x < y ? -1 : x > y;
	return descending ? -r : r;
}

static size_t right_answer(size_t a, size_t b, const char *order, int64_t *ret)
{
	size_t n = 0;

	for (int64_t i = 1; i <= JOBS; i++)
		if (filters[a].matches(&jobs[i]) && filters[b].matches(&jobs[i]))
			ret[n++] = i;
	descending = *order == '-';
	sort_key = order + descending;
	qsort(ret, n, sizeof(*ret), compare);
	return n;
}

/* ---- tests ---------------------------------------------------------------------------------- */

static struct filter *filter_of(const char *a, const char *b)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct filter *f = filter_new(FILTER_JOBS);

	if (filter_parse(f, a, &why) < 0 || filter_parse(f, b, &why) < 0)
		fail_msg("%s: %s", a, why.buf);
	return f;
}

static void check_pages(struct store *s, size_t a, size_t b, const char *order, int64_t list_short)
{
	static int64_t right[JOBS];
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *after = NULL;
	size_t n = right_answer(a, b, order, right), at = 0;

	for (bool more = true; more;) {
		_cleanup_filter_ struct filter *f = filter_of(filters[a].filter, filters[b].filter);
		_cleanup_job_page_ struct job_page p = {0};
		const struct job_list_query q = {.where = f,
						 .order = order,
						 .limit = PAGE,
						 .after = after,
						 .list_short = list_short};
		if (job_list_page(s, &q, &p, &why) < 0)
			fail_msg("%s: %s %s", filters[a].filter, why.buf, store_error(s));
		if (p.has_total)
			assert_int_equal(p.total, n);
		for (size_t i = 0; i < p.count; i++, at++)
			if (at >= n || p.jobs[i] != right[at])
				fail_msg("%s and %s, %s: place %zu of %zu is %lld and not %lld",
					 filters[a].filter, filters[b].filter, order, at, n,
					 (long long)p.jobs[i],
					 at < n ? (long long)right[at] : -1LL);
		more = p.next != NULL;
		assert_true(!more || p.count == PAGE);
		free(after);
		after = p.next;
		p.next = NULL;
	}
	if (at != n)
		fail_msg("%s and %s, %s: %zu of %zu", filters[a].filter, filters[b].filter, order,
			 at, n);
}

static void check_all(struct store *s, const char *order, int64_t list_short)
{
	for (size_t a = 0; a < ARRAY_SIZE(filters); a++)
		for (size_t b = a; b < ARRAY_SIZE(filters); b++)
			check_pages(s, a, b, order, list_short);
}

static void test_newest_first(void **state)
{
	check_all(*state, "-start", 0);
}

static void test_long_lists(void **state)
{
	check_all(*state, "-start", 3);
	check_all(*state, "start", 200);
}

static void test_other_orders(void **state)
{
	static const char *const orders[] = {"-duration", "cpu_time", "jobname", "-user", "start"};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		for (size_t a = 0; a < ARRAY_SIZE(filters); a++)
			check_pages(*state, a, (a * 5 + i) % ARRAY_SIZE(filters), orders[i],
				    i % 2 ? 3 : 0);
}

static void check_sums(struct store *s, size_t a, size_t b)
{
	_cleanup_filter_ struct filter *f = filter_of(filters[a].filter, filters[b].filter);
	struct job_tiles t, want = {0};
	double of_granted = 0;

	for (int i = 1; i <= JOBS; i++) {
		const struct job *j = &jobs[i];

		if (!filters[a].matches(j) || !filters[b].matches(j))
			continue;
		want.jobs++;
		want.failed += is_failed(j);
		want.running += j->running;
		want.cpu_s += (double)j->cpu / 1e6;
		want.core_s += j->core >= 0 ? (double)j->core / 1e6 : 0;
		of_granted += j->core >= 0 ? (double)j->cpu / 1e6 : 0;
		want.energy_jobs += j->energy >= 0;
		want.energy_j += j->energy >= 0 ? (double)j->energy / 1e3 : 0;
	}
	good(s, job_list_tiles(s, f, &t));
	if (t.jobs != want.jobs || t.failed != want.failed || t.running != want.running ||
	    t.energy_jobs != want.energy_jobs || fabs(t.cpu_s - want.cpu_s) > 1e-3)
		fail_msg("%s and %s: %lld jobs, %lld failed, %lld run; %lld, %lld, %lld are right",
			 filters[a].filter, filters[b].filter, (long long)t.jobs,
			 (long long)t.failed, (long long)t.running, (long long)want.jobs,
			 (long long)want.failed, (long long)want.running);
	if (want.core_s > 0)
		assert_true(fabs(t.efficiency - of_granted / want.core_s) < 1e-9);
	else
		assert_true(isnan(t.efficiency));
	if (want.energy_jobs)
		assert_true(fabs(t.energy_j - want.energy_j) < 1e-3);
	else
		assert_true(isnan(t.energy_j));
}

static void test_sums(void **state)
{
	for (size_t a = 0; a < ARRAY_SIZE(filters); a++)
		for (size_t b = a; b < ARRAY_SIZE(filters); b++)
			check_sums(*state, a, b);
}

static void test_all_jobs(void **state)
{
	_cleanup_job_page_ struct job_page p = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct job_list_query q = {.limit = 5};
	struct job_tiles t;

	good(*state, job_list_page(*state, &q, &p, &why));
	assert_int_equal(p.count, 5);
	assert_non_null(p.next);
	good(*state, job_list_tiles(*state, NULL, &t));
	assert_int_equal(t.jobs, JOBS);
}

/* ---- cursors -------------------------------------------------------------------------------- */

static int page_after(struct store *s, const char *filter, const char *order, const char *after,
		      struct job_page *p)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_filter_ struct filter *f = filter_of(filter, "");
	const struct job_list_query q = {.where = f, .order = order, .limit = 10, .after = after};
	int r = job_list_page(s, &q, p, &why);

	assert_true(r == 0 ||
		    (r == -EINVAL && strstr(why.buf, "not where a page of this list ended")));
	return r;
}

static void test_other_cursors(void **state)
{
	_cleanup_job_page_ struct job_page p = {0}, again = {0}, text = {0};

	good(*state, page_after(*state, "user = alice", "-start", NULL, &p));
	assert_int_equal(page_after(*state, "user = alice", "-start", p.next, &again), 0);
	assert_int_equal(page_after(*state, "user = bob", "-start", p.next, &again), -EINVAL);
	assert_int_equal(page_after(*state, "user = alice", "start", p.next, &again), -EINVAL);
	assert_int_equal(page_after(*state, "user = alice", "-jobname", p.next, &again), -EINVAL);
	assert_int_equal(page_after(*state, "user = alice", "-jobname", NULL, &text), 0);
	assert_int_equal(page_after(*state, "user = alice", "-start", text.next, &again), -EINVAL);
}

/* Every change of one digit, every end, and what is no cursor at all. */
static void test_hostile_cursors(void **state)
{
	static const char *const others[] = {"",
					     "0",
					     "zz",
					     "' OR 1 = 1 --",
					     "\xff\xfe",
					     "0x12",
					     "00000000000000000000000000000000000000000000"};
	_cleanup_job_page_ struct job_page p = {0}, none = {0};

	good(*state, page_after(*state, "tag.project", "-start", NULL, &p));
	for (size_t i = 0; i < strlen(p.next); i++) {
		_cleanup_free_ char *changed = xstrdup(p.next);

		changed[i] = changed[i] == '0' ? '1' : '0';
		assert_int_equal(page_after(*state, "tag.project", "-start", changed, &none),
				 -EINVAL);
		changed[i] = 0;
		assert_int_equal(page_after(*state, "tag.project", "-start", changed, &none),
				 -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(page_after(*state, "tag.project", "-start", others[i], &none),
				 -EINVAL);
	_cleanup_free_ char *huge = xmalloc(100001);
	memset(huge, 'a', 100000);
	huge[100000] = 0;
	assert_int_equal(page_after(*state, "tag.project", "-start", huge, &none), -EINVAL);
}

static void test_bad_queries(void **state)
{
	static const struct job_list_query bad[] = {{.limit = 0},
						    {.limit = JOB_LIST_LIMIT_MAX + 1},
						    {.limit = 1, .order = "nothing"},
						    {.limit = 1, .order = "-"},
						    {.limit = 1, .order = "host"}};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_job_page_ struct job_page p = {0};

		assert_int_equal(job_list_page(*state, &bad[i], &p, &why), -EINVAL);
		assert_true(why.len > 0);
	}
}

/* Values that would be SQL, if they ever became part of it. */
static void test_hostile_values(void **state)
{
	static const char *const values[] = {
		"''; DROP TABLE job; --", "x'' OR ''1''=''1", "\\\\", "%", "$1", "?"};
	static const char *const keys[] = {"user", "host", "tag.project", "tag.'a'' b'"};

	for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			_cleanup_free_ char *text = xasprintf("%s = '%s'", keys[k], values[i]);
			_cleanup_job_page_ struct job_page p = {0};

			assert_int_equal(page_after(*state, text, "-start", NULL, &p), 0);
			assert_int_equal(p.count, 0);
		}
	assert_int_equal(number(*state, "SELECT count(*) FROM job"), JOBS);
}

/* ---- changes -------------------------------------------------------------------------------- */

/* A streamed job turns out to have begun earlier: its place in all lists changes. */
static void test_start_moves(void **state)
{
	struct store *s = *state;
	static const char *const lists[] = {"user = alice", "word = 70001", "tag.run"};

	good(s, store_run(s, "UPDATE job SET start_us = $1, username = 'alice' WHERE no = 1",
			  db_int(BEGIN - SECOND)));
	assert_int_equal(number(s,
				"SELECT count(*) FROM job j JOIN job_tag g ON g.job = j.no WHERE "
				"g.start_us <> coalesce(j.start_us, 0)"),
			 0);
	assert_int_equal(number(s,
				"SELECT count(*) FROM job j JOIN job_word g ON g.job = j.no WHERE "
				"g.start_us <> coalesce(j.start_us, 0)"),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_job_page_ struct job_page p = {0};

		assert_int_equal(page_after(s, lists[i], "start", NULL, &p), 0);
		assert_int_equal(p.jobs[0], 1);
	}
}

/* A job behind those that fill() made. */
static void add_job(struct store *s, int64_t no, const char *name, const char *format, int64_t nth)
{
	good(s,
	     store_run(s,
		       "INSERT INTO job (no, jobid, jobname, username, start_us, end_us, cpu_us, "
		       "num_procs, num_threads, peak_procs, peak_threads, bytes, format, "
		       "ingested_us, nth) VALUES ($1, $2, $3, 'later', $4, $4, 0, 0, 0, 0, 0, 0, "
		       "$5, $4, $6)",
		       db_int(no), db_str(nth < 0 ? "90000" STORE_ASIDE : "90000"), db_str(name),
		       db_int(BEGIN), db_str(format), db_int(nth)));
}

static void delete_later(struct store *s)
{
	for (int64_t no = JOBS + 1; no < JOBS + 9; no++)
		good(s, store_delete_job(s, no));
}

/* Names that differ only behind what a cursor holds: each is on one page. */
static void test_long_names(void **state)
{
	static const char *const orders[] = {"jobname", "-jobname"};
	struct store *s = *state;
	static char name[100001];

	memset(name, 'x', sizeof(name) - 1);
	for (int i = 1; i <= 4; i++) {
		name[5000] = (char)('a' + i);
		add_job(s, JOBS + i, name, "papiex", i);
	}
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		_cleanup_free_ char *after = NULL;
		int64_t seen = 0;
		int pages = 0;

		for (bool more = true; more && pages < 9; pages++) {
			_cleanup_job_page_ struct job_page p = {0};
			_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
			_cleanup_filter_ struct filter *f = filter_of("user = later", "");
			const struct job_list_query q = {
				.where = f, .order = orders[i], .limit = 1, .after = after};

			good(s, job_list_page(s, &q, &p, &why));
			seen |= p.count ? 1 << (p.jobs[0] - JOBS) : 0;
			more = p.next != NULL;
			free(after);
			after = p.next;
			p.next = NULL;
		}
		assert_int_equal(pages, 4);
		assert_int_equal(seen, 0x1e);
	}
	delete_later(s);
}

/* Somebody else has deleted the job: nothing of it may come back. */
static void test_tags_of_no_job(void **state)
{
	_cleanup_value_ struct value *tags = value_new(VALUE_DICT);
	struct store *s = *state;

	value_set(tags, "project", value_str("climate"));
	assert_int_equal(store_tag(s, JOBS + 1, tags, true), -ENOENT);
	assert_non_null(strstr(store_error(s), "not in the store any more"));
	assert_int_equal(store_annotate(s, JOBS + 1, tags, false), -ENOENT);
	assert_int_equal(number(s, "SELECT (SELECT count(*) FROM job_tag WHERE job > 3000) + "
				   "(SELECT count(*) FROM job_annotation WHERE job > 3000)"),
			 0);
}

/* What a collector measured of a job counts for the job that was submitted. */
static void test_energy_of_streamed(void **state)
{
	struct store *s = *state;
	struct job_tiles t;

	add_job(s, JOBS + 1, NULL, STORE_FED, -1);
	add_job(s, JOBS + 2, "submitted", "native", 0);
	exec(s,
	     "INSERT INTO sample_metric (job, n, name, unit, kind, aggregation, scale, divisor) "
	     "VALUES (3001, 1, 'job_energy.energy', 'J', 'counter', 'sum', 1, 1000000);"
	     "INSERT INTO sample_entity (job, n, host, kind, name) VALUES (3001, 1, 'n1', 'job', "
	     "'90000');"
	     "INSERT INTO sample_series (job, metric, entity, count, first_us, last_us, minimum, "
	     "maximum, mean, increase) VALUES (3001, 1, 1, 2, 0, 1, 0, 7200000, 0, 7200000)");
	assert_int_equal(store_merge_streamed(s), 1);
	_cleanup_filter_ struct filter *f = filter_of("user = later", "");
	good(s, job_list_tiles(s, f, &t));
	assert_int_equal(t.jobs, 1);
	assert_int_equal(t.energy_jobs, 1);
	assert_true(fabs(t.energy_j - 7.2) < 1e-9);
	delete_later(s);
}

static int run(const char *where)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest_first),       cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_other_orders),       cmocka_unit_test(test_sums),
		cmocka_unit_test(test_all_jobs),           cmocka_unit_test(test_other_cursors),
		cmocka_unit_test(test_hostile_cursors),    cmocka_unit_test(test_bad_queries),
		cmocka_unit_test(test_hostile_values),     cmocka_unit_test(test_start_moves),
		cmocka_unit_test(test_long_names),         cmocka_unit_test(test_tags_of_no_job),
		cmocka_unit_test(test_energy_of_streamed),
	};

	return cmocka_run_group_tests_name(where, tests, fill, empty);
}

int main(void)
{
	return on_every_store(run);
}
