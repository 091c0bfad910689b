/* The filter language: what it selects, and what it says about errors. */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "store/filter/filter.h"
#include "store/query.h"

/* ---- a store -------------------------------------------------------------------------------- */

#define HOUR "3600000000"

/* Three jobs at 12:00, 12:10 and 13:00 UTC, the last without an end, an exit status and tags. */
static const char rows[] =
	"INSERT INTO job (no, jobid, jobname, username, start_us, end_us, duration_us, cpu_us, "
	"exitcode, num_procs, num_threads, peak_procs, peak_threads, bytes, format, ingested_us, "
	"cluster) VALUES "
	"(1, 'a1', 'weather', 'alice', 1599998400000000, 1599999000000000, 600000000, 5000000, 0, 3, "
	"3, 1, 1, 0, 'x', 1, 'c1'),"
	"(2, 'a2', 'cli%mate', 'bob', 1599999000000000, 1600002600000000, " HOUR
	", 7000000, 3, 1, 1, 1, 1, 0, 'x', 2, ''),"
	"(3, 'b_3', 'Weather', 'it''s', 1600002000000000, NULL, NULL, 9000000, NULL, 0, 0, 0, 0, 0, "
	"'x', 3, '');"
	"INSERT INTO job_tag (job, key, value) VALUES (1, 'exp', 'a'), (1, 'run', '1'), (2, 'exp', 'b'), (2, 'a.b c', "
	"'x;y:z');"
	"INSERT INTO job_host (job, host, num_procs) VALUES (1, 'n1', 2), (1, 'n2', 1), (2, 'n10', 1);"
	"INSERT INTO job_word VALUES (1, 'a1', 0), (1, 'weather', 0), (2, 'a2', 0), (2, 'cli', 0), (2, "
	"'mate', 0), (3, 'b', 0), (3, '3', 0), (3, 'weather', 0);"
	"INSERT INTO job_annotation VALUES (1, 'note', '\"first\"'), (1, 'n', '3'), (2, 'n', '\"3\"');"
	"INSERT INTO job_analysis VALUES (2, 'x', '{\"a\":1}');"
	"INSERT INTO job_sum VALUES (1, 'rssmax', 5000, 2048), (2, 'rssmax', 9000, 4097), (1, "
	"'usertime', 4000000, 3000000), (1, 'CYCLES', 77, 70);";

/* Processes of job 1: 1 (2 (3), 4); strings are numbered in the order of this list. */
static const char *const strings[] = {
	"sh", "sed",      "Make", "op:cut;n:1", " n : 2 ; op:cut;", "op",
	"",   "-e s/a/b", "n1",   "n2",         "op:copy;op_:cut",
};
static const char processes[] =
	"INSERT INTO process (id, exename, args, host, tags, state, pid, ppid, start, duration, "
	"usertime, systemtime, rssmax, exitcode, time_oncpu) VALUES "
	"(4294967297, 1, NULL, 9, NULL, 0, 100, 1, 1599998400000000, 600000000, 10, 5, 2048, 0, 7),"
	"(4294967298, 2, 8, 9, 4, 0, 101, 100, 1599998401000000, 2000000, 20, 5, 1, 1, 1500),"
	"(4294967299, 3, 7, 10, 5, 256, 102, 101, 1599998402000000, 1000, 30, 5, NULL, 0, NULL),"
	"(4294967300, 2, 8, 9, 6, 0, 103, 100, 1599998404000000, NULL, 40, 5, 3, 0, 9);"
	"INSERT INTO tree (id, parent, first, last, depth, children, inclusive_cpu) VALUES "
	"(4294967297, NULL, 1, 4, 0, 2, 120), (4294967298, 1, 2, 3, 1, 1, 60), (4294967299, 2, 3, 3, "
	"2, 0, 35), (4294967300, 1, 4, 4, 1, 0, 45);";

