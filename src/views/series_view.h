/* Curves of a job on their way out: which there are, and their values as they are, in steps, as
 * rates or in sum. */
#ifndef PL_VIEWS_SERIES_VIEW_H
#define PL_VIEWS_SERIES_VIEW_H

#include "samples/series_math.h"
#include "store/series.h"
#include "views/process_list.h"

enum series_sum { SERIES_EACH, SERIES_PER_HOST, SERIES_TOTAL };

struct series_options {
	struct series_filter filter;
	enum proc_form form;
	enum series_sum sum;
	bool rate;
	bool each_unsummed; /* metrics without a sum one by one, else they are left out */
	int64_t step_us;    /* 0: none */
	bool has_since, has_until;
	int64_t since_us, until_us;
};

/* The list of series with what they amount to. */
int series_print_list(const struct series_list *l, enum proc_form form, FILE *f);
/* Their values. Lines about metrics that have no sum go to *notes. */
int series_print_values(const struct series_list *l, struct store *s, int64_t job,
			const struct series_options *o, FILE *f, struct strbuf *notes);

/* ---- curves --------------------------------------------------------------------------------- */

/* A curve of one series, or of the sum of several entities, with host NULL of all hosts. */
struct series_curve {
	const struct series *s; /* of the metric */
	const char *host;
	bool entity;         /* of this one, else of all of its kind */
	double scale;        /* from the numbers of the curve to the unit, series_value() */
	bool rate;           /* the values are rates of a counter */
	bool ranges;         /* low and high tell something */
	double mean;         /* over the time, before steps were made; of a counter its rate */
	struct curve points; /* who takes the curve may take them, and leaves them empty */
};

/* Builds the curves that the options ask for, and hands over one after the other until take
 * returns other than 0. 0 or a negative errno; lines about metrics without a sum go to *notes. */
int series_curves(const struct series_list *l, struct store *s, int64_t job,
		  const struct series_options *o, int (*take)(void *user, struct series_curve *c),
		  void *user, struct strbuf *notes);
/* "bytes", of a rate "bytes/s"; freed by the caller. */
char *series_curve_unit(const struct series_curve *c);
/* The same for a chart, where one scale goes for all that used CPUs: their number. Changes the
 * curve's scale accordingly. */
char *series_chart_unit(struct series_curve *c);
/* The usual distance of readings on any of the hosts, which is when several hosts have a common
 * time. */
int64_t series_common_period(const struct curve *curves, size_t count);

#endif
