/* Which charts a report has and in which order; the page and the PDF draw the same ones. */
#pragma once

#include "report/report.h"

/* Charts of one subject. */
struct report_panel {
	const char *name, *title;
	const char *none; /* the sentence where all series are 0; NULL: they are listed */
};
extern const struct report_panel report_panels[];
#define REPORT_PANELS 10

/* The panel whose charts come first: that of the first finding. */
const struct report_panel *report_leading_panel(const struct report *r);

/*
 * Where the charts of a panel begin in report.series: for each metric the chart of the whole job,
 * then the one with a line for each host or device. Charts that say little (one or two points, only
 * zeros) come last. ret has room for all series; returns the number of charts.
 */
size_t report_charts_of(const struct report *r, const struct report_panel *panel, size_t *ret);
/* Are two series lines of the same chart? */
bool report_same_chart(const struct report_series *a, const struct report_series *b);
bool report_chart_says_little(const struct report *r, size_t chart);
/* All points are 0. */
bool report_series_is_zero(const struct report_series *c);
/* The series of all hosts of the same metric; the series itself where there is none. */
size_t report_series_whole(const struct report *r, size_t series);
/* Are all series of one host? */
bool report_single_host(const struct report *r);
bool report_in_panel(const struct report_series *c, const struct report_panel *panel);

/* Processes or threads at once from begin to end, in steps with mean and extremes. */
void report_concurrency(const struct timeline *t, bool threads, int64_t begin, int64_t end,
			int64_t steps, struct points *ret);
