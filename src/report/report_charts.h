/* Which charts a report has and in which order; the page and the PDF draw the same ones. */
#ifndef PL_REPORT_REPORT_CHARTS_H
#define PL_REPORT_REPORT_CHARTS_H

#include "report/report.h"

/* Charts of one subject. */
struct report_panel {
	const char *name, *title;
	const char *none; /* what it means that all of it is 0; NULL: which are is told */
};
extern const struct report_panel report_panels[];
#define REPORT_PANELS 10

/* The panel whose charts come first: the one that the first finding is about. */
const struct report_panel *report_leading_panel(const struct report *r);

/*
 * Where the charts of a panel begin in report.curves: of each metric the chart of the whole job,
 * then the one with a line for each host or device. Those that say little (one or two points,
 * nothing but zeros) are at the end. ret has room for all curves; returns how many there are.
 */
size_t report_charts_of(const struct report *r, const struct report_panel *panel, size_t *ret);
/* Are two curves lines of the same chart? */
bool report_same_chart(const struct report_curve *a, const struct report_curve *b);
bool report_chart_says_little(const struct report *r, size_t chart);
/* All points are 0. */
bool report_curve_is_zero(const struct report_curve *c);
/* The curve of all hosts of the same metric; the curve itself where there is none. */
size_t report_curve_whole(const struct report *r, size_t curve);
/* Are all curves of one host? */
bool report_single_host(const struct report *r);
/* Is it a curve of this panel? */
bool report_in_panel(const struct report_curve *c, const struct report_panel *panel);

#endif
