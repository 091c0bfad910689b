/* The page of a report: its structure, that texts stay texts, how large it may become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <errno.h>
#include <time.h>

#include "core/text/text.h"
#include "core/value.h"
#include "report/html/html_text.h"
#include "report_page.h"

static const char *const kinds[] = {"full", "hostile", "records", "series",
				    "one",  "nothing", "many"};

/* Not inlined: gcc 12 takes what open_memstream() wrote into text for a pointer to text. */
static __attribute__((noinline)) char *page_of(struct report_maker *m, size_t *ret_size)
{
	char *text = NULL;
	FILE *f = open_memstream(&text, ret_size);

	assert_non_null(f);
	assert_int_equal(report_html(&m->r, f), 0);
	assert_int_equal(fclose(f), 0);
	report_release(&m->r);
	return text;
}

static char *page_of_kind(const char *kind, size_t *ret_size)
{
	struct report_maker m;

	maker_make(&m, kind);
	return page_of(&m, ret_size);
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

/* ---- structure ------------------------------------------------------------------------------ */

static bool is_void(const char *name, size_t n)
{
	return n == 4 && !memcmp(name, "meta", 4);
}

/* Every element that begins ends, in the right order, and no attribute is twice or unquoted. */
static void assert_balanced(const char *text)
{
	struct {
		const char *name;
		size_t n;
	} open[64];
	size_t depth = 0, elements = 0;

	for (const char *p = text; (p = strchr(p, '<'));) {
		if (p[1] == '!') {
			p++;
			continue;
		}
		bool end = p[1] == '/';
		const char *name = p + 1 + end;
		size_t n = 0;
		while (isalnum((unsigned char)name[n]))
			n++;
		assert_true(n > 0);
		const char *q = name + n;
		while (*q && *q != '>') { /* attributes are name="value" */
			if (*q == '"')
				q = strchr(q + 1, '"');
			assert_non_null(q);
			q++;
		}
		assert_int_equal(*q, '>');
		p = q + 1;
		elements++;
		if (q[-1] == '/' || is_void(name, n))
			continue;
		if (!end) {
			assert_true(depth < ARRAY_SIZE(open));
			open[depth].name = name;
			open[depth++].n = n;
			if ((n == 6 && !memcmp(name, "script", n)) ||
			    (n == 5 && !memcmp(name, "style", n)))
				p = strstr(p, n == 6 ? "</script" : "</style");
			continue;
		}
		assert_true(depth > 0);
		depth--;
		if (open[depth].n != n || memcmp(open[depth].name, name, n) != 0)
			fail_msg("'%.*s' is ended by '%.*s'", 40, open[depth].name, 40, name);
	}
	assert_int_equal(depth, 0);
	assert_true(elements > 30);
}

/* Paths have no "nan" and no "inf" in them. */
static void assert_paths(const char *text)
{
	for (const char *p = text; (p = strstr(p, " d=\""));) {
		p += 4;
		size_t n = strspn(p, "MLHVhvlz0123456789.- ");
		if (p[n] != '"')
			fail_msg("a path: %.40s", p + n);
	}
}

static void every_page_is_well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t size;
		_cleanup_free_ char *text = page_of_kind(kinds[i], &size);

		assert_int_equal(strlen(text), size);
		assert_true(utf8_valid(text, size));
		assert_balanced(text);
		assert_paths(text);
		assert_int_equal(count_of(text, "<script"), 9);
		assert_int_equal(count_of(text, "</script"), 9);
		assert_true(str_prefix(text, "<!DOCTYPE html>\n"));
		assert_true(str_suffix(text, "</html>\n"));
		/* nothing that a browser would fetch; hostile texts speak of it */
		if (!strcmp(kinds[i], "hostile"))
			continue;
		assert_null(strstr(text, " src="));
		assert_null(strstr(text, "@import"));
		assert_null(strstr(text, "url("));
		assert_int_equal(count_of(text, "http"), 2); /* a name of SVG and http-equiv */
	}
}

