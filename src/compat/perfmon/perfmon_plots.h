/*
 * perfmon's plots of a job: their names, their order in its report, and their series from a store.
 * Each is drawn twice: the mean or sum of all nodes, and one line per node. GPUs, of which perfmon
 * has no plots, come last, one line each.
 */
#pragma once

#include "plot/plot.h"
#include "views/series_view.h"

struct perfmon_chart {
	struct plot plot; /* owns its contents */
	char *file;       /* "Total_Output_Traffic_all_nodes.png"; NULL: perfmon has no such plot */
	unsigned page;    /* charts with the same number share one */
};

struct perfmon_charts {
	struct perfmon_chart *list; /* in the order of the pages; only those with data */
	size_t count, cap;
};
void perfmon_charts_release(struct perfmon_charts *c);

/* Fills an empty structure. 0 or a negative errno; store_error() has the reason. */
int perfmon_charts_load(struct perfmon_charts *c, struct store *s, int64_t job);
/* The number of charts of one page, from a place on. */
size_t perfmon_charts_page(const struct perfmon_charts *c, size_t from);
/* Puts the charts worth drawing into plots and their pages into pages; both have room for all
 * charts. Returns the number of pages. */
size_t perfmon_pages(const struct perfmon_charts *c, struct plot *plots, struct plot_page *pages);

/* Writes those that have a name into a directory; returns their number, or a negative errno with
 * the reason in *why. */
int perfmon_charts_write(const struct perfmon_charts *c, const char *dir, struct strbuf *why);
