/* Compares two sets of stored runs; see run_comparison.h. */
#include "views/comparison/run_comparison.h"

#include <errno.h>
#include <math.h>

#include "analysis/comparison/bootstrap.h"
#include "analysis/sorted.h"

const char *const comparison_metrics[] = {"duration", "cpu_time", "rssmax", "rchar", "wchar"};
const size_t comparison_metric_count = ARRAY_SIZE(comparison_metrics);

void run_comparison_release(struct run_comparison *c)
{
	run_figures_release(&c->figures);
	figure_metrics_release(&c->metrics);
	free(c->rows);
	free(c->labels);
	*c = (struct run_comparison){0};
}

double comparison_floor(enum metric_unit unit)
{
	switch (unit) {
	case UNIT_MICROSECONDS:
		return 100;
	case UNIT_NANOSECONDS:
		return 100e3;
	case UNIT_KIBIBYTES:
		return 256;
	case UNIT_BYTES:
		return 4096;
	case UNIT_BLOCKS:
		return 8;
	case UNIT_COUNT:
		return 10;
	default:
		return 0;
	}
}

static double median_of(const double *v, size_t count)
{
	_cleanup_free_ double *known = xcalloc(count + 1, sizeof(*known));
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (isfinite(v[i]))
			known[n++] = v[i];
	sort_values(known, n);
	return n ? sorted_median(known, n) : 0;
}

/* Can a part of a job matter? Not if it is below the least difference in all runs of both sets. */
static bool matters(const double *v, size_t count, double least)
{
	for (size_t i = 0; i < count; i++)
		if (v[i] > least)
			return true;
	return false;
}

static void add_row(struct run_comparison *c, const struct figure_rows *part, size_t metric,
		    double least)
{
	const double *v = part->v + metric * c->figures.runs;

	if (c->count >= c->cap) {
		c->cap = c->cap ? 2 * c->cap : 64;
		c->rows = xreallocarray(c->rows, c->cap, sizeof(*c->rows));
		c->labels = xreallocarray(c->labels, c->cap, sizeof(*c->labels));
	}
	c->labels[c->count] =
		(struct comparison_label){part->group, part->name, &c->metrics.v[metric]};
	c->rows[c->count++] = (struct comparison){.a = v,
						  .b = v + c->a_count,
						  .a_count = c->a_count,
						  .b_count = c->b_count,
						  .relative = c->min_effect,
						  .absolute = least,
						  .decides = part->group == FIGURES_JOB};
}

static void make_rows(struct run_comparison *c)
{
	const struct run_figures *f = &c->figures;

	for (size_t i = 0; i < f->count; i++)
		for (size_t m = 0; m < c->metrics.count; m++) {
			const struct figure_rows *part = &f->rows[i];
			const double *job = f->rows[0].v + m * f->runs;
			double least = comparison_floor(c->metrics.v[m].unit);

			if (part->group == FIGURES_JOB) {
				add_row(c, part, m, least);
				continue;
			}
			const double share = PART_OF_JOB * median_of(job + c->a_count, c->b_count);
			least = share > least ? share : least;
			if (c->metrics.v[m].column &&
			    matters(part->v + m * f->runs, f->runs, least))
				add_row(c, part, m, least);
		}
}

int run_comparison_make(struct run_comparison *c, struct store *s, const int64_t *jobs,
			const char *const *names, size_t name_count, unsigned groups,
			struct strbuf *why)
{
	const size_t count = c->a_count + c->b_count;
	int r = 0;

	if (!name_count) {
		names = comparison_metrics;
		name_count = comparison_metric_count;
	}
	for (size_t i = 0; i < name_count && r >= 0; i++)
		r = figure_metrics_add(&c->metrics, s, names[i], jobs, count, why);
	if (r >= 0)
		r = run_figures_load(&c->figures, s, jobs, count, &c->metrics, groups);
	if (r >= 0 && groups & 1u << FIGURES_PHASE)
		r = phase_figures_load(&c->figures, s, jobs);
	if (r < 0) {
		if (!why->len)
			strbuf_addstr(why, store_error(s));
		return r;
	}
	make_rows(c);
	c->verdict = compare_all(c->rows, c->count, c->alpha);
	return 0;
}
