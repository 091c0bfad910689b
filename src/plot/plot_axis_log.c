/* Logarithmic axes; see plot_axis.h. Only the module "draw" needs them, and with them libm. */
#include <math.h>
#include <string.h>

#include "plot/plot_axis.h"

#define ZERO_PART 0.1     /* of the axis, for the value 0 */
#define LOG_DECADES_MAX 9 /* below the largest value; smaller values are at the bottom */

static void log_tick(struct plot_axis *a, double at, const char *unit, bool label)
{
	if (a->ticks.count == PLOT_TICKS_MAX || at < a->low * 0.999999 || at > a->high * 1.000001)
		return;
	struct plot_tick *t = &a->ticks.list[a->ticks.count++];
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	t->at = at;
	if (label) {
		unit_add_value(&text, at, unit);
		snprintf(t->label, sizeof(t->label), "%.31s", text.buf);
	}
}

/* Powers of 10, for bytes of 2, with steps so large that they are not too many. */
static void log_axis(struct plot_axis *a, double low, double high, const char *unit,
		     const struct unit_scale *u, size_t about)
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
	/* a constant is not drawn along the edge */
	if (high < low * 1.01 && low * f < pow(base, first) * 1.05)
		first--;
	while (i + 1 < n && (last - first) / steps[i] > (double)about)
		i++;
	/* whole steps, so that KiB and MiB are marked rather than values between; but no large
	 * empty part */
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

static double log_place(const struct plot_axis *a, double value)
{
	return log(value / a->low) / log(a->high / a->low);
}

void plot_axis_values(struct plot_axis *a, double low, double high, const char *unit,
		      bool logarithmic, size_t about)
{
	struct unit_scale u;

	if (!logarithmic || !(low > 1e-290 && high <= 1e300 && low <= high)) {
		plot_axis_linear(a, low, high, unit, about);
		return;
	}
	*a = (struct plot_axis){.log_place = log_place};
	unit_find(&u, unit);
	log_axis(a, low, high, unit, &u, about);
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
