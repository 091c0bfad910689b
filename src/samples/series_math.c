/* Arithmetic on points of series; see series_math.h. */
#include "samples/series_math.h"

#include <math.h>

#include "samples/time_mean.h"

/* A longer gap is not filled with steps. */
#define STEPS_MAX 1000000

void points_release(struct points *c)
{
	free(c->points);
	*c = (struct points){0};
}

void points_add(struct points *c, int64_t time, double value, double low, double high)
{
	GROW(c->points, c->count, c->cap);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is room now */
	c->points[c->count++] = (struct point){time, value, low, high, 0};
}

int64_t points_since(const struct points *c, size_t point)
{
	const struct point *p = &c->points[point];
	int64_t before = point ? p[-1].time : INT64_MIN;

	/* no time counts twice */
	if (p->over > 0 && (!point || p->time - p->over > before))
		return p->time - p->over;
	return point && before < p->time ? before : p->time;
}

/* ---- one series ---- */

/* The rate of a counter between two points; false: it decreased. */
static bool rate_between(const struct point *a, const struct point *b, double *ret)
{
	if (b->time <= a->time || !(b->value >= a->value))
		return false;
	*ret = (b->value - a->value) * 1e6 / (double)(b->time - a->time);
	return true;
}

void points_become_rate(struct points *c)
{
	struct point before = c->count ? c->points[0] : (struct point){0};
	size_t kept = 0;
	double rate;

	for (size_t i = 1; i < c->count; i++) {
		struct point p = c->points[i];

		if (rate_between(&before, &p, &rate))
			c->points[kept++] =
				(struct point){p.time, rate, rate, rate, p.time - before.time};
		before = p;
	}
	c->count = kept;
}

/* The beginning of the step that a time is in. */
static int64_t step_of(int64_t time, int64_t step)
{
	int64_t rest = time % step;

	return time - (rest < 0 ? rest + step : rest);
}

/* Adds growth to the step that begins there. value: growth, low: its time. */
static void add_growth(struct points *out, int64_t begin, double growth, double time)
{
	struct point *last = out->count ? &out->points[out->count - 1] : NULL;

	if (!last || last->time != begin) {
		points_add(out, begin, growth, time, 0);
		return;
	}
	last->value += growth;
	last->low += time;
}

void points_rate_steps(const struct points *in, int64_t step, struct points *out)
{
	for (size_t i = 1; i < in->count; i++) {
		const struct point *a = &in->points[i - 1], *b = &in->points[i];

		if (b->time <= a->time || !(b->value >= a->value))
			continue;
		double each = (b->value - a->value) / (double)(b->time - a->time);
		if ((b->time - a->time) / step > STEPS_MAX)
			continue;
		for (int64_t at = a->time; at < b->time;) {
			int64_t begin = step_of(at, step), end = begin + step;

			end = end < b->time ? end : b->time;
			add_growth(out, begin, each * (double)(end - at), (double)(end - at));
			at = end;
		}
	}
	for (size_t i = 0; i < out->count; i++) {
		struct point *p = &out->points[i];

		p->value = p->value * 1e6 / p->low;
		p->low = p->high = p->value;
	}
}

/* Steps whose means are being computed. */
struct mean_steps {
	struct points *out;
	double *weight; /* us, by point of out */
	size_t cap;
};

/* Adds a value to the step that begins there; weight 0: of a point, used if there is nothing else.
 * Extremes are those of samples, if the step has one. */
static void add_mean(struct mean_steps *m, int64_t begin, double value, double weight, bool read)
{
	struct points *out = m->out;
	struct point *last = out->count ? &out->points[out->count - 1] : NULL;

	if (!last || last->time != begin) {
		double extreme = read ? value : NAN;

		points_add(out, begin, value, extreme, extreme);
		GROW(m->weight, out->count - 1, m->cap);
		m->weight[out->count - 1] = weight;
		return;
	}
	double all = m->weight[out->count - 1] + weight;
	if (weight > 0)
		last->value += (value - last->value) * weight / all;
	if (read && !(last->low <= value))
		last->low = value;
	if (read && !(last->high >= value))
		last->high = value;
	m->weight[out->count - 1] = all;
}

/* Adds a level or a mean between two times to the steps in between. */
static void add_span(struct mean_steps *m, int64_t step, const struct point *from,
		     const struct point *to, bool mean)
{
	if (to->time <= from->time || (to->time - from->time) / step > STEPS_MAX)
		return;
	for (int64_t at = from->time; at < to->time;) {
		int64_t begin = step_of(at, step), end = begin + step;

		end = end < to->time ? end : to->time;
		double v = mean ? to->value
				: time_level(from->time, from->value, to->time, to->value, at, end);
		/* a level between two samples was not measured */
		bool read = mean || (begin != step_of(from->time, step) &&
				     begin != step_of(to->time, step));
		add_mean(m, begin, v, (double)(end - at), read);
		at = end;
	}
}

