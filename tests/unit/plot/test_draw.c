/* What the module "draw" makes of curves with gaps, of one point, of none and of very many. */
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "core/module.h"
#include "plot/plot.h"

#define S ((int64_t)1000000)

static const struct draw_functions *draw(void)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct module *m = module_load("draw", &why);

	if (!m)
		fail_msg("%s", why.buf);
	return m->functions;
}

static size_t count(const char *text, const char *part)
{
	size_t n = 0;

	for (const char *p = strstr(text, part); p; p = strstr(p + 1, part))
		n++;
	return n;
}

static void svg(const struct plot *p, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	strbuf_reset(out);
	assert_int_equal(draw()->picture(p, 1, PLOT_SVG, 640, 300, out, &why), 0);
	assert_contains(out->buf, "</svg>");
	/* no number that is none */
	assert_null(strstr(out->buf, "nan"));
	assert_null(strstr(out->buf, "inf"));
}

/* The part of a picture that has the lines. */
static const char *lines_of(const struct strbuf *out)
{
	const char *p = strstr(out->buf, "<g class=\"line\">");

	assert_non_null(p);
	return p;
}

static void test_gaps_and_points(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_points_ struct points c = {0};
	struct plot_line line = {.label = ""};
	struct plot p = {.title = "t", .unit = "W", .lines = &line, .line_count = 1};

	(void)state;
	/* nothing: no line at all, with and without a curve */
	svg(&p, &out);
	assert_contains(out.buf, ">no data</text>");
	svg(&(struct plot){.title = "t"}, &out);
	assert_contains(out.buf, ">no data</text>");
	/* only what is no number */
	points_add(&c, 5 * S, NAN, NAN, NAN);
	line.points = c;
	svg(&p, &out);
	assert_contains(out.buf, ">no data</text>");
	/* one point is a dot */
	points_add(&c, 6 * S, 3, 3, 3);
	line.points = c;
	svg(&p, &out);
	assert_int_equal(count(lines_of(&out), "<circle"), 1);
	assert_int_equal(count(lines_of(&out), "<polyline"), 0);
	/* a line, what is not finite, a line, what is not finite, a dot */
	for (int64_t i = 7; i < 30; i++)
		points_add(&c, i * S, i == 15 ? INFINITY : i == 28 ? -INFINITY : 4, 4, 4);
	line.points = c;
	svg(&p, &out);
	assert_int_equal(count(lines_of(&out), "<circle"), 1);
	assert_int_equal(count(lines_of(&out), "<polyline"), 2);
	/* what is not known between its points: dots alone */
	line.seldom = true;
	svg(&p, &out);
	assert_int_equal(count(lines_of(&out), "<circle"), 22);
	assert_int_equal(count(lines_of(&out), "<polyline"), 0);
	line.seldom = false;
	/* texts that are not there */
	svg(&(struct plot){.lines = &line, .line_count = 1}, &out);
	line.label = NULL;
	svg(&p, &out);
	/* numbers at the end of what there is */
	points_add(&c, 31 * S, 1e300, 1e300, 1e300);
	points_add(&c, 32 * S, -1e300, -1e300, -1e300);
	line.points = c;
	svg(&p, &out);
	p.logarithmic = true;
	svg(&p, &out);
}

static void test_many_points(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_points_ struct points c = {0};

	(void)state;
	for (int64_t i = 0; i < 100000; i++) {
		double v = i == 50000 ? 900 : 10;

		points_add(&c, i * S, v, v, v);
	}
	struct plot_line line = {.label = "x", .points = c};
	const struct plot p = {.title = "t", .unit = "W", .lines = &line, .line_count = 1};

	svg(&p, &out);
	/* a band with its two edges, the mean; no more points than columns */
	assert_int_equal(count(out.buf, "<polygon"), 1);
	assert_int_equal(count(lines_of(&out), "<polyline"), 2); /* the mean, and the legend's */
	assert_true(out.len < 100000);
	/* the axis knows of the peak */
	assert_contains(out.buf, ">800 W</text>");
}

