/* The charts of a PDF report. */
#pragma once

#include "plot/plot.h"
#include "report/report.h"

struct pdf_charts {
	struct plot *plots;
	size_t count;
	struct plot_page *pages; /* one for each panel */
	size_t page_count;
	struct points processes, threads; /* at once */
	struct plot_span *spans;          /* phases, behind all charts */
	size_t span_count;
};

/* The charts of the HTML page in its order: panels, for each metric the job and then its hosts; and
 * how many processes ran at once. Points still belong to the report. */
void report_pdf_charts(const struct report *r, struct pdf_charts *ret);
void pdf_charts_release(struct pdf_charts *c);