void points_mean_steps(const struct points *in, enum metric_kind kind, int64_t step,
		       struct points *out)
{
	struct mean_steps m = {.out = out};
	struct time_usual usual = {0};
	bool mean = kind == KIND_MEAN;

	for (size_t i = 0; i < in->count; i++) {
		const struct point *p = &in->points[i];
		const struct point since = {.time = points_since(in, i)};

		if (mean)
			add_span(&m, step, &since, p, true);
		else if (i && !time_usual_gap(&usual, p->time - p[-1].time))
			add_span(&m, step, p - 1, p, false);
		add_mean(&m, step_of(p->time, step), p->value, 0, true);
	}
	for (size_t i = 0; i < out->count; i++)
		point_span(&out->points[i]);
	free(m.weight);
}

double points_time_mean(const struct points *c, enum metric_kind kind)
{
	struct time_mean m = {0};

	for (size_t i = 0; i < c->count; i++)
		if (isfinite(c->points[i].value))
			time_mean_add(&m, kind == KIND_COUNTER ? KIND_MEAN : kind,
				      c->points[i].over, c->points[i].time, c->points[i].value);
	return time_mean_value(&m);
}

void points_hold_steps(const struct points *in, int64_t step, int64_t age, struct points *out)
{
	for (size_t i = 0; i < in->count; i++) {
		const struct point *p = &in->points[i];
		int64_t begin = p->time - step / 2, end = p->time + age;

		if (i + 1 < in->count && in->points[i + 1].time - step / 2 < end)
			end = in->points[i + 1].time - step / 2;
		/* the duration of a mean belongs to its nearest multiple */
		for (int64_t at = step_of(begin + step - 1, step), over = p->over; at < end;
		     at += step, over = 0) {
			points_add(out, at, p->value, p->low, p->high);
			out->points[out->count - 1].over = over;
		}
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct points_span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

void points_known(struct points *c, struct points_span *spans, size_t count)
{
	struct points out = {0};
	int64_t until = INT64_MIN;
	size_t next = 0;

	if (count)
		qsort(spans, count, sizeof(*spans), by_begin);
	for (size_t i = 0; i < c->count; i++) {
		const struct point *p = &c->points[i];

		for (; next < count && spans[next].from <= p->time; next++) {
			/* nothing is known since the point before */
			if (i && until < spans[next].from && c->points[i - 1].time <= until)
				points_add(&out, c->points[i - 1].time + 1, NAN, NAN, NAN);
			until = spans[next].to > until ? spans[next].to : until;
		}
		points_add(&out, p->time, p->value, p->low, p->high);
		out.points[out.count - 1].over = p->over;
	}
	points_release(c);
	*c = out;
}

/* Spans in order of time; adjacent ones are joined. */
struct spans {
	struct points_span *list;
	size_t count, cap;
};

static void span_add(struct spans *s, int64_t from, int64_t to)
{
	if (s->count && s->list[s->count - 1].to == from) {
		s->list[s->count - 1].to = to;
		return;
	}
	GROW(s->list, s->count, s->cap);
	s->list[s->count++] = (struct points_span){from, to};
}

static void spans_merge(struct spans *s)
{
	size_t kept = 0;

	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_begin);
	for (size_t i = 0; i < s->count; i++) {
		struct points_span x = s->list[i];

		if (!kept || s->list[kept - 1].to < x.from)
			s->list[kept++] = x;
		else if (s->list[kept - 1].to < x.to)
			s->list[kept - 1].to = x.to;
	}
	s->count = kept;
}

/* How much of a time is outside of all spans; *at advances with increasing times. */
static int64_t time_outside(const struct spans *s, size_t *at, int64_t from, int64_t to)
{
	int64_t left = to - from;

	while (*at < s->count && s->list[*at].to <= from)
		++*at;
	for (size_t i = *at; i < s->count && s->list[i].from < to; i++) {
		int64_t begin = s->list[i].from > from ? s->list[i].from : from;

		left -= (s->list[i].to < to ? s->list[i].to : to) - begin;
	}
	return left;
}

static bool is_counted(const struct point *a, const struct point *b)
{
	return b->value >= a->value;
}

double points_mean_rate(const struct points *list, size_t count)
{
	struct spans known = {0}, gaps = {0};
	double growth = 0;
	int64_t time = 0;
	size_t at = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 1; k < list[i].count; k++) {
			const struct point *a = &list[i].points[k - 1], *b = a + 1;

			if (b->time > a->time)
				span_add(is_counted(a, b) ? &known : &gaps, a->time, b->time);
		}
	spans_merge(&known);
	spans_merge(&gaps);
	for (size_t i = 0; i < known.count; i++)
		time += time_outside(&gaps, &at, known.list[i].from, known.list[i].to);
	for (size_t i = 0; i < count; i++) {
		at = 0;
		for (size_t k = 1; k < list[i].count; k++) {
			const struct point *a = &list[i].points[k - 1], *b = a + 1;

			if (b->time <= a->time || !is_counted(a, b))
				continue;
			int64_t here = time_outside(&gaps, &at, a->time, b->time);
			growth += here == b->time - a->time ? b->value - a->value
							    : (b->value - a->value) * (double)here /
								      (double)(b->time - a->time);
		}
	}
	free(known.list);
	free(gaps.list);
	return time > 0 ? growth * 1e6 / (double)time : NAN;
}