static int open_store_with_rows(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;

	setenv("TZ", "UTC", 1);
	assert_int_equal(store_open(&s, ":memory:", STORE_WRITE, &why), 0);
	assert_int_equal(store_exec(s, rows), 0);
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		assert_int_equal(store_run(s, "INSERT INTO string (id, bytes) VALUES ($1, $2)",
					   db_int(store_key(1, (uint32_t)i + 1)),
					   db_bytes(strings[i], strlen(strings[i]))),
				 0);
	assert_int_equal(store_exec(s, processes), 0);
	assert_int_equal(store_exec(s, "INSERT INTO event VALUES (4294967298, 0, 6, 42, NULL)"), 0);
	*state = s;
	return 0;
}

static int close_store(void **state)
{
	store_close(*state);
	return 0;
}

/* ---- what it selects ------------------------------------------------------------------------ */

/* The numbers of jobs or the pids of processes, separated by blanks. */
static void select_with(struct store *s, struct filter *f, struct strbuf *out)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	bool procs = f->scope == FILTER_PROCESSES;
	int r;

	sql_put(&q,
		procs ? "SELECT p.pid FROM process p WHERE p.id >> 32 = ? AND "
		      : "SELECT j.no FROM job j WHERE j.no >= ? AND ",
		db_int(1));
	if (procs)
		filter_add_processes(&q, f, s->engine);
	else
		filter_add_jobs(&q, f, s->engine);
	sql_add(&q, procs ? " ORDER BY p.id" : " ORDER BY j.no");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1)
		strbuf_addf(out, "%s%lld", out->len ? " " : "", (long long)stmt_get_int(st, 0));
	if (r < 0)
		fail_msg("%s: %s", store_error(s), q.text.buf);
}

struct example {
	const char *text, *selects;
};

static void check_all(struct store *s, enum filter_scope scope, const struct example *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;
		_cleanup_filter_ struct filter *f = filter_new(scope);

		if (filter_parse(f, e[i].text, &why) < 0)
			fail_msg("%s: %s", e[i].text, why.buf);
		select_with(s, f, &got);
		if (strcmp(got.buf, e[i].selects) != 0)
			fail_msg("%s: selects '%s', not '%s'", e[i].text, got.buf, e[i].selects);
	}
}

