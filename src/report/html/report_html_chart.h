/* A chart of the page; see report_html_chart.c. */
#ifndef PL_REPORT_HTML_REPORT_HTML_CHART_H
#define PL_REPORT_HTML_REPORT_HTML_CHART_H

#include "report/html/report_html.h"
#include "samples/series_math.h"

#define CHART_BANDS_MAX 8 /* lines that have bands around them; as in charts.js */

/* A line of a chart. */
struct page_line {
	const char *label, *sublabel;
	const struct curve *points;
	bool seldom; /* not known between its points */
	int64_t readings;
};

struct page_chart {
	const char *title;
	const char *metric; /* by which commands know it; NULL: not shown */
	const char *unit;   /* after the factor */
	double factor;
	struct page_line *lines;
	size_t count, left_out;
	bool by_host;
	int ticks;  /* of time, at most */
	int column; /* the narrowest distance of points that are drawn */
	/* set when it is drawn */
	double low, high; /* of the axis */
	double step;      /* between its ticks */
	int steps;
};

/* Adds it. ids: what the script finds the data by; mean, maximum: NAN where there is none. */
void page_chart(struct page *p, struct page_chart *c, const char *ids, double mean, double maximum);

#endif
