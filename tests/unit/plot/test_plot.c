/* Axes, ticks, values in words and lines reduced to columns, by value; and what is drawn of them.
 */
#include "unit.h"

#include <math.h>

#include "core/module.h"
#include "plot/plot.h"
#include "plot/plot_axis.h"

#define S ((int64_t)1000000)

/* ---- axes of values -------------------------------------------------------------------------- */

/* low high: label label ... */
static void axis_is(double low, double high, const char *unit, bool logarithmic, const char *want)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct plot_axis a;

	plot_axis_values(&a, low, high, unit, logarithmic, 5);
	strbuf_addf(&out, "%g %g:", a.low, a.high);
	for (size_t i = 0; i < a.ticks.count; i++) {
		const struct plot_tick *t = &a.ticks.list[i];

		if (*t->label)
			strbuf_addf(&out, " %s,", t->label);
		assert_true(t->at >= a.low - fabs(a.low) * 1e-9 &&
			    t->at <= a.high + fabs(a.high) * 1e-9);
	}
	if (strcmp(out.buf, want) != 0)
		fail_msg("%g to %g %s: got '%s', want '%s'", low, high, unit, out.buf, want);
}

static void test_linear_axes(void **state)
{
	(void)state;
	axis_is(3, 97, "%", false, "0 100: 0, 20 %, 40 %, 60 %, 80 %, 100 %,");
	axis_is(0, 1, "", false, "0 1: 0, 0.2, 0.4, 0.6, 0.8, 1.0,");
	axis_is(1e9, 2.2 * 1073741824.0, "bytes", false,
		"0 2.68435e+09: 0, 0.5 GiB, 1.0 GiB, 1.5 GiB, 2.0 GiB, 2.5 GiB,");
	axis_is(-40, 60, "count", false, "-40 60: -40, -20, 0, 20, 40, 60,");
	axis_is(-5, -1, "count", false, "-5 0: -5, -4, -3, -2, -1, 0,");
	/* what is 0 in degrees says nothing, that of watts does */
	axis_is(52, 61, "degC", false,
		"52 62: 52 \302\260C, 54 \302\260C, 56 \302\260C, 58 \302\260C, 60 \302\260C, 62 "
		"\302\260C,");
	axis_is(95, 100, "W", false, "0 100: 0, 20 W, 40 W, 60 W, 80 W, 100 W,");
	/* times in what clocks count in */
	axis_is(0, 100 * 60e6, "us", false, "0 7.2e+09: 0, 30 min, 60 min, 90 min, 120 min,");
	axis_is(0, 40 * 3600e6, "us", false, "0 1.728e+11: 0, 12 h, 24 h, 36 h, 48 h,");
	axis_is(0, 0.004e6, "us", false, "0 4000: 0, 1 ms, 2 ms, 3 ms, 4 ms,");
	/* a hair below 0 is no step more */
	axis_is(-0.005, 1000, "", false, "0 1000: 0, 200, 400, 600, 800, 1000,");
	/* always the same */
	axis_is(5, 5, "W", false, "0 5: 0, 1 W, 2 W, 3 W, 4 W, 5 W,");
	axis_is(0, 0, "W", false, "0 1: 0, 0.2 W, 0.4 W, 0.6 W, 0.8 W, 1.0 W,");
}

static void test_axes_of_nothing(void **state)
{
	static const double odd[][2] = {{NAN, NAN},
					{INFINITY, -INFINITY},
					{0, INFINITY},
					{-INFINITY, 0},
					{5, 1},
					{1e308, 1e308},
					{-1e308, 1e308},
					{1e-310, 1e-309},
					{-1e-320, 1e-320},
					{1e290, 1e290}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(odd); i++)
		for (int log = 0; log < 2; log++) {
			struct plot_axis a;

			plot_axis_values(&a, odd[i][0], odd[i][1], "bytes", log, 5);
			assert_true(isfinite(a.low) && isfinite(a.high) && a.low < a.high);
			assert_true(a.ticks.count >= 1 && a.ticks.count <= PLOT_TICKS_MAX);
			assert_true(!a.log_place || a.low > 0);
		}
}