static void jobs(void **state)
{
	static const struct example all[] = {
		{"", "1 2 3"},
		{"  ", "1 2 3"},
		/* words and status */
		{"word = weather", "1 3"},
		{"word = WEA", "1 3"},
		{"word = eather", ""},
		{"word = 'mate-cli'", "2"},
		{"word = mate, b_3", "2 3"},
		{"word = 'a weather'", "1"},
		{"word != weather", "2"},
		{"not word = cli", "1 3"},
		{"word", "1 2 3"},
		{"status = completed", "1"},
		{"status = failed", "2"},
		{"status = unknown", "3"},
		{"status = running", ""},
		{"status = failed, unknown", "2 3"},
		{"status != failed", "1 3"},
		{"not status = completed", "2 3"},
		{"status", "1 2"},
		/* texts */
		{"jobid = a1", "1"},
		{"jobid = a1, b_3", "1 3"},
		{"jobid=a1,b_3", "1 3"},
		{"jobid != a1", "2 3"},
		{"jobid ~ a?", "1 2"},
		{"jobid ~ 3", "3"},
		{"jobid ~ _", "3"},
		{"jobid ~ *1, *2", "1 2"},
		{"jobid !~ a*", "3"},
		{"jobname ~ weather", "1"},
		{"jobname ~ ?eather", "1 3"},
		{"jobname ~ %", "2"},
		{"jobname ~ li\\%m", ""},
		{"jobname ~ *li\\%m*", "2"},
		{"jobname = 'cli%mate'", "2"},
		{"user = 'it''s'", "3"},
		{"user = \"it's\"", "3"},
		{"user = '; DROP TABLE job; --'", ""},
		{"user ~ '[a-z]*'", ""},
		{"cluster", "1"},
		{"not cluster = c1", "2 3"},
		{"cluster != c1", ""},
		/* numbers, durations, sizes */
		{"duration > 10m", "2"},
		{"duration >= 10m", "1 2"},
		{"duration = 600", "1"},
		{"duration != 600", "2"},
		{"not duration = 600", "2 3"},
		{"duration = 0.0000001", ""},
		{"duration < 1h and cpu_time >= 5s", "1"},
		{"exitcode = 0, 3", "1 2"},
		{"exitcode != 0", "2"},
		{"not exitcode = 0", "2 3"},
		{"exitcode", "1 2"},
		{"not exitcode", "3"},
		{"rssmax > 2M", "2"},
		{"rssmax >= 2M", "1 2"},
		{"rssmax > 2097151", "1 2"},
		{"rssmax = 2097153", ""},
		{"rssmax != 2097153", "1 2"},
		{"rssmax < 2097153", "1"},
		{"sum.rssmax > 6000K", "2"},
		{"max.usertime = 3s", "1"},
		{"usertime > 3s", "1"},
		{"sum.CYCLES = 77", "1"},
		{"num_procs >= 1", "1 2"},
		/* times */
		{"when = '2020-09-13 12:05'", "1"},
		{"when = '2020-09-13 12:10'", "1 2"},
		{"when = 2020-09-13T12:55..2020-09-13T12:56", "2"},
		{"when = 2020-09-13T12:00..2020-09-13T14:00", "1 2 3"},
		{"when = 2020-09-13T13:30", "3"},
		{"after = '09/13/2020 12:10'", "2 3"},
		{"before = 1599999000", "1"},
		{"start > 1599999000", "3"},
		{"end <= now", "1 2"},
		{"overlaps(jobid = a1)", "1 2"},
		{"overlaps(jobid = b_3)", "2 3"},
		{"not overlaps(jobid = b_3)", "1"},
		/* tags, hosts, notes */
		{"tag.exp = a", "1"},
		{"tag.exp = a, b", "1 2"},
		{"tag.exp != a", "2"},
		{"not tag.exp = a", "2 3"},
		{"tag.exp ~ ?", "1 2"},
		{"tag.exp", "1 2"},
		{"tag.'a.b c' = 'x;y:z'", "2"},
		{"tag.'a.b c' ~ y:", "2"},
		{"tags", "1 2"},
		{"tags = ''", "3"},
		{"tags != ''", "1 2"},
		{"tags = 'run:1;exp:a'", "1"},
		{"tags = 'exp:a'", ""},
		{"tags >= 'exp:a'", "1"},
		{"tags = '', 'run:1;exp:a'", "1 3"},
		{"host = n1", "1"},
		{"host = n2, n10", "1 2"},
		{"host ~ n1*", "1 2"},
		{"host != n1", "2 3"},
		{"host", "1 2"},
		{"annotation.note = first", "1"},
		{"annotation.n = 3", "1 2"},
		{"annotation.note ~ f*t", "1"},
		{"annotation.n != 3", ""},
		{"annotations = ''", "3"},
		{"analyses", "2"},
		{"analysis.x ~ '*\"a\":1*'", "2"},
		/* combinations */
		{"jobid = a1 or jobid = a2 and user = alice", "1"},
		{"(jobid = a1 or jobid = a2) and not user = alice", "2"},
		{"NOT (exitcode = 0 OR user = bob)", "3"},
		{"not not exitcode = 0", "1"},
		{"process(exename = sed and exitcode = 1)", "1"},
		{"process(job(jobid = a2))", ""},
		{"not process(exename ~ *)", "2 3"},
		{"process(tag.op = cut)", "1"},
	};

	check_all(*state, FILTER_JOBS, all, ARRAY_SIZE(all));
}

