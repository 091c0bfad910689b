/* Loads the history of runs, and draws it; see history_view.h. */
#include <errno.h>
#include <math.h>

#include "plot/plot.h"
#include "views/comparison/history_view.h"
#include "views/comparison/run_comparison.h"

void histories_release(struct histories *h)
{
	for (size_t i = 0; i < h->count; i++) {
		free(h->v[i].times);
		free(h->v[i].values);
		free(h->v[i].jobs);
		free(h->v[i].changes);
	}
	free(h->v);
	run_figures_release(&h->figures);
	figure_metrics_release(&h->metrics);
	*h = (struct histories){0};
}

static int load_times(struct store *s, const int64_t *jobs, size_t count, int64_t *times)
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = store_number_of(s, "SELECT coalesce(start_us, 0) FROM job WHERE no = $1",
				    &times[i], db_int(jobs[i]));
	return r;
}

static void fill(struct histories *h, size_t metric, const char *const *labels,
		 const int64_t *times)
{
	struct history *v = &h->v[metric];
	const double *values = h->figures.rows[0].v + metric * h->figures.runs;

	v->metric = &h->metrics.v[metric];
	v->times = xcalloc(h->runs + 1, sizeof(*v->times));
	v->values = xcalloc(h->runs + 1, sizeof(*v->values));
	v->jobs = xcalloc(h->runs + 1, sizeof(*v->jobs));
	for (size_t i = 0; i < h->runs; i++) {
		if (!isfinite(values[i])) {
			v->absent++;
			continue;
		}
		v->times[v->count] = times[i];
		v->values[v->count] = values[i];
		v->jobs[v->count++] = labels[i];
	}
	v->change_count = change_points_find(v->values, v->count, &h->how, &v->changes);
}

int histories_make(struct histories *h, struct store *s, const int64_t *jobs,
		   const char *const *labels, size_t count, const char *const *names,
		   size_t name_count, struct strbuf *why)
{
	_cleanup_free_ int64_t *times = xcalloc(count + 1, sizeof(*times));
	int r = 0;

	if (!name_count) {
		names = comparison_metrics; /* the first of them: duration */
		name_count = 1;
	}
	for (size_t i = 0; i < name_count && r >= 0; i++)
		r = figure_metrics_add(&h->metrics, s, names[i], jobs, count, why);
	if (r >= 0)
		r = run_figures_load(&h->figures, s, jobs, count, &h->metrics, 0);
	if (r >= 0)
		r = load_times(s, jobs, count, times);
	if (r < 0) {
		if (!why->len)
			strbuf_addstr(why, store_error(s));
		return r;
	}
	h->runs = count;
	h->count = h->metrics.count;
	h->v = xcalloc(h->count + 1, sizeof(*h->v));
	for (size_t i = 0; i < h->count; i++)
		fill(h, i, labels, times);
	return 0;
}

/* ---- picture -------------------------------------------------------------------------------- */

static void add_levels(const struct history *v, struct points *out)
{
	for (size_t i = 0; i <= v->change_count && v->change_count; i++) {
		const size_t begin = i ? v->changes[i - 1].first : 0;
		const size_t end = i < v->change_count ? v->changes[i].first : v->count;
		const double level = i ? v->changes[i - 1].after : v->changes[0].before;

		for (size_t k = begin; k < end; k++)
			points_add(out, v->times[k], level, level, level);
		/* no line to the next level */
		if (end < v->count)
			points_add(out, (v->times[end - 1] + v->times[end]) / 2, NAN, NAN, NAN);
	}
}

static void describe(const struct histories *h, const struct history *v, struct plot *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < v->count; i++)
		points_add(&p->lines[0].points, v->times[i], v->values[i], v->values[i],
			   v->values[i]);
	add_levels(v, &p->lines[1].points);
	p->lines[0].label = "runs";
	p->lines[0].seldom = true;
	p->lines[1].label = "level";
	p->line_count = v->change_count ? 2 : 1;
	p->title = p->y_label = v->metric->name;
	p->unit = metric_unit_name(v->metric->unit);
	strbuf_addf(&text, "%zu %s", v->count, plural(v->count, "run", "runs"));
	if (h->fingerprint)
		strbuf_addf(&text, " of %s", h->fingerprint);
	strbuf_addf(&text, ", %zu %s", v->change_count,
		    plural(v->change_count, "change", "changes"));
	p->subtitle = strbuf_take(&text);
}

int histories_plot(const struct histories *h, const char *path, struct strbuf *why)
{
	struct plot *plots = xcalloc(h->count + 1, sizeof(*plots));
	struct plot_line *lines = xcalloc(2 * h->count + 1, sizeof(*lines));
	enum plot_form form = PLOT_SVG;
	size_t count = 0;

	(void)plot_form_of(path, &form);
	for (size_t i = 0; i < h->count; i++) {
		if (!h->v[i].count)
			continue;
		plots[count].lines = lines + 2 * count;
		describe(h, &h->v[i], &plots[count++]);
	}
	const int height = count > 1 ? (int)(count < 20 ? count : 20) * 300 : PLOT_HEIGHT;
	int r = count ? plot_pictures(plots, count, form, PLOT_WIDTH, height, path, why)
		      : strbuf_fail(why, -ENODATA, "no run has a value to draw");
	for (size_t i = 0; i < count; i++) {
		free((char *)plots[i].subtitle);
		points_release(&plots[i].lines[0].points);
		points_release(&plots[i].lines[1].points);
	}
	free(lines);
	free(plots);
	return r;
}