static void sections_are_in_order(void **state)
{
	static const char *const order[] = {
		"verdict",   "figures",    "accounting",  "series",     "concurrency", "tree",
		"processes", "operations", "executables", "hosts",      "ranks",       "gpu",
		"energy",    "hardware",   "metadata",    "unmeasured", "about"};
	size_t size;
	_cleanup_free_ char *text = page_of_kind("full", &size);
	const char *at = text;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		_cleanup_free_ char *section = xasprintf("<section id=\"%s\">", order[i]);
		_cleanup_free_ char *link = xasprintf("<a href=\"#%s\">", order[i]);

		at = strstr(at, section);
		if (!at)
			fail_msg("%s is not where it should be", order[i]);
		assert_int_equal(count_of(text, section), 1);
		assert_int_equal(count_of(text, link), 1);
	}
	assert_int_equal(count_of(text, "<section "), ARRAY_SIZE(order));
}

static void figures_are_those_of_the_job(void **state)
{
	size_t size;
	_cleanup_free_ char *text = page_of_kind("full", &size);

	(void)state;
	assert_non_null(strstr(text, "<dt>Duration</dt><dd>10 min 00 s</dd>"));
	assert_non_null(strstr(text, "<dt>CPU time</dt><dd>12 min 10 s</dd>"));
	assert_non_null(strstr(text, "15.2 % of 8 cores"));
	assert_non_null(strstr(text, "<dt>Largest process</dt><dd>3 GiB</dd>"));
	assert_non_null(strstr(text, "<span class=\"bad\">3</span>"));
	assert_non_null(strstr(text, "<b>Accounted 95.89 % of CPU time</b>: 11 min 40 s of "
				     "12 min 10 s belong to known processes, 30 s are missing."));
	assert_non_null(strstr(text, "<span class=\"weight\">severe</span> The job ended"));
	assert_non_null(strstr(text, "data-v=\"54000\">54 kJ</td><td class=\"n\" "
				     "data-v=\"54000\">15 Wh</td>"));
	assert_non_null(strstr(text, ">5.7 g</td>"));
	assert_non_null(strstr(text, "<dt>memory</dt><dd>23.5 GiB</dd>"));
	/* the axis of 4 CPUs, the mean and the largest value beside it */
	assert_non_null(strstr(text, "mean 2 CPUs, maximum 4 CPUs"));
	assert_non_null(strstr(text, "y=\"0.0\">4 CPUs</text>"));
}

static void what_is_not_there_is_said_or_left_out(void **state)
{
	size_t size;
	_cleanup_free_ char *nothing = page_of_kind("nothing", &size);
	_cleanup_free_ char *records = page_of_kind("records", &size);
	_cleanup_free_ char *curves = page_of_kind("series", &size);

	(void)state;
	assert_non_null(strstr(nothing, "This job was not sampled"));
	assert_non_null(strstr(nothing, "There are no records of processes"));
	assert_null(strstr(nothing, "<section id=\"hosts\">"));
	assert_non_null(strstr(nothing, "<dt>Exit status</dt><dd>unknown</dd>"));
	assert_non_null(strstr(records, "This job was not sampled"));
	assert_null(strstr(records, "<section id=\"gpu\">"));
	assert_non_null(strstr(records, "<div id=\"flame\""));
	assert_null(strstr(curves, "<div id=\"flame\""));
	assert_non_null(strstr(curves, "<section id=\"gpu\">"));
}

static void a_job_that_still_runs(void **state)
{
	struct report_maker m;
	size_t size;

	(void)state;
	maker_make(&m, "full");
	m.r.running = true;
	m.r.show.list.rows[0].end = m.r.show.list.rows[0].exitcode = UNKNOWN;
	_cleanup_free_ char *text = page_of(&m, &size);
	assert_non_null(strstr(text, "This job is still running"));
	assert_non_null(strstr(text, "<dt>Exit status</dt><dd>running</dd>"));
	assert_null(strstr(text, ":20 to ")); /* no end */
	assert_balanced(text);
}

/* ---- data ----------------------------------------------------------------------------------- */

static void data_are_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		size_t size;
		_cleanup_free_ char *text = page_of_kind(kinds[i], &size);
		_cleanup_value_ struct value *v = NULL;
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		const char *from = strchr(strstr(text, "id=\"report-data\""), '>') + 1;
		const char *to = strstr(from, "</script>");

		assert_int_equal(value_from_json(from, (size_t)(to - from), &v, &why), 0);
		assert_non_null(value_get(v, "executables"));
		assert_null(memchr(from, '<', (size_t)(to - from)));
	}
}

