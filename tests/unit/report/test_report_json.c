/* Curves in the JSON of a report: columns of whole numbers on one list of times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/value.h"
#include "report/html/report_html.h"
#include "report/report_json.h"
#include "report_page.h"

static double number(const struct value *v)
{
	return v->kind == VALUE_INT ? (double)v->integer : v->kind == VALUE_REAL ? v->real : NAN;
}

/* The curves of a page, or of JSON, and their times. */
static struct value *sample_ingest_of(const struct report *r, bool page, struct value **ret_times)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *v = NULL;

	report_json_some(r, &j, page ? page_has_bands : NULL);
	assert_int_equal(value_from_json(j.out.buf, j.out.len, &v, &why), 0);
	*ret_times = value_ref(value_get(v, "times"));
	struct value *curves = value_ref(value_get(v, "series"));
	value_free(v);
	return curves;
}

/* A point in columns is the one of the report, at most so far off. */
static void assert_point(const struct value *c, size_t at, const struct point *p, double off)
{
	static const char *const keys[] = {"values", "below", "above"};
	double scale = number(value_get(c, "scale")), n[3] = {0};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct value *list = value_get(c, keys[i]);

		if (!list)
			continue;
		assert_true(at < list->list.count);
		n[i] = number(list->list.items[at]);
	}
	if (!isfinite(p->value)) {
		assert_int_equal(value_get(c, "values")->list.items[at]->kind, VALUE_NONE);
		return;
	}
	assert_true(fabs(n[0] * scale - p->value) <= off);
	assert_true(fabs((n[0] - n[1]) * scale - p->low) <= off);
	assert_true(fabs((n[0] + n[2]) * scale - p->high) <= off);
}

static void curves_are_columns_on_one_list_of_times(void **state)
{
	struct report_maker m;
	struct value *times;
	size_t gaps = 0;

	(void)state;
	maker_make(&m, "full");
	_cleanup_value_ struct value *curves = sample_ingest_of(&m.r, false, &times);
	assert_int_equal(curves->list.count, m.r.series_count);
	assert_true(times->list.count >= m.r.series[0].points.count && times->list.count <= 300);
	for (size_t i = 0; i < m.r.series_count; i++) {
		const struct value *c = curves->list.items[i], *v = value_get(c, "values");
		const struct points *from = &m.r.series[i].points;
		size_t first = (size_t)value_get(c, "first")->integer, k = 0;

		for (size_t at = 0; at < v->list.count; at++) {
			int64_t time = times->list.items[first + at]->integer + PAGE_START;

			if (time == from->points[k].time) {
				assert_point(c, at, &from->points[k++],
					     m.r.series[i].maximum * 0.0005);
				continue;
			}
			assert_int_equal(v->list.items[at]->kind, VALUE_NONE);
			gaps++;
		}
		assert_int_equal(k, from->count); /* every point was there */
	}
	assert_int_equal(gaps, 0); /* all have the same gap: it is in no list */
	value_free(times);
	report_release(&m.r);
}

/* One point that is a thousand times larger, one curve that begins later and has a gap, one far
 * from 0. */
static void digits_are_where_they_are_seen(void **state)
{
	struct report_maker m;
	struct value *times;

	(void)state;
	maker_make(&m, "full");
	size_t count = m.r.series_count;
	m.r.series_count = 3;
	for (size_t i = 0; i < 3; i++)
		m.r.series[i].points.count = 0;
	free(m.r.series[2].unit);
	m.r.series[2].unit = xstrdup("Hz");
	for (int i = 0; i < 100; i++) {
		double v = i == 50 ? 1234567 : 1000 + i, hz = 2.6e9 + i * 1000;

		points_add(&m.r.series[0].points, PAGE_START + i, v, v, v);
		if (i >= 10 && i != 20)
			points_add(&m.r.series[1].points, PAGE_START + i, i, i - 1, i);
		points_add(&m.r.series[2].points, PAGE_START + i, hz, hz, hz);
	}
	_cleanup_value_ struct value *curves = sample_ingest_of(&m.r, false, &times);
	const struct value *a = curves->list.items[0], *b = curves->list.items[1];
	assert_int_equal(times->list.count, 100);
	assert_null(value_get(a, "below"));
	assert_null(value_get(a, "above"));
	for (size_t i = 0; i < 100; i++) {
		assert_point(a, i, &m.r.series[0].points.points[i], 5);
		assert_point(curves->list.items[2], i, &m.r.series[2].points.points[i], 500);
	}
	assert_int_equal(value_get(b, "first")->integer, 10);
	assert_true(number(value_get(b, "scale")) == 1); /* no zeros behind whole numbers */
	assert_int_equal(value_get(b, "values")->list.count, 90);
	assert_int_equal(value_get(b, "values")->list.items[10]->kind, VALUE_NONE);
	assert_int_equal(value_get(b, "values")->list.items[89]->integer, 99);
	assert_int_equal(value_get(b, "below")->list.items[89]->integer, 1);
	assert_null(value_get(b, "above"));
	value_free(times);
	m.r.series_count = count;
	report_release(&m.r);
}

/* Charts of many lines have no bands, and their page no extremes; JSON has them. */
static void what_no_chart_draws_is_not_in_the_page(void **state)
{
	struct report_maker m;
	struct value *times[2];

	(void)state;
	maker_make(&m, "series");
	for (int i = 0; i < 9; i++) {
		_cleanup_free_ char *host = xasprintf("node%d", i);

		maker_series(&m, "cpu", "many", "%", host, NULL, 100, 300);
	}
	_cleanup_value_ struct value *page = sample_ingest_of(&m.r, true, &times[0]);
	_cleanup_value_ struct value *all = sample_ingest_of(&m.r, false, &times[1]);
	assert_non_null(value_get(all->list.items[m.r.series_count - 1], "above"));
	for (size_t i = 0; i < m.r.series_count; i++) {
		bool many = i + 9 >= m.r.series_count;

		assert_non_null(value_get(all->list.items[i], "below"));
		assert_int_equal(!value_get(page->list.items[i], "below"), many);
		assert_int_equal(!value_get(page->list.items[i], "above"),
				 many || !value_get(all->list.items[i], "above"));
	}
	value_free(times[0]);
	value_free(times[1]);
	report_release(&m.r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(curves_are_columns_on_one_list_of_times),
		cmocka_unit_test(digits_are_where_they_are_seen),
		cmocka_unit_test(what_no_chart_draws_is_not_in_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
