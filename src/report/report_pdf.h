/* The charts of a PDF report. */
#ifndef PL_REPORT_REPORT_PDF_H
#define PL_REPORT_REPORT_PDF_H

#include "plot/plot.h"
#include "report/report.h"

struct pdf_charts {
	struct plot *plots;
	size_t count;
	struct plot_page *pages; /* one for each panel */
	size_t page_count;
	struct curve processes, threads; /* at once */
};

/* The charts of the HTML page in its order: panels, of each metric the job and then its hosts;
 * and how many processes ran at once. Curves stay the report's. */
void report_pdf_charts(const struct report *r, struct pdf_charts *ret);
void pdf_charts_release(struct pdf_charts *c);

#endif
