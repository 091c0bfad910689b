/* Axes and lines of charts; see plot_axis.h. */
#include "plot/plot_axis.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define BROKEN_AFTER 5    /* usual distances without a point */
#define ZERO_PART 0.1     /* of a logarithmic axis that has room for 0 */
#define LOG_DECADES_MAX 9 /* below the largest value; what is smaller is at the bottom */

/* ---- linear axes ---------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, not much below v. */
static double round_step(double v)
{
	double power = pow(10, floor(log10(v)));
	double m = v / power;

	return power * (m <= 1.03 ? 1 : m <= 2.06 ? 2 : m <= 5.15 ? 5 : 10);
}

/* Of minutes and hours: what clocks count in. */
static double clock_step(double v, const struct plot_prefix *p)
{
	static const double minutes[] = {1, 2, 5, 10, 15, 30, 60}, hours[] = {1, 2, 3, 6, 12, 24};
	const double *steps = p->factor == 60 ? minutes : hours;
	size_t n = p->factor == 60 ? ARRAY_SIZE(minutes) : ARRAY_SIZE(hours);

	for (size_t i = 0; i < n && v > 0.5; i++)
		if (v <= steps[i] * 1.0000001)
			return steps[i];
	return round_step(v);
}

static void linear_axis(struct plot_axis *a, double low, double high, const struct plot_unit *u,
			size_t about)
{
	/* 0 belongs to it, unless it says nothing and is far away */
	if (low > 0 && !(u->floating && low > high / 2))
		low = 0;
	if (high < 0)
		high = 0;
	if (high - low < fabs(high) * 1e-9 || high == low) {
		high = high > 0 ? high * 1.0001 : high + 1;
		low = low > 0 ? low * 0.9999 : low;
	}
	const struct plot_prefix *p =
		plot_unit_prefix(u, (fabs(high) > fabs(low) ? high : low) * u->factor);
	/* 200 to 1000 rather than 0.2 k to 1.0 k */
	if (!u->binary && !u->clock && p->factor > 1 &&
	    (fabs(high) > fabs(low) ? fabs(high) : fabs(low)) * u->factor < 2 * p->factor)
		p--;
	double one = p->factor / u->factor; /* of the prefix, in the unit of the plot */
	double want = (high - low) / one / (double)(about ? about : 1);
	double step = u->clock && (p->factor == 60 || p->factor == 3600) ? clock_step(want, p)
									 : round_step(want);
	/* what sticks out by a hair is no reason for another step */
	double first = floor(low / one / step + 0.02), last = ceil(high / one / step - 0.02);
	int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);

	a->low = first * step * one + 0.0; /* no -0 */
	a->high = last * step * one + 0.0;
	size_t marks =
		last - first < PLOT_TICKS_MAX - 1 ? (size_t)(last - first + 1.5) : PLOT_TICKS_MAX;
	for (size_t i = 0; i < marks; i++) {
		struct plot_tick *t = &a->ticks.list[a->ticks.count++];
		double k = first + (double)i;

		t->at = k * step * one;
		if (k == 0) {
			snprintf(t->label, sizeof(t->label), "0");
			continue;
		}
		snprintf(t->label, sizeof(t->label) - 16, "%.*f", digits < 9 ? digits : 9,
			 k * step);
		plot_unit_add(t->label, sizeof(t->label), u, p);
	}
}

/* ---- logarithmic axes -------------------------------------------------------------------------
 */

static void log_tick(struct plot_axis *a, double at, const char *unit, bool label)
{
	if (a->ticks.count == PLOT_TICKS_MAX || at < a->low * 0.999999 || at > a->high * 1.000001)
		return;
	struct plot_tick *t = &a->ticks.list[a->ticks.count++];
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	t->at = at;
	if (label) {
		plot_add_value(&text, at, unit);
		snprintf(t->label, sizeof(t->label), "%.31s", text.buf);
	}
}

