/* Processes on the time axis, in lanes below their parents, coloured by executable. */
#include <string.h>

#include "report/html/html_text.h"
#include "report/html/report_html.h"

#define HEIGHT_MAX 640 /* pixels; with more lanes these are lower */
#define LANE_MAX 16    /* pixels */

static unsigned lane_height(uint32_t lanes)
{
	unsigned h = HEIGHT_MAX / (lanes ? lanes : 1);

	return h > LANE_MAX ? LANE_MAX : h < 2 ? 2 : h;
}

static struct page_bar bar_of(const struct report *r, const struct report_bar *b)
{
	return (struct page_bar){.start = b->start,
				 .end = b->end,
				 .lane = b->lane,
				 .name = path_base(r->names[b->name]),
				 .count = b->processes};
}

static void add_bars(struct page *p, unsigned color)
{
	const struct report *r = p->r;
	bool any = false;

	for (size_t i = 0; i < r->bar_count; i++) {
		if (p->colors[r->bars[i].name] != color)
			continue;
		struct page_bar bar = bar_of(r, &r->bars[i]);
		page_bar(p, &bar, color, !any);
		any = true;
	}
	if (any)
		strbuf_addstr(&p->out, "\"/>");
}

static void add_failed(struct page *p)
{
	const struct report *r = p->r;
	bool any = false;

	for (size_t i = 0; i < r->bar_count; i++) {
		if (!r->bars[i].failed)
			continue;
		strbuf_addf(&p->out, "%sM%lld %uv4", any ? "" : "<path class=\"failed\" d=\"",
			    (long long)round_i64(page_place(p, r->bars[i].end) * PAGE_BARS_WIDTH),
			    r->bars[i].lane * 10 + 5);
		any = true;
	}
	if (any)
		strbuf_addstr(&p->out, "\"/>");
}

static void add_labels(struct page *p, unsigned height)
{
	const struct report *r = p->r;
	_cleanup_free_ int64_t *taken = xcalloc(r->lanes + 1, sizeof(*taken)); /* by lane, up to */
	int left = PAGE_BARS_LABELLED;

	for (size_t i = 0; i < r->bar_count && left && height >= 12; i++) {
		const struct report_bar *b = &r->bars[i];
		struct page_bar bar = bar_of(r, b);

		if (b->start < taken[b->lane] || !page_bar_label(p, &bar, height))
			continue;
		taken[b->lane] = b->end;
		left--;
	}
}

static void add_legend(struct page *p)
{
	const struct report_groups *g = &p->r->executables;

	strbuf_addstr(&p->out, "<ul class=\"legend swatches\" id=\"gantt-legend\">");
	for (size_t i = 0; i < g->count && i < PAGE_COLORS; i++) {
		const char *name = path_base(g->list[i].name);

		strbuf_addf(&p->out, "<li class=\"q%zu\"><bdi>", i);
		html_cut(&p->out, name, strlen(name), 40);
		strbuf_addstr(&p->out, "</bdi></li>");
	}
	if (g->count + g->left_out > PAGE_COLORS)
		strbuf_addf(&p->out, "<li class=\"q%d\">%zu other%s</li>", PAGE_COLORS,
			    g->count + g->left_out - PAGE_COLORS,
			    g->count + g->left_out == PAGE_COLORS + 1 ? "" : "s");
	bool failed = false;
	for (size_t i = 0; i < p->r->bar_count && !failed; i++)
		failed = p->r->bars[i].failed;
	if (failed)
		strbuf_addstr(&p->out, "<li class=\"failed mark\">ended with an error</li>");
	strbuf_addstr(&p->out, "</ul>");
}

void page_gantt(struct page *p)
{
	const struct report *r = p->r;
	unsigned h = lane_height(r->lanes);

	if (!r->bar_count || p->end <= p->begin)
		return;
	strbuf_addstr(&p->out,
		      "<p class=\"dim\">A bar is a process, or several short processes of the same "
		      "program. Child processes are below their parent.");
	if (r->bars_left_out) {
		strbuf_addstr(&p->out, " Not shown: ");
		page_number(p, add_count, (int64_t)r->bars_left_out);
		strbuf_addstr(&p->out, " processes.");
	}
	strbuf_addf(&p->out,
		    "</p><div id=\"gantt\" class=\"gantt\"><svg class=\"bars\" height=\"%u\" "
		    "role=\"img\" aria-label=\"processes over time\"><svg width=\"100%%\" "
		    "height=\"100%%\" viewBox=\"0 0 %d %u\" preserveAspectRatio=\"none\">",
		    h * r->lanes, PAGE_BARS_WIDTH, r->lanes * 10);
	for (unsigned c = 0; c <= PAGE_COLORS; c++)
		add_bars(p, c);
	add_failed(p);
	strbuf_addstr(&p->out, "</svg>");
	add_labels(p, h);
	strbuf_addstr(&p->out, "</svg>");
	page_time_labels(p, 8);
	strbuf_addstr(&p->out, "</div>");
	add_legend(p);
}
