/*
 * Series in the JSON of a report. They are most of the bytes of a page, so all share one list of
 * times, and each is columns of whole numbers in units of a power of ten; see docs/reports.md.
 */
#include <math.h>

#include "core/text/units.h"
#include "report/report_json.h"

#define PEAK_DIGITS 4      /* at least, of the largest value: a chart is 132 pixels high */
#define PEAK_DIGITS_MAX 7  /* what is smaller than a millionth of it cannot be seen beside it */
#define VALUE_SMALLEST 100 /* three digits, as many as the page writes under the pointer */

/* ---- times ---------------------------------------------------------------------------------- */

struct times {
	int64_t *list;
	size_t count;
};

static bool has_all(const struct times *t, const struct points *c)
{
	size_t k = 0;

	for (size_t i = 0; i < c->count; i++) {
		while (k < t->count && t->list[k] < c->points[i].time)
			k++;
		if (k == t->count || t->list[k] != c->points[i].time)
			return false;
	}
	return true;
}

static void merge(struct times *t, const struct points *c)
{
	int64_t *both = xcalloc(t->count + c->count, sizeof(*both));
	size_t n = 0;

	for (size_t i = 0, k = 0; i < c->count || k < t->count;) {
		bool other = k == t->count || (i < c->count && c->points[i].time < t->list[k]);
		int64_t time = other ? c->points[i++].time : t->list[k++];

		if (!n || both[n - 1] < time)
			both[n++] = time;
	}
	free(t->list);
	*t = (struct times){both, n};
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* value is a whole number of 10^exponent. */
static double count_of(double value, int exponent)
{
	double power = 1;

	for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
		power *= 10;
	return exponent < 0 ? value * power : value / power;
}

static double size_of(double v)
{
	return !isfinite(v) ? 0 : v < 0 ? -v : v;
}

struct range {
	double largest;   /* without sign */
	double low, high; /* of all extremes */
};

static struct range range_of(const struct points *c)
{
	struct range r = {.low = INFINITY, .high = -INFINITY};

	for (size_t i = 0; i < c->count; i++) {
		const struct point *p = &c->points[i];
		const double all[] = {p->value, p->low, p->high};

		for (size_t k = 0; k < ARRAY_SIZE(all); k++) {
			double size = size_of(all[k]);

			if (!isfinite(all[k]))
				continue;
			r.largest = size > r.largest ? size : r.largest;
			r.low = all[k] < r.low ? all[k] : r.low;
			r.high = all[k] > r.high ? all[k] : r.high;
		}
	}
	return r;
}

/* Would more than a tenth of the values have fewer than three digits? Where the axis does not begin
 * at 0 the range must have them, too. */
static bool is_coarse(const struct points *c, const struct range *r, bool from_zero, int exponent)
{
	size_t small = 0, all = 0;

	for (size_t i = 0; i < c->count; i++) {
		double size = size_of(c->points[i].value);

		all += size > 0;
		small += size > 0 && count_of(size, exponent) < VALUE_SMALLEST;
	}
	return small * 10 > all ||
	       (!from_zero && r->high > r->low && count_of(r->high - r->low, exponent) < 100);
}

static int exponent_of(const struct report_series *c)
{
	struct range r = range_of(&c->points);
	struct unit_scale unit;
	int digits = PEAK_DIGITS, exponent = 0;

	unit_find(&unit, c->unit);
	if (r.largest < 1e-290) /* or too small for a power of ten */
		return 0;
	while (count_of(r.largest, exponent) >= 10)
		exponent++;
	while (count_of(r.largest, exponent) < 1)
		exponent--;
	exponent -= digits - 1;
	for (; digits < PEAK_DIGITS_MAX && is_coarse(&c->points, &r, !unit.floating, exponent);
	     digits++)
		exponent--;
	return exponent;
}

/* A value and how far its extremes are below and above it, all as whole numbers. */
struct number {
	bool known;
	int64_t value, below, above;
};

static int64_t distance(double from, double to, int exponent)
{
	if (!isfinite(from) || !isfinite(to))
		return 0;
	int64_t d = round_i64(count_of(to, exponent)) - round_i64(count_of(from, exponent));
	return d > 0 ? d : 0;
}

static struct number number_of(const struct point *p, int exponent)
{
	if (!isfinite(p->value))
		return (struct number){0};
	return (struct number){.known = true,
			       .value = round_i64(count_of(p->value, exponent)),
			       .below = distance(p->low, p->value, exponent),
			       .above = distance(p->value, p->high, exponent)};
}

/* ---- series --------------------------------------------------------------------------------- */

struct columns {
	struct number *list; /* a number for each of the times from first on */
	size_t first, count;
	int exponent;
	bool below, above; /* there is any */
};

static bool has_odd(const struct columns *s)
{
	bool any = false;

	for (size_t i = 0; i < s->count; i++) {
		const struct number *n = &s->list[i];

		if (n->value % 10 || n->below % 10 || n->above % 10)
			return true;
		any = any || n->value || n->below || n->above;
	}
	return !any;
}

/* Removes zeros at the end of all numbers. */
static void shorten(struct columns *s)
{
	while (!has_odd(s)) {
		for (size_t i = 0; i < s->count; i++) {
			s->list[i].value /= 10;
			s->list[i].below /= 10;
			s->list[i].above /= 10;
		}
		s->exponent++;
	}
}

static void columns_make(struct columns *s, const struct report_series *c, const struct times *t,
			 bool extremes)
{
	const struct points *curve = &c->points;

	s->exponent = exponent_of(c);
	s->first = s->count = 0;
	s->below = s->above = false;
	while (curve->count && s->first < t->count && t->list[s->first] < curve->points[0].time)
		s->first++;
	for (size_t i = 0, k = s->first; k < t->count && i < curve->count; k++) {
		struct number n = {0};

		if (curve->points[i].time == t->list[k])
			n = number_of(&curve->points[i++], s->exponent);
		if (!extremes)
			n.below = n.above = 0;
		s->below = s->below || n.below;
		s->above = s->above || n.above;
		s->list[s->count++] = n;
	}
	shorten(s);
}

static void json_columns(const struct columns *s, struct json_writer *j)
{
	char scale[16];
	int n = snprintf(scale, sizeof(scale), "1e%d", s->exponent);

	json_raw(j, "scale", scale, (size_t)n);
	json_u64(j, "first", s->first);
	json_begin_array(j, "values");
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].known)
			json_i64(j, NULL, s->list[i].value);
		else
			json_none(j, NULL);
	json_end_array(j);
	if (s->below) {
		json_begin_array(j, "below");
		for (size_t i = 0; i < s->count; i++)
			json_i64(j, NULL, s->list[i].below);
		json_end_array(j);
	}
	if (s->above) {
		json_begin_array(j, "above");
		for (size_t i = 0; i < s->count; i++)
			json_i64(j, NULL, s->list[i].above);
		json_end_array(j);
	}
}

