/* Axes and lines of charts; see plot_axis.h. */
#include "plot/plot_axis.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define BROKEN_AFTER 5 /* periods without a point */

/* ---- values, without libm: the program itself does not link it
 * ---------------------------------------------------------------------------- */

/* 1, 2 or 5 times a power of ten, not much below v. */
static double round_step(double v)
{
	double power = 1, below = 1;

	while (power * 10 <= v)
		power *= 10;
	while (v * below < 1)
		below *= 10;
	power /= below; /* one of them is 1, so that the quotient is exact to the last digit */
	double m = v / power;

	return power * (m <= 1.03 ? 1 : m <= 2.06 ? 2 : m <= 5.15 ? 5 : 10);
}

/* Steps of minutes and hours as on a clock. */
static double clock_step(double v, const struct unit_prefix *p)
{
	static const double minutes[] = {1, 2, 5, 10, 15, 30, 60}, hours[] = {1, 2, 3, 6, 12, 24};
	const double *steps = p->factor == 60 ? minutes : hours;
	size_t n = p->factor == 60 ? ARRAY_SIZE(minutes) : ARRAY_SIZE(hours);

	for (size_t i = 0; i < n && v > 0.5; i++)
		if (v <= steps[i] * 1.0000001)
			return steps[i];
	return round_step(v);
}

void plot_axis_linear(struct plot_axis *a, double low, double high, const char *unit, size_t about)
{
	struct unit_scale scale;
	const struct unit_scale *u = &scale;

	*a = (struct plot_axis){0};
	unit_find(&scale, unit);
	if (!isfinite(low) || !isfinite(high) || low > high || fabs(high) > 1e300 ||
	    fabs(low) > 1e300) {
		low = 0;
		high = 1;
	}
	/* as good as 0 */
	if (fabs(high) < 1e-290 && fabs(low) < 1e-290)
		low = high = 0;
	/* 0 is part of the axis, unless it means nothing and is far away */
	if (low > 0 && !(u->floating && low > high / 2))
		low = 0;
	if (high < 0)
		high = 0;
	if (high - low < fabs(high) * 1e-9 || high == low) {
		high = high > 0 ? high * 1.0001 : high + 1;
		low = low > 0 ? low * 0.9999 : low;
	}
	const struct unit_prefix *p =
		unit_prefix_for(u, (fabs(high) > fabs(low) ? high : low) * u->factor);
	/* 200 to 1000 rather than 0.2 k to 1.0 k */
	if (!u->binary && !u->clock && p->factor > 1 &&
	    (fabs(high) > fabs(low) ? fabs(high) : fabs(low)) * u->factor < 2 * p->factor)
		p--;
	double one = p->factor / u->factor; /* of the prefix, in the unit of the plot */
	double want = (high - low) / one / (double)(about ? about : 1);
	double step = u->clock && (p->factor == 60 || p->factor == 3600) ? clock_step(want, p)
									 : round_step(want);
	/* a value that is slightly beyond a tick needs no further step */
	double first = floor(low / one / step + 0.02), last = ceil(high / one / step - 0.02);
	int digits = 0;

	for (double s = step; s < 1 - 1e-9 && digits < 9; s *= 10)
		digits++;

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
		snprintf(t->label, sizeof(t->label) - 16, "%.*f", digits, k * step);
		unit_add_symbol(t->label, sizeof(t->label), u, p);
	}
}

double plot_axis_place(const struct plot_axis *a, double value)
{
	double place =
		a->log_place ? a->log_place(a, value) : (value - a->low) / (a->high - a->low);

	if (a->log_place && !(value > 0))
		return 0;
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
		1,      2,      5,      10,      15,      30,      60,       120,       300,
		600,    900,    1800,   3600,    7200,    10800,   21600,    43200,     86400,
		172800, 432000, 864000, 1728000, 4320000, 8640000, 31536000, 315360000,
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
		int digits = 6;
		size_t n = strlen(t->label);

		/* microseconds, or as many as the step needs of milliseconds */
		for (; step % 1000 == 0 && digits > 3; digits--)
			rest /= 10;
		for (; step % 10000 == 0 && digits > 1 && digits < 4; digits--, step /= 10)
			rest /= 10;
		snprintf(t->label + n, sizeof(t->label) - n, ".%0*lld", digits, (long long)rest);
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

size_t plot_reduce(const struct points *c, int64_t begin, int64_t end, struct plot_column *columns,
		   size_t count)
{
	int64_t period = points_period(c), before = 0;
	double scale = end > begin ? (double)count / (double)(end - begin) : 0;
	size_t used = 0;
	bool broken = true;

	for (size_t i = 0; i < c->count; i++) {
		const struct point *p = &c->points[i];

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