static void test_logarithmic_axes(void **state)
{
	struct plot_axis a;

	(void)state;
	axis_is(3, 4e5, "1/s", true, "1 1e+06: 1 /s, 100 /s, 10 k/s, 1 M/s,");
	axis_is(2000, 1.5e9, "bytes/s", true,
		"1024 2.14748e+09: 1 KiB/s, 32 KiB/s, 1 MiB/s, 32 MiB/s, 1 GiB/s,");
	axis_is(200, 900, "W", true, "100 1000: 100 W, 200 W, 500 W, 1 kW,");
	axis_is(1e6, 1e6, "1/s", true, "100000 1e+07: 100 k/s, 1 M/s, 10 M/s,");
	/* the smallest are at the bottom */
	plot_axis_values(&a, 1e-12, 1e6, "W", true, 5);
	assert_true(a.low > 0.99e-4 && a.low < 1.01e-3);
	/* nothing above 0 */
	plot_axis_values(&a, -5, -1, "W", true, 5);
	assert_false(a.log_place);

	plot_axis_values(&a, 1, 1000, "1/s", true, 5);
	assert_true(fabs(plot_axis_place(&a, 1)) < 1e-9);
	assert_true(fabs(plot_axis_place(&a, 10) - 1.0 / 3) < 1e-9);
	assert_true(fabs(plot_axis_place(&a, 1000) - 1) < 1e-9);
	assert_true(plot_axis_place(&a, 0) == 0);
	assert_true(plot_axis_place(&a, -7) == 0);
	assert_true(plot_axis_place(&a, 1e9) == 1);

	/* 0 is below the smallest value, and marked */
	plot_axis_add_zero(&a, false);
	assert_string_equal(a.ticks.list[0].label, "0");
	assert_true(a.ticks.list[0].at == 0 && plot_axis_place(&a, 0) == 0);
	assert_string_equal(a.ticks.list[1].label, "1 /s");
	assert_true(plot_axis_place(&a, 1) > 0.05);
	assert_true(fabs(plot_axis_place(&a, 1e-3) - plot_axis_place(&a, 1)) < 1e-9);
	assert_true(fabs(plot_axis_place(&a, 1000) - 1) < 1e-9);
	plot_axis_values(&a, 1, 1000, "1/s", true, 5);
	plot_axis_add_zero(&a, true);
	assert_string_equal(a.ticks.list[0].label, "\u2264 0");
}

/* ---- times ----------------------------------------------------------------------------------- */

static int64_t at(const char *text)
{
	struct tm tm = {.tm_isdst = -1};

	assert_non_null(strptime(text, "%Y-%m-%d %H:%M:%S", &tm));
	return (int64_t)mktime(&tm) * S;
}

/* label[/date] ... */
static void times_are(const char *zone, const char *begin, const char *end, size_t about,
		      const char *want)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct plot_ticks t;

	setenv("TZ", zone, 1);
	tzset();
	plot_time_ticks(&t, at(begin), at(end), about);
	for (size_t i = 0; i < t.count; i++) {
		assert_true(t.list[i].at >= (double)at(begin) && t.list[i].at <= (double)at(end));
		strbuf_addf(&out, "%s%s%s%s", i ? " " : "", t.list[i].label,
			    *t.list[i].date ? "/" : "", t.list[i].date);
	}
	if (strcmp(out.buf, want) != 0)
		fail_msg("%s, %s to %s: got '%s', want '%s'", zone, begin, end, out.buf, want);
}

#define VIENNA "CET-1CEST,M3.5.0,M10.5.0/3"