size_t report_json_series(const struct report *r, struct json_writer *j, int64_t origin,
			  report_extremes *extremes)
{
	struct times t = {0};

	for (size_t i = 0; i < r->series_count; i++)
		if (!has_all(&t, &r->series[i].points))
			merge(&t, &r->series[i].points);
	json_begin_array(j, "times");
	for (size_t i = 0; i < t.count; i++)
		report_json_time(j, t.list[i], origin);
	json_end_array(j);
	struct columns columns = {.list = xcalloc(t.count + 1, sizeof(*columns.list))};
	json_u64(j, "series_left_out", r->series_left_out);
	json_begin_array(j, "series");
	size_t begin = j->out.len - 1;
	for (size_t i = 0; i < r->series_count; i++) {
		const struct report_series *c = &r->series[i];

		json_begin_object(j, NULL);
		json_str(j, "panel", c->panel);
		json_str(j, "metric", c->metric);
		json_str(j, "label", c->label);
		json_str(j, "unit", c->unit);
		json_str(j, "host", c->host);
		json_str(j, "entity", c->entity);
		json_bool(j, "rate", c->counter);
		json_bool(j, "seldom", c->seldom);
		json_i64(j, "samples", c->readings);
		json_i64(j, "readings", c->readings); /* the older name */
		report_json_figure(j, "mean", c->mean);
		report_json_figure(j, "maximum", c->maximum);
		columns_make(&columns, c, &t, !extremes || extremes(r, i));
		json_columns(&columns, j);
		json_end_object(j);
	}
	json_end_array(j);
	free(columns.list);
	free(t.list);
	return begin;
}