void points_growth(struct points *c)
{
	double sum = 0, before = c->count ? c->points[0].value : 0;

	for (size_t i = 0; i < c->count; i++) {
		struct point *p = &c->points[i];

		if (p->value > before)
			sum += p->value - before;
		before = p->value;
		p->value = p->low = p->high = sum;
	}
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

int64_t points_period(const struct points *c)
{
	if (c->count < 2)
		return 0;
	size_t n = c->count - 1 < 1000 ? c->count - 1 : 1000;
	_cleanup_free_ int64_t *gaps = xcalloc(n, sizeof(*gaps));
	for (size_t i = 0; i < n; i++)
		gaps[i] = c->points[i + 1].time - c->points[i].time;
	qsort(gaps, n, sizeof(*gaps), by_number);
	return gaps[n / 2];
}

/* ---- several ---- */

/* Means at one time cover the same time, except those of new entities. */
static int64_t longer(const struct point *a, const struct point *b)
{
	int64_t one = a ? a->over : 0, other = b ? b->over : 0;

	return one > other ? one : other;
}

void points_combine(struct points *to, const struct points *other, enum metric_agg agg, bool carry)
{
	struct points out = {0};
	size_t a = 0, b = 0;

	while (a < to->count || b < other->count) {
		const struct point *p = a < to->count ? &to->points[a] : NULL;
		const struct point *q = b < other->count ? &other->points[b] : NULL;
		int64_t time = p && (!q || p->time <= q->time) ? p->time : q ? q->time : 0;

		/* which of the two count here, and which point of each */
		p = p && p->time == time ? &to->points[a++]
		    : carry && a         ? &to->points[a - 1]
					 : NULL;
		q = q && q->time == time ? &other->points[b++]
		    : carry && b         ? &other->points[b - 1]
					 : NULL;
		if (p && q)
			points_add(&out, time, agg_join(p->value, q->value, agg),
				   agg_join(p->low, q->low, agg), agg_join(p->high, q->high, agg));
		else if (p || q)
			points_add(&out, time, (p ? p : q)->value, (p ? p : q)->low,
				   (p ? p : q)->high);
		if (p || q)
			out.points[out.count - 1].over = longer(p, q);
	}
	points_release(to);
	*to = out;
}

/* ---- hosts ---- */

struct turn {
	int64_t time;
	size_t series, point;
};

static int by_turn(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* The point at or before a time; NULL: before the first. */
static const struct point *point_by(const struct points *c, size_t next)
{
	return next ? &c->points[next - 1] : NULL;
}

/* next: for each series, the index after its last point that is not later. */
static void add_time(const struct points *list, const size_t *next, size_t count, int64_t time,
		     enum metric_agg agg, bool carry, struct points *out)
{
	struct point sum = {.time = time};
	bool any = false, hole = false;

	for (size_t i = 0; i < count; i++) {
		const struct point *p = point_by(&list[i], next[i]);

		if (!p || (p->time != time && !carry && next[i] == list[i].count))
			continue;
		if (p->time != time && !carry) {
			hole = true;
			continue;
		}
		sum.value = any ? agg_join(sum.value, p->value, agg) : p->value;
		sum.low = any ? agg_join(sum.low, p->low, agg) : p->low;
		sum.high = any ? agg_join(sum.high, p->high, agg) : p->high;
		sum.over = longer(&sum, p);
		any = true;
	}
	if (hole)
		points_add(out, time, NAN, NAN, NAN);
	else if (any)
		points_add(out, time, sum.value, sum.low, sum.high);
	if (any && !hole)
		out->points[out->count - 1].over = sum.over;
}

void points_combine_hosts(const struct points *list, size_t count, enum metric_agg agg, bool carry,
			  struct points *out)
{
	_cleanup_free_ size_t *next = xcalloc(count + 1, sizeof(*next));
	_cleanup_free_ struct turn *turns = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < list[i].count; k++) {
			GROW(turns, n, cap);
			turns[n++] = (struct turn){list[i].points[k].time, i, k};
		}
	if (n)
		qsort(turns, n, sizeof(*turns), by_turn);
	for (size_t i = 0, to; i < n; i = to) {
		for (to = i; to < n && turns[to].time == turns[i].time; to++)
			if (next[turns[to].series] <= turns[to].point)
				next[turns[to].series] = turns[to].point + 1;
		add_time(list, next, count, turns[i].time, agg, carry, out);
	}
}