static void test_times(void **state)
{
	(void)state;
	times_are("UTC", "2026-11-15 10:00:00", "2026-11-15 11:00:00", 6,
		  "10:00/2026-11-15 10:10 10:20 10:30 10:40 10:50 11:00");
	/* the date where the day changes */
	times_are("UTC", "2026-11-15 22:10:00", "2026-11-16 02:00:00", 5,
		  "23:00/2026-11-15 00:00/2026-11-16 01:00 02:00");
	times_are("UTC", "2026-11-15 10:00:03", "2026-11-15 10:00:31", 5,
		  "10:00:10/2026-11-15 10:00:20 10:00:30");
	times_are("UTC", "2026-12-30 00:00:00", "2027-01-03 00:00:00", 4,
		  "12-30/2026 12-31 01-01/2027 01-02 01-03");
	/* round in local time, whatever UTC has then */
	times_are("<+0545>-5:45", "2026-11-15 10:00:00", "2026-11-15 16:00:00", 6,
		  "10:00/2026-11-15 11:00 12:00 13:00 14:00 15:00 16:00");
	/* the clocks go back at 3:00 */
	times_are(VIENNA, "2026-10-25 00:00:00", "2026-10-26 00:00:00", 5,
		  "00:00/2026-10-25 06:00 12:00 18:00 00:00/2026-10-26");
	/* and forward */
	times_are(VIENNA, "2026-03-28 12:00:00", "2026-03-30 00:00:00", 6,
		  "12:00/2026-03-28 18:00 00:00/2026-03-29 06:00 12:00 18:00 00:00/2026-03-30");
	setenv("TZ", "UTC", 1);
	tzset();
}

static void test_short_and_odd_times(void **state)
{
	struct plot_ticks t;

	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	plot_time_ticks(&t, 1000 * S, 1000 * S + S / 2, 5);
	assert_int_equal(t.count, 6);
	assert_string_equal(t.list[0].label, "00:16:40.0");
	assert_string_equal(t.list[5].label, "00:16:40.5");
	plot_time_ticks(&t, 1000 * S, 1000 * S + 50, 5);
	assert_string_equal(t.list[1].label, "00:16:40.000010");
	/* before 1970, and more years than anybody has */
	plot_time_ticks(&t, -S - S / 2, S, 5);
	assert_true(t.count >= 2);
	plot_time_ticks(&t, 0, INT64_MAX / 16, 5);
	assert_true(t.count <= PLOT_TICKS_MAX);
	plot_time_ticks(&t, 5, 5, 5);
	assert_int_equal(t.count, 0);
	plot_time_ticks(&t, INT64_MIN / 2, INT64_MAX / 2, 5);
	assert_int_equal(t.count, 0);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void test_peaks_stay(void **state)
{
	_cleanup_points_ struct points c = {0};
	struct plot_column columns[100] = {0};

	(void)state;
	for (int64_t i = 0; i < 100000; i++) {
		double v = i == 54321 ? 1000 : i == 77777 ? -1000 : (double)(i % 10);

		points_add(&c, i * S, v, v, v);
	}
	assert_int_equal(plot_reduce(&c, 0, 100000 * S, columns, 100), 100000);
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(columns[i].count, 1000);
		assert_true(columns[i].high == (i == 54 ? 1000 : 9));
		assert_true(columns[i].low == (i == 77 ? -1000 : 0));
		assert_true(columns[i].joined == (i > 0));
	}
	assert_true(fabs(columns[3].mean - 4.5) < 1e-9);
	assert_true(columns[3].first == 0 && columns[3].last == 9);
}

static void test_gaps(void **state)
{
	_cleanup_points_ struct points c = {0};
	struct plot_column columns[100] = {0};

	(void)state;
	for (int64_t i = 0; i < 100; i++) {
		double v = i == 20 ? NAN : i == 30 ? INFINITY : 5;

		/* nothing from 50 to 59; 40 and 41 are missing, which is no gap yet */
		if (i / 10 != 5 && i != 40 && i != 41)
			points_add(&c, i * S, v, v, v);
	}
	assert_int_equal(plot_reduce(&c, 0, 100 * S, columns, 100), 86);
	for (size_t i = 0; i < 100; i++) {
		bool none = i == 20 || i == 30 || i / 10 == 5 || i == 40 || i == 41;
		bool begins = i == 0 || i == 21 || i == 31 || i == 60;

		assert_int_equal(columns[i].count, none ? 0 : 1);
		assert_true(columns[i].joined == (!none && !begins));
	}
}