static void the_zone_is_told_with_its_change(void **state)
{
	struct report_maker m;
	size_t size;
	_cleanup_free_ char *before = getenv("TZ") ? xstrdup(getenv("TZ")) : NULL;

	(void)state;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	maker_make(&m, "one");
	m.r.show.list.rows[0].start = INT64_C(1711839600000000); /* 2024-03-31 00:00 in summer */
	m.r.show.list.rows[0].end = INT64_C(1711854000000000);
	m.r.bar_count = 0;
	m.r.timeline.count = 0;
	_cleanup_free_ char *text = page_of(&m, &size);
	assert_non_null(strstr(text, "data-zone=\"3600,1711846800000000,7200\""));
	if (before)
		setenv("TZ", before, 1);
	else
		unsetenv("TZ");
	tzset();
}

/* ---- hostile texts -------------------------------------------------------------------------- */

static void texts_stay_texts(void **state)
{
	size_t size;
	_cleanup_free_ char *text = page_of_kind("hostile", &size);

	(void)state;
	assert_null(strstr(text, "<script>hurt"));
	assert_null(strstr(text, "<img"));
	assert_null(strstr(text, "<!--"));
	for (size_t i = 0; i < size; i++)
		assert_true((unsigned char)text[i] >= 0x20 || text[i] == '\n' || text[i] == '\t');
	/* shown, each of the fields: the marks of what is invisible with them */
	assert_true(count_of(text, "&lt;script&gt;hurt()&lt;/script&gt;&lt;!--") > 60);
	assert_true(count_of(text, "&quot;&#39;&amp;\\x01\\x1b[31m\\xff\\xfe\\u202egpj.exe") > 40);
	const char *data = strstr(text, "id=\"report-data\"");
	const char *mark = strstr(text, "\u202e"); /* in the data it can do nothing */
	assert_true(!mark || mark > data);
}

static void a_text_of_ten_megabytes(void **state)
{
	struct report_maker m;
	size_t size;
	char *huge = xmalloc(10 << 20);

	(void)state;
	memset(huge, 'x', 10 << 20);
	huge[(10 << 20) - 1] = '\0';
	maker_make(&m, "records");
	free(m.r.executables.list[0].name);
	m.r.executables.list[0].name = huge;
	/* its data have it whole; what is shown has its beginning */
	_cleanup_free_ char *text = page_of(&m, &size);
	assert_true(strstr(text, "</main>") - strstr(text, "<main>") < 200000);
	assert_non_null(strstr(text, "xxx\u2026 (10485459 more bytes)"));
}

static void small_pieces(void **state)
{
	_cleanup_strbuf_ struct strbuf b = STRBUF_INIT;

	(void)state;
	html_str(&b, "a<b>&\"'\x7f\xc2\x85\xe2\x80\x8b\xc3\xa9\xed\xa0\x80");
	assert_string_equal(b.buf,
			    "a&lt;b&gt;&amp;&quot;&#39;\\x7f\\u0085\\u200b\u00e9\\xed\\xa0\\x80");
	strbuf_reset(&b);
	html_str(&b, NULL);
	assert_int_equal(b.len, 0);
	html_cut(&b, "ab\u00e9\u00e9cd", 8, 5); /* not inside of a character */
	assert_string_equal(b.buf, "ab\u00e9\u2026 (4 more bytes)");
	strbuf_reset(&b);
	html_sentence(&b, "use `a<b` and ` alone");
	assert_string_equal(b.buf, "Use <code>a&lt;b</code> and ` alone");
	strbuf_reset(&b);
	html_json(&b, "[\"</script><!--\"]", 17);
	assert_string_equal(b.buf, "[\"\\u003c/script>\\u003c!--\"]");
}

/* ---- size and faults ------------------------------------------------------------------------ */