static void processes_of_a_job(void **state)
{
	static const struct example all[] = {
		{"", "100 101 102 103"},
		{"exename = sed", "101 103"},
		{"exename != sed", "100 102"},
		{"exename ~ m*", ""},
		{"exename ~ M*, s?", "100 102"},
		{"args = ''", "100 102"},
		{"args ~ s/a", "101 103"},
		{"hostname = n2", "102"},
		{"pid = 101, 102", "101 102"},
		{"duration < 1ms or duration > 1m", "100"},
		{"not duration", "103"},
		{"cpu_time >= 35us", "102 103"},
		{"time_oncpu > 1us", "101"},
		{"time_oncpu = 1.5us", "101"},
		{"rssmax >= 2M", "100"},
		{"exitcode != 0", "101"},
		{"forked = 1", "102"},
		{"depth = 1", "101 103"},
		{"descendants > 0", "100 101"},
		{"inclusive_cpu_time > 50us", "100 101"},
		{"when = 2020-09-13T12:00:01.5", "100 101"},
		{"after = 2020-09-13T12:00:02", "102 103"},
		{"before = 2020-09-13T12:00:03", "101 102"},
		{"event.op = 42", "101"},
		/* tags, whatever their order and blanks */
		{"tag.op = cut", "101 102"},
		{"tag.op != cut", "103"},
		{"tag.op = 1", "103"},
		{"tag.op", "101 102 103"},
		{"tag.n ~ ?", "101 102"},
		{"tag.o = p", ""},
		{"tags = 'n:2;op:cut'", "102"},
		{"tags = 'op:cut'", ""},
		{"tags >= 'op:cut'", "101 102"},
		{"tags = ''", "100"},
		{"tags != ''", "101 102 103"},
		{"tags", "101 102 103"},
		{"not tags", "100"},
		/* relatives */
		{"parent(pid = 100)", "101 103"},
		{"child(pid = 102)", "101"},
		{"ancestor(pid = 100)", "101 102 103"},
		{"ancestor(exename = sed)", "102"},
		{"descendant(pid = 102)", "100 101"},
		{"descendant(exename = sed)", "100"},
		{"not ancestor(exename)", "100"},
		{"parent(parent(pid = 100))", "102"},
		/* the job */
		{"jobid = a1 and exename = sh", "100"},
		{"jobid = a2", ""},
		{"user ~ a*", "100 101 102 103"},
		{"job(duration > 5m)", "100 101 102 103"},
		{"job(host = n10)", ""},
		{"job(process(exename = sh))", "100 101 102 103"},
	};

	check_all(*state, FILTER_PROCESSES, all, ARRAY_SIZE(all));
}

/* ---- errors --------------------------------------------------------------------------------- */

