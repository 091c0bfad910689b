/* Arithmetic on curves; see curve.h. */
#include "analysis/curve.h"

void curve_release(struct curve *c)
{
	free(c->points);
	*c = (struct curve){0};
}

void curve_add(struct curve *c, int64_t time, double value, double low, double high)
{
	GROW(c->points, c->count, c->cap);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is room now */
	c->points[c->count++] = (struct curve_point){time, value, low, high};
}

/* ---- one curve ------------------------------------------------------------------------------ */

/* What a counter grew by a second from one point to the next; false when it went back. */
static bool rate_between(const struct curve_point *a, const struct curve_point *b, double *ret)
{
	if (b->time <= a->time || b->value < a->value)
		return false;
	*ret = (b->value - a->value) * 1e6 / (double)(b->time - a->time);
	return true;
}

void curve_rate(const struct curve *in, struct curve *out)
{
	double rate;

	for (size_t i = 1; i < in->count; i++)
		if (rate_between(&in->points[i - 1], &in->points[i], &rate))
			curve_add(out, in->points[i].time, rate, rate, rate);
}

void curve_become_rate(struct curve *c)
{
	struct curve_point before = c->count ? c->points[0] : (struct curve_point){0};
	size_t kept = 0;
	double rate;

	for (size_t i = 1; i < c->count; i++) {
		struct curve_point p = c->points[i];

		if (rate_between(&before, &p, &rate))
			c->points[kept++] = (struct curve_point){p.time, rate, rate, rate};
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

/* Adds growth over a time to the step that begins there. value: growth, low: time it took. */
static void add_growth(struct curve *out, int64_t begin, double growth, double time)
{
	struct curve_point *last = out->count ? &out->points[out->count - 1] : NULL;

	if (!last || last->time != begin) {
		curve_add(out, begin, growth, time, 0);
		return;
	}
	last->value += growth;
	last->low += time;
}

void curve_rate_steps(const struct curve *in, int64_t step, struct curve *out)
{
	for (size_t i = 1; i < in->count; i++) {
		const struct curve_point *a = &in->points[i - 1], *b = &in->points[i];

		if (b->time <= a->time || b->value < a->value)
			continue;
		double each = (b->value - a->value) / (double)(b->time - a->time);
		/* a gap of more steps than anybody can look at is no curve */
		if ((b->time - a->time) / step > 1000000)
			continue;
		for (int64_t at = a->time; at < b->time;) {
			int64_t begin = step_of(at, step), end = begin + step;

			end = end < b->time ? end : b->time;
			add_growth(out, begin, each * (double)(end - at), (double)(end - at));
			at = end;
		}
	}
	for (size_t i = 0; i < out->count; i++) {
		struct curve_point *p = &out->points[i];

		p->value = p->value * 1e6 / p->low;
		p->low = p->high = p->value;
	}
}

void curve_mean_steps(const struct curve *in, int64_t step, struct curve *out)
{
	size_t n = 0;

	for (size_t i = 0; i < in->count; i++) {
		const struct curve_point *p = &in->points[i];
		struct curve_point *last = out->count ? &out->points[out->count - 1] : NULL;
		int64_t begin = step_of(p->time, step);

		if (!last || last->time != begin) {
			if (last)
				last->value /= (double)n;
			curve_add(out, begin, p->value, p->low, p->high);
			n = 1;
			continue;
		}
		last->value += p->value;
		last->low = p->low < last->low ? p->low : last->low;
		last->high = p->high > last->high ? p->high : last->high;
		n++;
	}
	if (out->count)
		out->points[out->count - 1].value /= (double)n;
}

void curve_hold_steps(const struct curve *in, int64_t step, int64_t age, struct curve *out)
{
	for (size_t i = 0; i < in->count; i++) {
		const struct curve_point *p = &in->points[i];
		int64_t end = p->time + age;

		if (i + 1 < in->count && in->points[i + 1].time < end)
			end = in->points[i + 1].time;
		for (int64_t at = step_of(p->time + step - 1, step); at < end; at += step)
			curve_add(out, at, p->value, p->low, p->high);
	}
}

void curve_growth(struct curve *c)
{
	double sum = 0, before = c->count ? c->points[0].value : 0;

	for (size_t i = 0; i < c->count; i++) {
		struct curve_point *p = &c->points[i];

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

int64_t curve_period(const struct curve *c)
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

/* ---- several -------------------------------------------------------------------------------- */

static double join(double a, double b, enum metric_agg agg)
{
	if (agg == AGG_MAX)
		return a > b ? a : b;
	if (agg == AGG_MIN)
		return a < b ? a : b;
	return a + b;
}

void curve_combine(struct curve *to, const struct curve *other, enum metric_agg agg, bool carry)
{
	struct curve out = {0};
	size_t a = 0, b = 0;

	while (a < to->count || b < other->count) {
		const struct curve_point *p = a < to->count ? &to->points[a] : NULL;
		const struct curve_point *q = b < other->count ? &other->points[b] : NULL;
		int64_t time = p && (!q || p->time <= q->time) ? p->time : q ? q->time : 0;

		/* which of the two count here, and with which point */
		p = p && p->time == time ? &to->points[a++]
		    : carry && a         ? &to->points[a - 1]
					 : NULL;
		q = q && q->time == time ? &other->points[b++]
		    : carry && b         ? &other->points[b - 1]
					 : NULL;
		if (p && q)
			curve_add(&out, time, join(p->value, q->value, agg),
				  join(p->low, q->low, agg), join(p->high, q->high, agg));
		else if (p || q)
			curve_add(&out, time, (p ? p : q)->value, (p ? p : q)->low,
				  (p ? p : q)->high);
	}
	curve_release(to);
	*to = out;
}