/* A report as large as report_load() lets it become, without curves. */
static void the_largest_report_is_below_a_megabyte(void **state)
{
	struct report_maker m;
	size_t size;

	(void)state;
	maker_make(&m, "records");
	for (int i = 0; m.r.executables.count < REPORT_GROUPS_MAX; i++) {
		_cleanup_free_ char *name = xasprintf("/usr/lib/programs/program-%d", i);
		_cleanup_free_ char *tags = xasprintf("op:operation-%d;op_instance:%d", i, i);

		maker_group(&m, &m.r.executables, name, NULL, 1000 + i);
		maker_group(&m, &m.r.operations, tags, NULL, 1000 + i);
	}
	for (uint32_t i = 0; m.r.flame_count < REPORT_FLAME_MAX; i++)
		maker_node(&m, i % 500, m.r.executables.list[i % 200].name, 1 + i, 1 + i % 300);
	for (uint32_t i = 0; m.r.bar_count < REPORT_BARS_MAX; i++)
		maker_bar(&m, m.r.executables.list[i % 200].name, m.r.operations.list[i % 200].name,
			  i % 40, PAGE_SPAN / 3000 * i, PAGE_SPAN / 3000 * (i + 5), 1 + i % 7);
	_cleanup_free_ char *text = page_of(&m, &size);
	assert_balanced(text);
	assert_paths(text);
	print_message("%zu bytes\n", size);
	assert_true(size <= 1 << 20);
	assert_true(size > 300000); /* all of it is there */
}

static void a_full_disk(void **state)
{
	struct report_maker m;
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(f);
	maker_make(&m, "full");
	assert_int_equal(report_html(&m.r, f), -ENOSPC);
	report_release(&m.r);
	fclose(f);
}

/* A curve with nothing finite, a bar before all else, lanes without end, unknown numbers. */
static void odd_values(void **state)
{
	struct report_maker m;
	size_t size;

	(void)state;
	maker_make(&m, "full");
	for (size_t i = 0; i < m.r.series[0].points.count; i++)
		m.r.series[0].points.points[i].value = m.r.series[0].points.points[i].low =
			m.r.series[0].points.points[i].high = i % 2 ? NAN : INFINITY;
	m.r.series[1].points.points[3].high = 1e300;
	m.r.series[2].points.points[3].low = -1e300;
	m.r.series[3].points.count = 0;
	for (size_t i = 0; i < m.r.series[7].points.count; i++) { /* less than digits can tell */
		struct point *q = &m.r.series[7].points.points[i];

		q->value = q->low = 2.6e9;
		q->high = 2.6e9 + (double)(i % 2) * 4e-7;
	}
	free(m.r.series[7].unit);
	m.r.series[7].unit = xstrdup("Hz");
	m.r.flame[0].cpu = m.r.flame[1].cpu = UNKNOWN;
	m.r.flame[2].processes = UNKNOWN;
	m.r.bars[0].start = m.r.bars[0].end; /* no time at all */
	m.r.bars[1].end = m.r.bars[1].start - 1;
	m.r.bars[3].start = INT64_MIN + 1;
	m.r.bars[4].end = INT64_MAX;
	m.r.timeline.steps[0].time = INT64_MIN + 1;
	m.r.bars[2].lane = 5000;
	m.r.lanes = 5001;
	m.r.executables.list[0].cpu = UNKNOWN;
	free(m.r.hardware);
	m.r.hardware = xstrdup("{\"node0\":"); /* no JSON */
	_cleanup_free_ char *text = page_of(&m, &size);
	assert_balanced(text);
	assert_paths(text);
	assert_null(strstr(text, "<section id=\"hardware\">"));
	assert_null(strstr(text, "-9223372036854775808</td>"));
}

/* ---- what has no chart ---------------------------------------------------------------------- */

static void level(struct report_maker *m, double value)
{
	struct report_series *c = &m->r.series[m->r.series_count - 1];

	c->mean = c->maximum = value;
	for (size_t i = 0; i < c->points.count; i++)
		c->points.points[i].value = c->points.points[i].low = c->points.points[i].high =
			value;
}

