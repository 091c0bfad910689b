/*
 * perfmon's plots of a job: which there are, under which names and in which order its report has
 * them, and their curves from a store. Each is drawn twice: of all nodes, their mean or their sum,
 * and with a line for each node. GPUs, of which perfmon has no plots, come last: a line for each.
 */
#pragma once

#include "plot/plot.h"
#include "views/series_view.h"

struct perfmon_chart {
	struct plot plot; /* what it holds is owned */
	char *file;       /* "Total_Output_Traffic_all_nodes.png"; NULL: perfmon has no such plot */
	unsigned page;    /* charts with the same number share one */
};

struct perfmon_charts {
	struct perfmon_chart *list; /* in the order of the pages; only what was measured */
	size_t count, cap;
};
void perfmon_charts_release(struct perfmon_charts *c);

/* Fills an empty structure. 0 or a negative errno; store_error() has the sentence. */
int perfmon_charts_load(struct perfmon_charts *c, struct store *s, int64_t job);
/* The charts of one page, from a place on; how many. */
size_t perfmon_charts_page(const struct perfmon_charts *c, size_t from);
/* Puts the charts that tell something into plots, one behind the other, and their pages into pages;
 * both have room for all charts. How many pages there are. */
size_t perfmon_pages(const struct perfmon_charts *c, struct plot *plots, struct plot_page *pages);

/* Writes those that have a name into a directory; how many, or a negative errno with the sentence
 * in *why. */
int perfmon_charts_write(const struct perfmon_charts *c, const char *dir, struct strbuf *why);