/* Powers of 10, of 2 for bytes, so many apart that there are not too many of them. */
static void log_axis(struct plot_axis *a, double low, double high, const char *unit,
		     const struct plot_unit *u, size_t about)
{
	static const int steps2[] = {1, 2, 5, 10, 20, 30}, steps10[] = {1, 2, 3, 6, 9};
	bool two = u->binary;
	const int *steps = two ? steps2 : steps10;
	size_t n = two ? ARRAY_SIZE(steps2) : ARRAY_SIZE(steps10), i = 0;
	double f = u->factor, base = two ? 2 : 10;

	if (low < high * pow(10, -LOG_DECADES_MAX))
		low = high * pow(10, -LOG_DECADES_MAX);
	double first = floor(log(low * f) / log(base) + 1e-9);
	double last = ceil(log(high * f) / log(base) - 1e-9);
	if (last <= first)
		last = first + 1;
	/* what is always the same is not drawn along the edge */
	if (high < low * 1.01 && low * f < pow(base, first) * 1.05)
		first--;
	while (i + 1 < n && (last - first) / steps[i] > (double)about)
		i++;
	/* whole steps, so that KiB and MiB are marked rather than what lies between; but no room
	 * that nothing is drawn in */
	double bottom = floor(first / steps[i]) * steps[i], top = ceil(last / steps[i]) * steps[i];
	a->low = pow(base, first - bottom > steps[i] * 0.5 ? first : bottom) / f;
	a->high = pow(base, top - last > steps[i] * 0.5 ? last : top) / f;
	for (int e = (int)bottom; e <= (int)top; e += steps[i]) {
		log_tick(a, pow(base, e) / f, unit, true);
		for (int m = 2; m <= 9 && !two && steps[i] == 1 && top - bottom <= 4; m++)
			log_tick(a, m * pow(base, e) / f, unit,
				 top - bottom <= 1 && (m == 2 || m == 5));
	}
}

void plot_axis_values(struct plot_axis *a, double low, double high, const char *unit,
		      bool logarithmic, size_t about)
{
	struct plot_unit u;

	*a = (struct plot_axis){0};
	plot_unit_find(&u, unit);
	if (!isfinite(low) || !isfinite(high) || low > high || fabs(high) > 1e300 ||
	    fabs(low) > 1e300) {
		low = 0;
		high = 1;
		logarithmic = false;
	}
	/* what is too small to tell from 0 */
	if (fabs(high) < 1e-290 && fabs(low) < 1e-290)
		low = high = 0;
	a->logarithmic = logarithmic && high > 0 && low > 0;
	if (a->logarithmic)
		log_axis(a, low, high, unit, &u, about);
	else
		linear_axis(a, low, high, &u, about);
}

void plot_axis_add_zero(struct plot_axis *a, bool negative)
{
	struct plot_ticks *t = &a->ticks;

	a->zero = ZERO_PART;
	t->count -= t->count == PLOT_TICKS_MAX;
	memmove(&t->list[1], &t->list[0], t->count * sizeof(t->list[0]));
	t->list[0] = (struct plot_tick){0};
	snprintf(t->list[0].label, sizeof(t->list[0].label), negative ? "\u2264 0" : "0");
	t->count++;
}

double plot_axis_place(const struct plot_axis *a, double value)
{
	double place;

	if (a->logarithmic && !(value > 0))
		return 0;
	if (a->logarithmic)
		place = log(value / a->low) / log(a->high / a->low);
	else
		place = (value - a->low) / (a->high - a->low);
	return a->zero + (1 - a->zero) * (place < 0 ? 0 : place > 1 ? 1 : place);
}

/* ---- times ---------------------------------------------------------------------------------- */

#define SECOND ((int64_t)1000000)
#define DAY (86400 * SECOND)

