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

/* Where the core time went. */
struct pdf_core_time {
	struct plot_stack stack;
	struct plot_part parts[CORE_PARTS];
	double *shares;
	char *note;
};
/* False: it is not known. */
bool report_pdf_core_time(const struct report *r, struct pdf_core_time *ret);
void pdf_core_time_release(struct pdf_core_time *t);

/* The charts of the HTML page in its order: panels, for each metric the job and then its hosts; and
 * how many processes ran at once. Points still belong to the report. */
void report_pdf_charts(const struct report *r, struct pdf_charts *ret);
void pdf_charts_release(struct pdf_charts *c);
