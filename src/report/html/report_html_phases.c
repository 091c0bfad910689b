/* The phases of a job: bars in a lane for each level of each thread, and a table. */
#include <math.h>
#include <string.h>

#include "core/text/units.h"
#include "report/html/html_text.h"
#include "report/html/report_html.h"

#define LANE 16 /* pixels */

static const char *name_of(const struct page *p, uint32_t name)
{
	return p->r->timeline.phases.names[name];
}

static struct page_bar bar_of(const struct page *p, const struct report_phase_bar *b)
{
	return (struct page_bar){.start = b->start_ns / 1000,
				 .end = b->end_ns / 1000,
				 .lane = b->lane,
				 .name = name_of(p, b->name),
				 .count = b->count};
}

static void add_bars(struct page *p, unsigned color)
{
	const struct report_phases *f = &p->r->phases;
	bool any = false;

	for (size_t i = 0; i < f->bar_count; i++) {
		if (f->colors[f->bars[i].name] != color)
			continue;
		struct page_bar bar = bar_of(p, &f->bars[i]);
		page_bar(p, &bar, color, !any);
		any = true;
	}
	if (any)
		strbuf_addstr(&p->out, "\"/>");
}

static void add_labels(struct page *p)
{
	const struct report_phases *f = &p->r->phases;
	int left = PAGE_BARS_LABELLED;

	for (size_t i = 0; i < f->bar_count && left; i++) {
		struct page_bar bar = bar_of(p, &f->bars[i]);
		left -= page_bar_label(p, &bar, LANE);
	}
}

static void add_chart(struct page *p)
{
	const struct report_phases *f = &p->r->phases;

	strbuf_addstr(&p->out,
		      "<p class=\"dim\">A bar is a phase, or several short ones of the same name. "
		      "Each thread has a lane for every level of nesting, in the order of ranks.");
	if (f->threads_left_out) {
		strbuf_addstr(&p->out, " Threads that are not shown: ");
		page_number(p, add_count, (int64_t)f->threads_left_out);
		strbuf_addch(&p->out, '.');
	}
	strbuf_addf(&p->out,
		    "</p><div id=\"phase-bars\" class=\"gantt\"><svg class=\"bars\" height=\"%zu\" "
		    "role=\"img\" aria-label=\"phases over time\"><svg width=\"100%%\" "
		    "height=\"100%%\" viewBox=\"0 0 %d %zu\" preserveAspectRatio=\"none\">",
		    f->lane_count * LANE, PAGE_BARS_WIDTH, f->lane_count * 10);
	for (unsigned c = 0; c <= PAGE_COLORS; c++)
		add_bars(p, c);
	strbuf_addstr(&p->out, "</svg>");
	add_labels(p);
	strbuf_addstr(&p->out, "</svg>");
	page_time_labels(p, 8);
	strbuf_addstr(&p->out, "</div>");
}

/* ---- table ---------------------------------------------------------------------------------- */

static void add_ns(struct page *p, double ns)
{
	if (!isfinite(ns) || ns < 0) {
		strbuf_addstr(&p->out, "<td class=\"n\">\u2013</td>");
		return;
	}
	strbuf_addf(&p->out, "<td class=\"n\" data-v=\"%.0f\">", ns);
	page_real(p, "ns", ns);
	strbuf_addstr(&p->out, "</td>");
}

static void add_count_cell(struct page *p, uint64_t n)
{
	strbuf_addf(&p->out, "<td class=\"n\" data-v=\"%llu\">", (unsigned long long)n);
	page_number(p, add_count, (int64_t)n);
	strbuf_addstr(&p->out, "</td>");
}

