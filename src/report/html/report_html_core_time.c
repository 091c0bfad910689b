/* Core time in the page: a stacked time line of the parts, and a table that is its legend. */
#include "core/text/text.h"
#include "report/html/html_text.h"
#include "report/html/report_html.h"

#define COLUMNS 240
#define WIDTH 960.0
#define HEIGHT 170.0
#define SHOWN 0.0005 /* of the whole: smaller parts are not seen */

static bool is_shown(const struct where *w, size_t part)
{
	return w->total.part[part] > SHOWN * core_time_total(&w->total);
}

/* The outline of a part: its upper edge from left to right, its lower edge back, in steps. */
static void add_outline(struct page *p, const struct core_time *columns, size_t n, size_t part)
{
	double x = WIDTH / (double)n;

	strbuf_addstr(&p->out, "M");
	for (size_t pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < n; i++) {
			size_t at = pass ? n - 1 - i : i;
			double all = core_time_total(&columns[at]), below = 0;

			for (size_t k = 0; k < part + !pass; k++)
				below += columns[at].part[k];
			double y = HEIGHT * (1 - (all > 0 ? below / all : 0));
			double left = x * (double)(at + pass), right = x * (double)(at + !pass);
			strbuf_addf(&p->out, "%s%.1f %.1fL%.1f %.1f", pass || i ? "L" : "", left, y,
				    right, y);
		}
	strbuf_addstr(&p->out, "Z");
}

static void add_picture(struct page *p, const struct where *w)
{
	_cleanup_free_ struct core_time *columns = NULL;
	size_t n = where_columns(w, COLUMNS, &columns);

	strbuf_addf(&p->out,
		    "<svg class=\"core-time\" role=\"img\" aria-label=\"core time over time\" "
		    "viewBox=\"0 0 %.0f %.0f\" preserveAspectRatio=\"none\">",
		    WIDTH, HEIGHT);
	for (size_t i = 0; i < CORE_PARTS; i++) {
		if (!is_shown(w, i))
			continue;
		strbuf_addf(&p->out, "<path fill=\"%s\" d=\"", where_color(i));
		add_outline(p, columns, n, i);
		strbuf_addf(&p->out, "\"><title>%s</title></path>", core_parts[i].words);
	}
	strbuf_addstr(&p->out, "</svg>");
}

void page_core_time(struct page *p)
{
	const struct where *w = &p->r->where;
	double total = core_time_total(&w->total);

	if (!w->host_count || !(total > 0))
		return;
	strbuf_addf(&p->out, "<p>%.4g %s \u00d7 ", w->cores, w->cores == 1 ? "core" : "cores");
	text_add_duration(&p->out, w->seconds);
	strbuf_addstr(&p->out,
		      " from left to right; each part is a share of the cores at that time");
	strbuf_addstr(&p->out, w->looked ? ".</p>"
			       : w->sampled
				       ? ". What threads waited for was not sampled.</p>"
				       : ". By records alone: the time of each program is spread "
					 "over its life.</p>");
	add_picture(p, w);
	strbuf_addstr(
		&p->out,
		"<table class=\"core-time\" aria-label=\"where the core time went\"><thead><tr><th>Part</th><th "
		"class=\"n\">Core time</th><th class=\"n\">Share</th></tr></thead><tbody>");
	for (size_t i = 0; i < CORE_PARTS; i++) {
		if (!is_shown(w, i))
			continue;
		strbuf_addf(
			&p->out,
			"<tr><td><svg class=\"swatch\" viewBox=\"0 0 1 1\" aria-hidden=\"true\">"
			"<rect width=\"1\" height=\"1\" fill=\"%s\"/></svg> ",
			where_color(i));
		html_str(&p->out, core_parts[i].words);
		strbuf_addstr(&p->out, "</td><td class=\"n\">");
		text_add_duration(&p->out, w->total.part[i]);
		strbuf_addf(&p->out, "</td><td class=\"n\">%.1f %%</td></tr>",
			    100 * w->total.part[i] / total);
	}
	strbuf_addstr(&p->out, "</tbody></table>");
}
