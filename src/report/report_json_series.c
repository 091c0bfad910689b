/*
 * Curves in the JSON of a report. Most of a page's bytes are these, so all curves share one list of
 * times, and a curve is columns of whole numbers: counts of a power of ten that is chosen for it;
 * see docs/reports.md.
 */
#include <math.h>

#include "plot/unit_scale.h"
#include "report/report_json.h"

#define PEAK_DIGITS 4      /* at least, of the largest value: a chart is 132 pixels high */
#define PEAK_DIGITS_MAX 7  /* what is smaller than a millionth of it cannot be seen beside it */
#define VALUE_SMALLEST 100 /* three digits, as many as the page writes under the pointer */

/* ---- times ---------------------------------------------------------------------------------- */

struct times {
	int64_t *list;
	size_t count;
};

static bool has_all(const struct times *t, const struct curve *c)
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

static void merge(struct times *t, const struct curve *c)
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

static struct range range_of(const struct curve *c)
{
	struct range r = {.low = INFINITY, .high = -INFINITY};

	for (size_t i = 0; i < c->count; i++) {
		const struct curve_point *p = &c->points[i];
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

/* More than a tenth of the values would have fewer than three digits: those between rare peaks are
 * looked at, too. Where the axis does not begin at 0 the same is asked of the whole range. */
static bool is_coarse(const struct curve *c, const struct range *r, bool from_zero, int exponent)
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

static int exponent_of(const struct report_curve *c)
{
	struct range r = range_of(&c->points);
	bool from_zero = scale_of(c->unit ? c->unit : "", r.largest).from_zero;
	int digits = PEAK_DIGITS, exponent = 0;

	if (r.largest < 1e-290) /* and what has no power of ten to be counted in */
		return 0;
	while (count_of(r.largest, exponent) >= 10)
		exponent++;
	while (count_of(r.largest, exponent) < 1)
		exponent--;
	exponent -= digits - 1;
	for (; digits < PEAK_DIGITS_MAX && is_coarse(&c->points, &r, from_zero, exponent); digits++)
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

static struct number number_of(const struct curve_point *p, int exponent)
{
	if (!isfinite(p->value))
		return (struct number){0};
	return (struct number){.known = true,
			       .value = round_i64(count_of(p->value, exponent)),
			       .below = distance(p->low, p->value, exponent),
			       .above = distance(p->value, p->high, exponent)};
}

/* ---- curves --------------------------------------------------------------------------------- */

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

/* Zeros at the end of all numbers say nothing. */
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

static void columns_make(struct columns *s, const struct report_curve *c, const struct times *t,
			 bool extremes)
{
	const struct curve *curve = &c->points;

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

static void json_columns(const struct columns *s, struct jsonw *j)
{
	char scale[16];
	int n = snprintf(scale, sizeof(scale), "1e%d", s->exponent);

	json_raw(j, "scale", scale, (size_t)n);
	jsonw_u64(j, "first", s->first);
	jsonw_begin_array(j, "values");
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].known)
			jsonw_i64(j, NULL, s->list[i].value);
		else
			jsonw_null(j, NULL);
	jsonw_end_array(j);
	if (s->below) {
		jsonw_begin_array(j, "below");
		for (size_t i = 0; i < s->count; i++)
			jsonw_i64(j, NULL, s->list[i].below);
		jsonw_end_array(j);
	}
	if (s->above) {
		jsonw_begin_array(j, "above");
		for (size_t i = 0; i < s->count; i++)
			jsonw_i64(j, NULL, s->list[i].above);
		jsonw_end_array(j);
	}
}

void report_json_curves(const struct report *r, struct jsonw *j, int64_t origin,
			report_extremes *extremes)
{
	struct times t = {0};

	for (size_t i = 0; i < r->curve_count; i++)
		if (!has_all(&t, &r->curves[i].points))
			merge(&t, &r->curves[i].points);
	jsonw_begin_array(j, "times");
	for (size_t i = 0; i < t.count; i++)
		report_json_time(j, t.list[i], origin);
	jsonw_end_array(j);
	struct columns columns = {.list = xcalloc(t.count + 1, sizeof(*columns.list))};
	jsonw_u64(j, "curves_left_out", r->curves_left_out);
	jsonw_begin_array(j, "curves");
	for (size_t i = 0; i < r->curve_count; i++) {
		const struct report_curve *c = &r->curves[i];

		jsonw_begin_object(j, NULL);
		jsonw_str(j, "panel", c->panel);
		jsonw_str(j, "metric", c->metric);
		jsonw_str(j, "label", c->label);
		jsonw_str(j, "unit", c->unit);
		jsonw_str(j, "host", c->host);
		jsonw_str(j, "entity", c->entity);
		jsonw_bool(j, "rate", c->counter);
		jsonw_bool(j, "seldom", c->seldom);
		jsonw_i64(j, "readings", c->readings);
		report_json_figure(j, "mean", c->mean);
		report_json_figure(j, "maximum", c->maximum);
		columns_make(&columns, c, &t, !extremes || extremes(r, i));
		json_columns(&columns, j);
		jsonw_end_object(j);
	}
	jsonw_end_array(j);
	free(columns.list);
	free(t.list);
}
