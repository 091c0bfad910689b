/* Processes on the time axis, in lanes below their parents, coloured by executable. */
#include <string.h>

#include "report/html/html_text.h"
#include "report/html/report_html.h"

#define WIDTH 4000     /* of the box that is stretched to its place */
#define HEIGHT_MAX 640 /* pixels; with more lanes these are lower */
#define LANE_MAX 16    /* pixels */
#define LABELS_MAX 200 /* bars with text */
#define LABELLED 0.04  /* of the whole width */

static unsigned lane_height(uint32_t lanes)
{
	unsigned h = HEIGHT_MAX / (lanes ? lanes : 1);

	return h > LANE_MAX ? LANE_MAX : h < 2 ? 2 : h;
}

static void add_bars(struct page *p, unsigned color)
{
	const struct report *r = p->r;
	bool any = false;

	for (size_t i = 0; i < r->bar_count; i++) {
		const struct report_bar *b = &r->bars[i];

		if (p->colors[b->name] != color)
			continue;
		int64_t x = round_i64(page_place(p, b->start) * WIDTH);
		int64_t w = round_i64(page_place(p, b->end) * WIDTH) - x;
		if (!any)
			strbuf_addf(&p->out, "<path class=\"q%u\" d=\"", color);
		any = true;
		w = w > 1 ? w : 1;
		strbuf_addf(&p->out, "M%lld %uh%lldv9h-%lldz", (long long)x, b->lane * 10,
			    (long long)w, (long long)w);
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
			    (long long)round_i64(page_place(p, r->bars[i].end) * WIDTH),
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
	int left = LABELS_MAX;

	for (size_t i = 0; i < r->bar_count && left && height >= 12; i++) {
		const struct report_bar *b = &r->bars[i];
		const char *name = path_base(r->names[b->name]);

		double x = page_place(p, b->start), width = page_place(p, b->end) - x;
		if (width < LABELLED || b->start < taken[b->lane])
			continue;
		taken[b->lane] = b->end;
		left--;
		strbuf_addf(&p->out,
			    "<svg x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%u\">"
			    "<text x=\"4\" y=\"11\">",
			    x * 100, b->lane * height, width * 100, height);
		html_cut(&p->out, name, strlen(name), 60);
		if (b->processes > 1) {
			strbuf_addstr(&p->out, " \u00d7");
			page_number(p, add_count, b->processes);
		}
		strbuf_addstr(&p->out, "</text></svg>");
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
		    h * r->lanes, WIDTH, r->lanes * 10);
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