static void add_row(struct page *p, const struct phase_stat *s, bool ranks, bool open, bool cpu)
{
	const char *name = name_of(p, s->name);

	strbuf_addf(&p->out, "<tr><td class=\"t\"><span class=\"swatch q%u\"></span>",
		    p->r->phases.colors[s->name]);
	for (int i = 0; i < s->depth && i < 8; i++)
		strbuf_addstr(&p->out, "\u2003");
	html_cut(&p->out, name, strlen(name), 300);
	strbuf_addstr(&p->out, "</td>");
	add_count_cell(p, s->count);
	add_ns(p, (double)s->total_ns);
	add_ns(p, (double)s->self_ns);
	add_ns(p, (double)s->min_ns);
	add_ns(p, s->median_ns);
	add_ns(p, (double)s->max_ns);
	if (cpu)
		add_ns(p, (double)s->cpu_ns);
	if (open)
		add_count_cell(p, s->open);
	if (ranks) {
		add_count_cell(p, s->ranks.count);
		if (isfinite(s->ranks.imbalance))
			strbuf_addf(&p->out, "<td class=\"n\" data-v=\"%.6f\">%.1f %%</td>",
				    s->ranks.imbalance, s->ranks.imbalance * 100);
		else
			strbuf_addstr(&p->out, "<td class=\"n\">\u2013</td>");
	}
	strbuf_addstr(&p->out, "</tr>\n");
}

static void add_column(struct page *p, const char *title, const char *help)
{
	strbuf_addf(&p->out, "<th scope=\"col\" class=\"n\"%s%s%s>%s</th>", help ? " title=\"" : "",
		    help ? help : "", help ? "\"" : "", title);
}

static void add_table(struct page *p)
{
	const struct report_phases *f = &p->r->phases;
	bool ranks = false, open = false, cpu = false;

	for (size_t i = 0; i < f->stat_count; i++) {
		ranks = ranks || f->stats[i].ranks.count > 1;
		open = open || f->stats[i].open;
		cpu = cpu || f->stats[i].cpu_ns >= 0;
	}
	strbuf_addstr(
		&p->out,
		"<div class=\"scroll\"><table class=\"sortable\" id=\"phases-table\" aria-label=\"phases\">"
		"<thead><tr><th scope=\"col\">phase</th>");
	add_column(p, "count", NULL);
	add_column(p, "total", "over all processes and threads");
	add_column(p, "self", "without the phases inside it");
	add_column(p, "shortest", NULL);
	add_column(p, "median", NULL);
	add_column(p, "longest", NULL);
	if (cpu)
		add_column(p, "CPU time", "of what a script started in it, or of the process");
	if (open)
		add_column(p, "open", "that did not end by themselves");
	if (ranks) {
		add_column(p, "ranks", "processes that have it");
		add_column(p, "imbalance", "largest total of a rank over the mean, less one");
	}
	strbuf_addstr(&p->out, "</tr></thead><tbody>");
	for (size_t i = 0; i < f->stat_count && i < REPORT_GROUPS_MAX; i++)
		add_row(p, &f->stats[i], ranks, open, cpu);
	strbuf_addstr(&p->out, "</tbody></table></div>");
	if (f->stat_count > REPORT_GROUPS_MAX)
		strbuf_addf(&p->out, "<p class=\"dim\">%zu more are not listed.</p>",
			    f->stat_count - REPORT_GROUPS_MAX);
}

void page_phases(struct page *p)
{
	if (!p->r->phases.stat_count)
		return;
	if (p->end > p->begin)
		add_chart(p);
	add_table(p);
}

void page_phase_bands(struct page *p, int width, int height)
{
	const struct report_phases *f = &p->r->phases;

	for (int odd = 0; odd < 2; odd++) {
		bool any = false;

		for (size_t i = (size_t)odd; i < f->band_count && p->end > p->begin; i += 2) {
			double x = page_place(p, f->bands[i].start_ns / 1000) * width;
			double to = page_place(p, f->bands[i].end_ns / 1000) * width;

			strbuf_addf(&p->out, "%sM%.1f 0h%.1fv%dh-%.1fz",
				    any   ? ""
				    : odd ? "<path class=\"phase odd\" d=\""
					  : "<path class=\"phase\" d=\"",
				    x, to - x, height, to - x);
			any = true;
		}
		strbuf_addstr(&p->out, any ? "\"/>" : "");
	}
}