/* Seconds that local time is ahead of UTC. */
static int64_t ahead_of_utc(int64_t us)
{
	time_t t = (time_t)(us / SECOND - (us % SECOND < 0));
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

static int64_t time_step(int64_t want)
{
	static const int64_t seconds_steps[] = {
		1,           2,
		5,           10,
		15,          30,
		60,          120,
		300,         600,
		900,         1800,
		3600,        7200,
		10800,       21600,
		43200,       86400,
		172800,      432000,
		864000,      1728000,
		86400 * 50,  86400 * 100,
		86400 * 365, (int64_t)86400 * 3650,
	};
	int64_t power = 1;

	while (want <= SECOND / 2 && power < SECOND) {
		if (want <= power)
			return power;
		if (want <= 2 * power)
			return 2 * power;
		if (want <= 5 * power)
			return 5 * power;
		power *= 10;
	}
	for (size_t i = 0; i < ARRAY_SIZE(seconds_steps); i++)
		if (want <= seconds_steps[i] * SECOND)
			return seconds_steps[i] * SECOND;
	return want;
}

static void time_label(struct plot_tick *t, int64_t at, int64_t step, const struct tm *before)
{
	time_t s = (time_t)(at / SECOND - (at % SECOND < 0));
	int64_t rest = at - (int64_t)s * SECOND;
	struct tm tm = {0};

	(void)localtime_r(&s, &tm);
	bool new_day = !before || before->tm_yday != tm.tm_yday || before->tm_year != tm.tm_year;

	if (step >= DAY) {
		(void)strftime(t->label, sizeof(t->label), "%m-%d", &tm);
		if (!before || before->tm_year != tm.tm_year)
			(void)strftime(t->date, sizeof(t->date), "%Y", &tm);
		return;
	}
	(void)strftime(t->label, sizeof(t->label), step % (60 * SECOND) ? "%H:%M:%S" : "%H:%M",
		       &tm);
	if (step < SECOND) {
		int digits = step % 100000 == 0  ? 1
			     : step % 10000 == 0 ? 2
			     : step % 1000 == 0  ? 3
						 : 6;
		size_t n = strlen(t->label);

		snprintf(t->label + n, sizeof(t->label) - n, ".%0*lld", digits,
			 (long long)(rest / (digits == 1   ? 100000
					     : digits == 2 ? 10000
					     : digits == 3 ? 1000
							   : 1)));
	}
	if (new_day)
		(void)strftime(t->date, sizeof(t->date), "%Y-%m-%d", &tm);
}

void plot_time_ticks(struct plot_ticks *t, int64_t begin, int64_t end, size_t about)
{
	struct tm before = {0};

	t->count = 0;
	if (end <= begin || end - begin > INT64_MAX / 8)
		return;
	int64_t step = time_step((end - begin) / (int64_t)(about ? about : 1));
	int64_t ahead = ahead_of_utc(begin) * SECOND;
	int64_t local = begin + ahead, rest = local % step;

	local += rest > 0 ? step - rest : rest < 0 ? -rest : 0;
	for (; t->count < PLOT_TICKS_MAX; local += step) {
		/* round in local time on both sides of a change of the clocks */
		int64_t at = local - ahead;
		int64_t now = ahead_of_utc(at) * SECOND;

		if (step > SECOND * 1800 && now != ahead) {
			at = local - now;
			ahead = now;
		}
		if (at > end)
			break;
		if (at < begin || (t->count && (double)at <= t->list[t->count - 1].at))
			continue;
		struct plot_tick *tick = &t->list[t->count++];
		time_t s = (time_t)(at / SECOND - (at % SECOND < 0));

		*tick = (struct plot_tick){.at = (double)at};
		time_label(tick, at, step, t->count > 1 ? &before : NULL);
		(void)localtime_r(&s, &before);
	}
}

/* ---- lines ---------------------------------------------------------------------------------- */

size_t plot_reduce(const struct curve *c, int64_t begin, int64_t end, struct plot_column *columns,
		   size_t count)
{
	int64_t period = curve_period(c), before = 0;
	double scale = end > begin ? (double)count / (double)(end - begin) : 0;
	size_t used = 0;
	bool broken = true;

	for (size_t i = 0; i < c->count; i++) {
		const struct curve_point *p = &c->points[i];

		if (p->time < begin || p->time > end)
			continue;
		if (!isfinite(p->value)) {
			broken = true;
			continue;
		}
		if (period && p->time - before > BROKEN_AFTER * period)
			broken = true;
		double x = (double)(p->time - begin) * scale;
		size_t k = x < (double)count ? (size_t)x : count - 1;
		double in = x - (double)k, v = p->value;
		double low = isfinite(p->low) && p->low < v ? p->low : v;
		double high = isfinite(p->high) && p->high > v ? p->high : v;
		struct plot_column *to = &columns[k];

		if (!to->count) {
			*to = (struct plot_column){v, v, low, high, 0, in, in, 0, !broken};
		}
		to->low = low < to->low ? low : to->low;
		to->high = high > to->high ? high : to->high;
		to->last = v;
		to->last_x = in;
		to->count++;
		to->mean += (v - to->mean) / (double)to->count;
		used++;
		broken = false;
		before = p->time;
	}
	return used;
}
