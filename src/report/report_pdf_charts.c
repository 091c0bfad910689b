/* Which charts a PDF report has, and on which pages; see report_pdf.h. */
#include "report/report_pdf.h"

#include <math.h>
#include <string.h>

/* ---- concurrency ------------------------------------------------------------------------------
 */

#define BINS 1000

static int64_t running(const struct timeline_step *s, bool threads)
{
	return threads ? s->threads : s->processes;
}

struct curve report_pdf_concurrency(const struct timeline *t, bool threads)
{
	int64_t begin = t->steps[0].time, end = t->steps[t->count - 1].time;
	int64_t length = end > begin ? (end - begin) / BINS + 1 : 1;
	struct curve c = {0};
	size_t i = 0;

	for (int64_t from = begin; from < end; from += length) {
		int64_t to = from + length < end ? from + length : end, at = from;
		double low = INFINITY, high = 0, sum = 0;

		while (at < to) {
			double v = (double)running(&t->steps[i], threads);
			int64_t until = i + 1 < t->count ? t->steps[i + 1].time : to;

			low = v < low ? v : low;
			high = v > high ? v : high;
			until = until < to ? until : to;
			sum += v * (double)(until - at);
			at = until;
			i += i + 1 < t->count && t->steps[i + 1].time <= at;
		}
		curve_add(&c, from, sum / (double)(to - from), low, high);
	}
	return c;
}

/* ---- pages -------------------------------------------------------------------------------------
 */

static bool single_node(const struct perfmon_charts *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].file && c->list[i].plot.line_count > 1)
			return false;
	return true;
}

/* What any node sends and receives of itself says nothing of a job. */
static double least_telling(const struct plot *p)
{
	if (!str_prefix(p->title, "Packets") && !strstr(p->title, "put traffic"))
		return 0;
	return !strcmp(p->unit, "bytes/s") ? 1000 : 5;
}

/* Nothing but zeros, or one or two points, is no chart. */
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

/* One node is all nodes: each chart once, behind each other, four on a page. */
static size_t page_single_node(const struct perfmon_charts *c, struct plot *plots,
			       struct plot_page *pages, size_t count)
{
	size_t n = 0;

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

size_t report_pdf_charts(const struct perfmon_charts *c, struct plot *plots,
			 struct plot_page *pages, size_t count)
{
	if (single_node(c))
		return page_single_node(c, plots, pages, count);
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
