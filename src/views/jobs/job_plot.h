/*
 * Charts of a job's series: one chart for each unit, a line for each curve, the title and the names
 * in the legend from what the curves have in common and what tells them apart.
 */
#ifndef PL_VIEWS_JOB_PLOT_H
#define PL_VIEWS_JOB_PLOT_H

#include "plot/plot.h"
#include "views/series_view.h"

enum jobplot_scale { JOBPLOT_BY_ITSELF, JOBPLOT_LINEAR, JOBPLOT_LOG };

struct jobplot {
	struct plot *plots; /* what they hold is owned */
	size_t count, cap;
	struct jobplot_curve *curves;
	size_t curve_count, curve_cap;
	struct series_list chosen; /* of the list that it was loaded from, which must stay */
};
void jobplot_release(struct jobplot *p);

/* Fills an empty structure with the curves that the options ask for, counters as rates. Of a metric
 * that is known of a whole and of its parts the parts are single lines, the whole all others.
 * What goes to *notes is for the user. 0 or a negative errno; store_error() has the sentence. */
int jobplot_load(struct jobplot *p, const struct series_list *l, struct store *s, int64_t job,
		 const struct series_options *o, enum jobplot_scale scale, struct strbuf *notes);

/* Of a metric that is known of a whole and of its parts: the parts where each is wanted, else the
 * whole, unless a kind was asked for; without what the sampler says of itself, unless that was.
 * What is in the list stays the other's: free() it, do not release it. */
struct series_list series_choose(const struct series_list *l, const struct series_options *o);

/* Names among those of a list of series that are most like a word, at most so many, separated by
 * ", "; nothing where none is. */
void series_nearest(const struct series_list *l, const char *word, size_t max, struct strbuf *out);

#endif
