/*
 * How many more runs an inconclusive comparison needs. The bootstrap of the runs so far shows how
 * far the median of each set may be off; that shrinks with the square root of the number of runs.
 */
#include <math.h>

#include "analysis/comparison/compare_internal.h"
#include "analysis/sorted.h"

/* Quantiles of the normal distribution as multiples of that of 5 %, to extrapolate from there: the
 * extreme quantiles of a bootstrap of few runs are outliers. */
static double tail_factor(double level)
{
	static const struct {
		double level, factor;
	} rows[] = {{0.05, 1},      {0.02, 1.249}, {0.01, 1.414}, {0.005, 1.566}, {0.002, 1.750},
		    {0.001, 1.879}, {1e-4, 2.261}, {1e-5, 2.593}, {1e-6, 2.890}};
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(rows) && rows[i].level > level)
		i++;
	return rows[i].factor;
}

/* How far a median may be off in one direction, relative to it: by the confidence that the verdict
 * needs, and by chance in the new runs. Squared, times the number of runs. */
static double noise_of(const struct resampled *r, double level, bool up)
{
	const double median = sorted_median(r->v, r->w.n);
	const double chance =
		fabs(bootstrap_median_quantile(r, up ? COMPARE_POWER : 1 - COMPARE_POWER) - median);
	const double far = fabs(bootstrap_median_quantile(r, up ? 0.95 : 0.05) - median);
	/* more than three times as far is an outlier; it is twice for the normal distribution */
	const double bound = chance > 0 && far > 3 * chance ? 3 * chance : far;
	const double off = (bound * tail_factor(level) + chance) / median;

	/* few runs show less than their noise */
	return off * off * (double)(r->w.n + 4);
}

/* What the runs have to tell apart: at least a difference as large as the minimum effect, which is
 * "no change" from "twice the minimum effect". Half of the distance between the present medians and
 * the minimum effect, if that is more; all of it would trust them too much. */
static double distance_of(const struct comparison *c, bool above)
{
	const double share = c->absolute / c->b_median, ratio = c->a_median / c->b_median;
	const double effect = share > c->relative ? share : c->relative;
	const double beyond = above ? ratio / (1 + effect) - 1 : (1 + effect) / ratio - 1;

	return beyond / 2 > effect ? beyond / 2 : effect;
}

/* The first number of runs that allows a conclusion, whatever the values. */
static size_t least_runs(double level)
{
	size_t n = COMPARE_RUNS_MIN;

	while (n < COMPARE_RUNS_MAX && compare_least(n, n) > level)
		n++;
	return n;
}

static size_t beyond(size_t wanted, size_t have)
{
	return wanted > have ? wanted - have : 0;
}

/* Rounds up, to a number in [least, COMPARE_RUNS_MAX]; SIZE_MAX: it is above. */
static size_t runs_of(double wanted, size_t least)
{
	if (!(wanted <= COMPARE_RUNS_MAX))
		return SIZE_MAX;
	const size_t n = (size_t)wanted + 1;
	return n > least ? n : least;
}

static void set_plan(struct comparison *c, size_t a, size_t b)
{
	c->more_a = beyond(a, c->a_runs);
	c->more_b = beyond(b, c->b_runs);
	if (!c->more_a && !c->more_b)
		c->more_a = 1;
}

void compare_plan(struct comparison *c, const struct compare_sets *s, double alpha, size_t family)
{
	const struct compare_limit l = compare_limit_of(c);
	const double margin =
		l.relative * c->b_median > l.absolute ? l.relative * c->b_median : l.absolute;
	const bool above = c->a_median > c->b_median + margin;
	const double level = above ? alpha / (double)(family ? family : 1) : alpha;
	const size_t least = least_runs(level);

	/* without noise to see, what any conclusion needs */
	if (!compare_has_enough(c) || !(c->b_median > 0) || !(c->a_median > 0)) {
		set_plan(c, least, least);
		return;
	}
	const double a_noise = noise_of(&s->a, level, !above),
		     b_noise = noise_of(&s->b, level, above);
	const double d = distance_of(c, above), room = d * d - b_noise / (double)c->b_runs;
	const size_t both = runs_of((a_noise + b_noise) / (d * d), least);
	const size_t alone =
		room > 0 && c->b_runs >= least ? runs_of(a_noise / room, least) : SIZE_MAX;
	if (alone != SIZE_MAX &&
	    (both == SIZE_MAX ||
	     beyond(alone, c->a_runs) <= beyond(both, c->a_runs) + beyond(both, c->b_runs)))
		set_plan(c, alone, c->b_runs);
	else if (both != SIZE_MAX)
		set_plan(c, both, both);
	else
		c->more_a = c->more_b = SIZE_MAX;
}
