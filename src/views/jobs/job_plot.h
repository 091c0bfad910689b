/* Charts of a job's series: one chart per unit, one line per series. What the series have in common
 * becomes the title, what differs the names in the legend. */
#pragma once

#include "plot/plot.h"
#include "views/phases.h"
#include "views/series_view.h"

enum jobplot_scale { JOBPLOT_BY_ITSELF, JOBPLOT_LINEAR, JOBPLOT_LOG };

struct jobplot {
	struct plot *plots; /* what they hold is owned */
	size_t count, cap;
	struct jobplot_curve *curves;
	size_t curve_count, curve_cap;
	struct plot_span *spans;   /* of all plots; the names are those of the phases */
	struct series_list chosen; /* refers to the list that it was loaded from, which must stay */
};
void jobplot_release(struct jobplot *p);

/* Fills an empty structure with the series that the options ask for, counters as rates, chosen by
 * series_choose(). *notes is for the user. 0 or a negative errno; store_error() has the reason. */
int jobplot_load(struct jobplot *p, const struct series_list *l, struct store *s, int64_t job,
		 const struct series_options *o, enum jobplot_scale scale, struct strbuf *notes);

/* Puts the phases that divide the job behind the lines. The list must stay. */
void jobplot_add_phases(struct jobplot *p, const struct phase_list *l);

/* Where a metric has series of a whole and of its parts: the parts if each is wanted, else the
 * whole, unless a kind was asked for. Series of the sampler itself only if asked for. The entries
 * belong to the other list: free() this one, do not release it. */
struct series_list series_choose(const struct series_list *l, const struct series_options *o);

/* Adds the metric names most similar to a word, at most max, separated by ", ". */
void series_nearest(const struct series_list *l, const char *word, size_t max, struct strbuf *out);