static void test_ranges_and_windows(void **state)
{
	_cleanup_points_ struct points c = {0};
	struct plot_column columns[4] = {0};

	(void)state;
	points_add(&c, 10 * S, 5, 1, 9);
	points_add(&c, 20 * S, 5, NAN, INFINITY);
	points_add(&c, 30 * S, 5, 6, 4); /* extremes that are none */
	points_add(&c, 40 * S, 7, 7, 7);
	assert_int_equal(plot_reduce(&c, 10 * S, 30 * S, columns, 4), 3);
	assert_true(columns[0].low == 1 && columns[0].high == 9);
	assert_true(columns[2].low == 5 && columns[2].high == 5);
	/* the last moment is in the last column */
	assert_true(columns[3].count == 1 && columns[3].low == 5 && columns[3].high == 5);
	assert_true(fabs(columns[3].first_x - 1) < 1e-9);
	/* nothing, and a time that is none */
	struct plot_column none[4] = {0};
	assert_int_equal(plot_reduce(&c, 50 * S, 60 * S, none, 4), 0);
	assert_int_equal(plot_reduce(&(struct points){0}, 0, S, none, 4), 0);
	assert_int_equal(plot_reduce(&c, 40 * S, 40 * S, none, 4), 1);
	assert_int_equal(none[0].count, 1);
}

static bool log_helps(const char *unit, size_t n, const double *values)
{
	struct plot_line line = {.label = "x"};
	struct plot p = {.unit = unit, .lines = &line, .line_count = 1};

	for (size_t i = 0; i < n; i++)
		points_add(&line.points, (int64_t)i * S, values[i], values[i], values[i]);
	bool helps = plot_log_helps(&p);
	points_release(&line.points);
	return helps;
}
#define LOG_HELPS(unit, ...) \
	log_helps(unit, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static void test_when_log_helps(void **state)
{
	(void)state;
	assert_true(LOG_HELPS("bytes/s", 1, 100, 2000, 0));
	assert_false(LOG_HELPS("bytes/s", 1, 100, 900));
	assert_false(LOG_HELPS("%", 0.01, 1, 100));
	assert_false(LOG_HELPS("bytes/s", -1, 1, 100, 2000));
	assert_false(LOG_HELPS("bytes/s", 0, 0, 0));
	assert_false(LOG_HELPS("bytes/s", 5));
	assert_true(LOG_HELPS("count", NAN, 1, 5000, INFINITY));
	/* one small value of many does not decide */
	assert_false(LOG_HELPS("W", 0.001, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110,
			       111, 112, 113, 114, 115, 116, 117, 118));
}

static void test_figures_and_forms(void **state)
{
	struct plot_line line = {.label = "x"};
	enum plot_form form;
	double mean, maximum;

	(void)state;
	plot_line_figures(&line, &mean, &maximum);
	assert_true(isnan(mean) && isnan(maximum));
	points_add(&line.points, 0, 1, 0, 5);
	points_add(&line.points, S, NAN, NAN, NAN);
	points_add(&line.points, 2 * S, 3, 3, 3);
	plot_line_figures(&line, &mean, &maximum);
	assert_true(mean == 2 && maximum == 5);
	points_release(&line.points);

	assert_true(plot_form_of("a.svg", &form) && form == PLOT_SVG);
	assert_true(plot_form_of("/x.y/a.PNG", &form) && form == PLOT_PNG);
	assert_true(plot_form_of("a.b.pdf", &form) && form == PLOT_PDF);
	assert_false(plot_form_of("a.jpg", &form));
	assert_false(plot_form_of(".svg", &form));
	assert_false(plot_form_of("svg", &form));
	assert_false(plot_form_of("", &form));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear_axes),
		cmocka_unit_test(test_axes_of_nothing),
		cmocka_unit_test(test_logarithmic_axes),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_short_and_odd_times),
		cmocka_unit_test(test_peaks_stay),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_ranges_and_windows),
		cmocka_unit_test(test_when_log_helps),
		cmocka_unit_test(test_figures_and_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
