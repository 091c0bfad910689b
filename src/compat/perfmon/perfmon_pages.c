/* The pages of perfmon's report, and which plots are on each; see perfmon_plots.h. */
#include <math.h>
#include <string.h>

#include "compat/perfmon/perfmon_plots.h"

static bool single_node(const struct perfmon_charts *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].file && c->list[i].plot.line_count > 1)
			return false;
	return true;
}

/* Background traffic of a node, which says nothing about a job. */
static double least_telling(const struct plot *p)
{
	if (!str_prefix(p->title, "Packets") && !strstr(p->title, "put traffic"))
		return 0;
	return !strcmp(p->unit, "bytes/s") ? 1000 : 5;
}

/* Zeros only, or one or two points, are not drawn. */
static bool is_telling(const struct plot *p)
{
	double least = least_telling(p);

	for (size_t i = 0; i < p->line_count; i++) {
		double mean = 0, most = 0;

		plot_line_figures(&p->lines[i], &mean, &most);
		if (p->lines[i].points.count > 2 && most != 0 && fabs(most) >= least)
			return true;
	}
	return false;
}

/* With one node both kinds are the same: each chart once, four on a page. */
static size_t page_single_node(const struct perfmon_charts *c, struct plot *plots,
			       struct plot_page *pages)
{
	size_t n = 0, count = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct plot *one = &c->list[i].plot;

		if (!is_telling(one) || str_suffix(one->title, ", each node"))
			continue;
		char *end =
			str_suffix(one->title, " of all nodes") ? strrchr(one->title, ',') : NULL;
		if (end)
			*end = 0;
		plots[n++] = *one;
	}
	for (size_t i = 0; i < n; i++)
		pages[count++] = (struct plot_page){.plots = plots + i, .plot_count = 1, .rows = 4};
	return count;
}

size_t perfmon_pages(const struct perfmon_charts *c, struct plot *plots, struct plot_page *pages)
{
	size_t count = 0;

	if (single_node(c))
		return page_single_node(c, plots, pages);
	for (size_t i = 0, to; i < c->count; i = to) {
		size_t n = 0;

		for (to = i + perfmon_charts_page(c, i); i < to; i++)
			if (is_telling(&c->list[i].plot))
				plots[n++] = c->list[i].plot;
		if (n)
			pages[count++] = (struct plot_page){.plots = plots, .plot_count = n};
		plots += n;
	}
	return count;
}
