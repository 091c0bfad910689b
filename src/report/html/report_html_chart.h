/* A chart of the page; see report_html_chart.c. */
#pragma once

#include "plot/plot_axis.h"
#include "report/html/report_html.h"

#define CHART_BANDS_MAX 8 /* lines that have bands around them; as in charts.js */

struct page_line {
	const char *label, *sublabel;
	const struct points *points;
	bool seldom; /* unknown between its points */
	int64_t readings;
};

struct page_chart {
	const char *title;
	const char *metric; /* its name in commands; NULL: not shown */
	const char *unit;
	struct page_line *lines;
	size_t count, left_out;
	bool by_host;
	int ticks;             /* of time, at most */
	int column;            /* width of the columns that points are reduced to */
	struct plot_axis axis; /* set when the chart is drawn */
};

/* Adds it. ids: the lines in the data of the script; mean, maximum: NAN where there is none. */
void page_chart(struct page *p, struct page_chart *c, const char *ids, double mean, double maximum);
