/* The charts of a PDF report. */
#ifndef PL_REPORT_REPORT_PDF_H
#define PL_REPORT_REPORT_PDF_H

#include "compat/perfmon/perfmon_plots.h"
#include "plot/plot.h"
#include "views/timeline.h"

/* Processes or threads over time: steps of equal length, each with the mean over its time and its
 * extremes. The caller releases it. */
struct curve report_pdf_concurrency(const struct timeline *t, bool threads);

/* Puts the charts that tell something into plots, one behind the other, and their pages behind the
 * count of those that are there; returns how many there are then. */
size_t report_pdf_charts(const struct perfmon_charts *c, struct plot *plots,
			 struct plot_page *pages, size_t count);

#endif
