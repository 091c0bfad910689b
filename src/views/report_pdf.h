/* The charts of a PDF report. */
#ifndef VIEWS_REPORT_PDF_H
#define VIEWS_REPORT_PDF_H

#include "views/perfmon_plots.h"
#include "views/plot.h"
#include "views/timeline.h"

/* Processes or threads over time: steps of equal length, each with the mean over its time and its
 * extremes. The caller releases it. */
struct curve report_pdf_concurrency(const struct timeline *t, bool threads);

/* Puts the charts that tell something into plots, one behind the other, and their pages behind the
 * count of those that are there; returns how many there are then. */
size_t report_pdf_charts(const struct perfmon_charts *c, struct plot *plots,
			 struct plot_page *pages, size_t count);

#endif