static void errors(void **state)
{
	static const struct example all[] = {
		{"foo = 1", "col 1: unknown key 'foo'; `plimsoll query --keys` lists the keys"},
		{"user = x and durration > 1",
		 "col 14: unknown key 'durration'; did you mean 'duration'?"},
		{"memory > 1", "col 1: unknown key 'memory'; did you mean 'rssmax'?"},
		{"tag = 1", "col 1: unknown key 'tag'; did you mean 'tag.NAME'?"},
		{"tag. = 1", "col 1: 'tag.' needs a name: tag.NAME"},
		{"user = \xc3\xa9 and foo", "col 14: unknown key 'foo'; "},
		{"word = '-'", "col 8: expected words of letters and digits, not '-'"},
		{"word ~ a", "col 6: 'word' does not take ~; it takes = !="},
		{"status = done",
		 "col 10: expected completed, failed, running or unknown, not 'done'"},
		{"state = failed", "col 1: unknown key 'state'; did you mean 'status'?"},
		{"user <", "col 6: 'user' does not take <; it takes = != ~ !~"},
		{"duration > soon", "col 12: expected a duration such as 90s"},
		{"rssmax > -1", "col 10: expected a size such as"},
		{"exitcode = 1.5", "col 12: expected a whole number, not '1.5'"},
		{"exitcode = 99999999999999999999", "col 12: expected a whole number"},
		{"when = yesterday", "col 8: expected a time such as"},
		{"when = now..-1d", "col 8: the period 'now..-1d' ends before it begins"},
		{"when", "col 1: 'when' needs a time: when = TIME"},
		{"when = 2020-09-13 12:00",
		 "col 19: expected and, or, or the end before '12:00'; quote a value"},
		{"start = 2020-09-13", "col 7: 'start' does not take ="},
		{"duration > 1h, 2h", "col 10: only =, !=, ~ and !~ take several values"},
		{"tags = 'a:b:c'", "col 8: expected tags as 'KEY:VALUE;KEY:VALUE'"},
		{"annotations = x", "col 15: expected ''"},
		{"user = 'x", "col 8: this quote does not end; add a '"},
		{"user = ", "col 8: expected a value, not the end"},
		{"user = ,", "col 8: expected a value, not ','"},
		{"(user = x", "col 1: this parenthesis does not end; add a )"},
		{"user = x)", "col 9: expected and, or, or the end, not ')'"},
		{"()", "col 2: expected a condition such as duration > 1h, not ')'"},
		{"user = x and", "col 13: expected a condition such as duration > 1h, not the end"},
		{"= x", "col 1: expected a condition"},
		{"user ! x", "col 6: unexpected '!'; operators are"},
		{"user = \xff", "col 8: the value is not valid UTF-8"},
		{"tag.'\xff' = 1", "col 1: the name is not valid UTF-8"},
		{"ancestor(pid = 1)", "col 1: ancestor(...) is for filters of processes (--procs)"},
		{"process(parent(pid = 1))",
		 "col 9: parent(...) cannot be used inside process(...)"},
		{"sibling(pid = 1)",
		 "col 1: unknown relation 'sibling' before (; known ones: process"},
		{"jobid ~ *1*2*3*4*5*6*7*8*9*0*1*2*3*4*5*6*7",
		 "col 9: a pattern has at most 1000 bytes and 16 wildcards *"},
		{"overlaps(overlaps(overlaps(user = x)))", "col 19: too many levels of relations"},
		{"((((((((((((user))))))))))))", "col 12: too many levels of relations"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_filter_ struct filter *f = filter_new(FILTER_JOBS);

		assert_int_equal(filter_parse(f, all[i].text, &why), -EINVAL);
		if (!str_prefix(why.buf, all[i].selects))
			fail_msg("%s: %s", all[i].text, why.buf);
		assert_true(filter_is_empty(f));
	}
}

/* A text with many copies of a piece. */
static int parse_many(const char *piece, size_t n, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_filter_ struct filter *f = filter_new(FILTER_JOBS);

	strbuf_addstr(&text, "jobid = a1");
	for (size_t i = 0; i < n; i++)
		strbuf_addstr(&text, piece);
	return filter_parse(f, text.buf, why);
}

static void limits(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	(void)state;
	assert_int_equal(parse_many(" or user", FILTER_TESTS_MAX - 1, &why), 0);
	assert_int_equal(parse_many(" or user", FILTER_TESTS_MAX, &why), -EINVAL);
	assert_string_equal(why.buf, "col 1607: more than 200 conditions");
	strbuf_reset(&why);
	assert_int_equal(parse_many(",x", FILTER_VALUES_MAX - 1, &why), 0);
	assert_int_equal(parse_many(",x", FILTER_VALUES_MAX, &why), -EINVAL);
	assert_string_equal(why.buf, "col 2010: more than 1000 values");
	strbuf_reset(&why);
	assert_int_equal(parse_many("x", FILTER_BYTES_MAX, &why), -EINVAL);
	assert_string_equal(why.buf, "the filter is longer than 65536 bytes");
}

/* The largest filters are statements that the engine takes. */
static void largest(void **state)
{
	static const struct {
		const char *piece, *end;
		size_t count;
	} all[] = {
		{"(tags and ", ")", 10},
		{"not (tags and ", ")", 6},
		{"not not not (tags or ", ")", 3},
		{"ancestor(tags != 'a:1;b:2' or ", ")", 2},
		{"descendant(tags != 'a:1;b:2' or ", ")", 2},
		{"parent(tag.a !~ b, c and ", ")", 2},
		{"job(process(tags != 'a:1;b:2' or ", "))", 1},
		{"tag.a ~ b or ", "", FILTER_TESTS_MAX - 2},
		{"not tags = 'a:1;b:2;c:3' and ", "", FILTER_TESTS_MAX - 2},
	};
	static const char *const innermost[] = {"not tags != 'a:1;b:2'", "not word != 'a b', c",
						"not status != running, unknown"};

	for (size_t n = 0; n < ARRAY_SIZE(all) * ARRAY_SIZE(innermost); n++) {
		const size_t i = n / ARRAY_SIZE(innermost);
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT,
					       got = STRBUF_INIT;
		_cleanup_filter_ struct filter *f = filter_new(FILTER_PROCESSES);

		for (size_t k = 0; k < all[i].count; k++)
			strbuf_addstr(&text, all[i].piece);
		strbuf_addstr(&text, innermost[n % ARRAY_SIZE(innermost)]);
		for (size_t k = 0; k < all[i].count; k++)
			strbuf_addstr(&text, all[i].end);
		if (filter_parse(f, text.buf, &why) < 0)
			fail_msg("%s: %s", text.buf, why.buf);
		select_with(*state, f, &got);
	}
}

/* ---- conditions that code adds -------------------------------------------------------------- */

static void by_code(void **state)
{
	static const char *const users[] = {"alice", "bob", "'"};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;
	_cleanup_filter_ struct filter *f = filter_new(FILTER_JOBS);

	assert_true(filter_is_empty(f) && filter_is_empty(NULL));
	assert_int_equal(filter_require(f, "user", FILTER_IS, users, 3, &why), 0);
	struct filter_node *outer = filter_begin(f, FILTER_ANY_OF);
	filter_require_number(f, "duration", FILTER_ABOVE, 600000000);
	filter_require_period(f, 1599998400000000, 1599998400000000);
	filter_end(f, outer);
	outer = filter_begin(f, FILTER_NOT);
	filter_require_number(f, "exitcode", FILTER_IS, 3);
	filter_end(f, outer);
	assert_int_equal(filter_parse(f, "tag.exp = a", &why), 0);
	select_with(*state, f, &got);
	assert_string_equal(got.buf, "1");
	assert_int_equal(filter_require(f, "nothing", FILTER_IS, users, 1, &why), -EINVAL);
	assert_string_equal(why.buf,
			    "unknown key 'nothing'; `plimsoll query --keys` lists the keys");
}

static void every_key_has_a_statement(void **state)
{
	static const char *const values[] = {
		[FILTER_NUMBER] = "= 1",     [FILTER_DURATION] = "> 1s",
		[FILTER_SIZE] = "> 1K",      [FILTER_TIME] = "< now",
		[FILTER_TEXT] = "~ a",       [FILTER_PERIOD] = "= now",
		[FILTER_EARLIEST] = "= now", [FILTER_LATEST] = "= now",
		[FILTER_HOSTS] = "!~ a",     [FILTER_STRING] = "!= a",
		[FILTER_TAG] = "!~ a",       [FILTER_TAG_SET] = "!= 'a:1'",
		[FILTER_NOTE] = "!~ a",      [FILTER_NOTES] = "= ''",
		[FILTER_WORDS] = "!= a",     [FILTER_STATUS] = "!= failed",
	};
	struct filter_key k;
	size_t count = 0;

	for (enum filter_scope scope = FILTER_JOBS; scope <= FILTER_PROCESSES; scope++)
		for (size_t i = 0; filter_key_at(scope, i, &k); i++, count++) {
			_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, got = STRBUF_INIT;
			_cleanup_filter_ struct filter *f = filter_new(scope);
			_cleanup_free_ char *text =
				xasprintf("%s%s %s", k.name, str_suffix(k.name, ".") ? "x" : "",
					  values[k.type]);

			if (filter_parse(f, text, &why) < 0)
				fail_msg("%s: %s", text, why.buf);
			select_with(*state, f, &got);
			assert_true(strlen(k.help) > 5);
		}
	assert_in_range(count, 100, 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs),
		cmocka_unit_test(processes_of_a_job),
		cmocka_unit_test(errors),
		cmocka_unit_test(limits),
		cmocka_unit_test(largest),
		cmocka_unit_test(by_code),
		cmocka_unit_test(every_key_has_a_statement),
	};

	return cmocka_run_group_tests(tests, open_store_with_rows, close_store);
}