static void test_many_lines(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct plot_line *lines = xcalloc(10000, sizeof(*lines));
	struct plot p = {.title = "t", .unit = "W", .lines = lines, .line_count = 10000};

	(void)state;
	for (int64_t i = 0; i < 10000; i++) {
		lines[i].label = i == 1234 ? "the highest" : "one";
		for (int64_t k = 0; k < 3; k++) {
			double v = i == 1234 ? 99 : (double)(i % 7);

			points_add(&lines[i].points, k * 10 * S, v, v, v);
		}
	}
	svg(&p, &out);
	assert_int_equal(count(out.buf, "class=\"line\""), 2);
	assert_contains(out.buf, ">mean of 10000, smallest to largest</text>");
	assert_contains(out.buf, ">highest: the highest</text>");
	assert_true(out.len < 20000);
	/* as many as can be told apart */
	p.line_count = 20;
	svg(&p, &out);
	assert_int_equal(count(out.buf, "class=\"line\""), 20);
	_cleanup_strbuf_ struct strbuf narrow = STRBUF_INIT, why = STRBUF_INIT;
	assert_int_equal(draw()->picture(&p, 1, PLOT_SVG, 380, 200, &narrow, &why), 0);
	assert_int_equal(count(narrow.buf, "class=\"line\""), 2);
	assert_contains(narrow.buf, ">mean of 20, smallest to largest</text>");
	for (size_t i = 0; i < 10000; i++)
		points_release(&lines[i].points);
	free(lines);
}

static void test_odd_texts(void **state)
{
	static const char odd[] = "<script>&\"'\n\t\x01\xff\xc3\xef\xbf\xbf\xe2\x80\xae\xc3\xa4";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_free_ char *large = xcalloc(10000001, 1);
	struct plot_line line = {.label = odd};
	struct plot p = {.title = odd, .subtitle = odd, .y_label = odd, .unit = "<&>"};

	(void)state;
	for (size_t i = 0; i < 10000000; i += 2)
		memcpy(large + i, "\xc3\xa4", 2);
	points_add(&line.points, S, 1, 1, 1);
	p.lines = &line;
	p.line_count = 1;
	svg(&p, &out);
	assert_null(strstr(out.buf, "<script>"));
	assert_contains(
		out.buf,
		">&lt;script&gt;&amp;&quot;'\\x0a\\x09\\x01\\xff\\xc3\\uffff\\u202e\xc3\xa4</text>");
	assert_contains(out.buf, "&lt;&amp;&gt;</text>"); /* a unit */
	p.title = line.label = large;
	svg(&p, &out);
	assert_true(out.len < 50000);
	/* the other forms take them, too */
	for (int form = PLOT_PNG; form <= PLOT_PDF; form++) {
		strbuf_reset(&out);
		assert_int_equal(draw()->picture(&p, 1, (enum plot_form)form, 200, 120, &out, &why),
				 0);
		assert_true(out.len > 500);
	}
	points_release(&line.points);
}

static void test_pages(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, why = STRBUF_INIT, text = STRBUF_INIT;
	const struct plot plots[2] = {{.title = "one"}, {.title = "two"}};
	const struct plot_page pages[] = {
		{.plots = plots, .plot_count = 2}, {.plots = plots, .plot_count = 0}, {.text = ""}};

	(void)state;
	/* tables with a head that comes again, rows without cells, cells without end */
	strbuf_addstr(&text, "# Heading\n\n|>a\tb\n");
	for (int i = 0; i < 200; i++)
		strbuf_addf(&text, "%d\tcell\t\t%s\n", i, i == 7 ? "wide wide wide wide wide" : "");
	strbuf_addstr(&text, "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\n##Small\n#\n##\nlast line");
	assert_int_equal(draw()->pages(pages, 3, "header", "foot", text.buf, &out, &why), 0);
	assert_memory_equal(out.buf, "%PDF-", 5);
	strbuf_reset(&out);
	assert_int_equal(draw()->pages(NULL, 0, NULL, NULL, NULL, &out, &why), 0);
	assert_memory_equal(out.buf, "%PDF-", 5);
}

/* The old file is kept when the new one cannot be written. */
static void test_files(void **state)
{
	_cleanup_free_ char *path = xasprintf("%s/a.png", (char *)*state);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct plot p = {.title = "t"};
	struct stat st;

	assert_int_equal(plot_pictures(&p, 1, PLOT_PNG, 200, 120, path, &why), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size > 300);
	assert_int_equal(plot_pictures(&p, 1, PLOT_PNG, 200, 120, *state, &why), -EISDIR);
	assert_contains(why.buf, "cannot write");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gaps_and_points),
		cmocka_unit_test(test_many_points),
		cmocka_unit_test(test_many_lines),
		cmocka_unit_test(test_odd_texts),
		cmocka_unit_test(test_pages),
		cmocka_unit_test_setup_teardown(test_files, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