static void little_is_a_line(void **state)
{
	struct report_maker m;
	size_t size;

	(void)state;
	maker_make(&m, "nothing");
	m.r.has_series = true;
	maker_series(&m, "cpu", "busy", "CPUs", NULL, NULL, 4, 300);
	maker_series(&m, "cpu", "below zero", "CPUs", NULL, NULL, 4, 300);
	level(&m, -3);
	m.r.series[1].maximum = 0;
	maker_series(&m, "cpu", "idle one", "CPUs", NULL, NULL, 4, 300);
	level(&m, 0);
	maker_series(&m, "network", "received", "bytes/s", NULL, NULL, 4, 300);
	level(&m, 0);
	for (int i = 0; i < 2; i++) {
		maker_series(&m, "network", "received", "bytes/s", i ? "node1" : "node0", NULL, 4,
			     300);
		level(&m, 0);
	}
	maker_series(&m, "other", "warmth", "degC", NULL, NULL, 55, 1);
	maker_series(&m, "other", "twice", "W", NULL, NULL, 8, 2);
	_cleanup_free_ char *text = page_of(&m, &size);

	assert_balanced(text);
	assert_int_equal(count_of(text, "<figure class=\"chart\""), 2);
	assert_int_equal(count_of(text, "aria-label=\"busy\""), 1);
	assert_int_equal(count_of(text, "aria-label=\"below zero\""), 1);
	assert_non_null(strstr(text, "<p class=\"dim\">All 0: idle one. </p>"));
	assert_non_null(strstr(text, "<h3>Network</h3><p class=\"dim\">No network traffic.</p>"));
	assert_non_null(
		strstr(text, "Too few samples for a chart: warmth 55 \302\260C, twice 8 W. </p>"));
}

/* Which panel is first, with a finding of this kind and GPUs that were as busy. */
static char *first_panel(int id, double busy)
{
	struct report_maker m;
	size_t size;

	maker_make(&m, "nothing");
	m.r.has_series = true;
	maker_series(&m, "cpu", "busy", "CPUs", NULL, NULL, 4, 300);
	maker_series(&m, "memory", "resident", "bytes", NULL, NULL, 4, 300);
	maker_series(&m, "io", "read", "bytes/s", NULL, NULL, 4, 300);
	maker_series(&m, "gpu", "nvidia.utilization_gpu", "%", NULL, NULL, 2 * busy, 300);
	findings_release(&m.r.findings);
	GROW(m.r.findings.list, m.r.findings.count, m.r.findings.cap);
	m.r.findings.list[m.r.findings.count++] = (struct finding){
		.id = id, .title = xstrdup("t"), .details = xstrdup("e"), .advice = xstrdup("a")};
	_cleanup_free_ char *text = page_of(&m, &size);
	const char *section = strstr(text, "<section id=\"series\">");

	assert_non_null(section);
	section = strstr(section, "<h3>");
	assert_non_null(section);
	/* and none of them is there twice */
	assert_int_equal(count_of(text, "aria-label=\"nvidia.utilization_gpu\""), 1);
	assert_int_equal(count_of(text, "aria-label=\"busy\""), 1);
	return xstrndup(section + 4, strcspn(section + 4, "<"));
}

static void charts_of_the_verdict_come_first(void **state)
{
	static const struct {
		int id;
		double busy;
		const char *first;
	} cases[] = {
		{FINDING_COMPUTE, 1, "CPU"},
		{FINDING_COMPUTE, 60, "GPUs"},
		{FINDING_SERIAL, 60, "GPUs"},
		{FINDING_GPU_IDLE, 1, "GPUs"},
		{FINDING_OOM, 60, "Memory"},
		{FINDING_MEMORY_LIMIT, 1, "Memory"},
		{FINDING_STORAGE_READ, 60, "Input and output"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *first = first_panel(cases[i].id, cases[i].busy);

		assert_string_equal(first, cases[i].first);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_page_is_well_formed),
		cmocka_unit_test(sections_are_in_order),
		cmocka_unit_test(figures_are_those_of_the_job),
		cmocka_unit_test(what_is_not_there_is_said_or_left_out),
		cmocka_unit_test(a_job_that_still_runs),
		cmocka_unit_test(data_are_json),
		cmocka_unit_test(the_zone_is_told_with_its_change),
		cmocka_unit_test(texts_stay_texts),
		cmocka_unit_test(a_text_of_ten_megabytes),
		cmocka_unit_test(small_pieces),
		cmocka_unit_test(the_largest_report_is_below_a_megabyte),
		cmocka_unit_test(a_full_disk),
		cmocka_unit_test(odd_values),
		cmocka_unit_test(little_is_a_line),
		cmocka_unit_test(charts_of_the_verdict_come_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
