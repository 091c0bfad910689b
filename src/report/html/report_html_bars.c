/* Bars on the time axis, which processes and phases share; see report_html.h. */
#include <string.h>

#include "report/html/html_text.h"
#include "report/html/report_html.h"

#define LABELLED 0.04 /* of the whole width */

void page_bar(struct page *p, const struct page_bar *b, unsigned color, bool first)
{
	int64_t x = round_i64(page_place(p, b->start) * PAGE_BARS_WIDTH);
	int64_t w = round_i64(page_place(p, b->end) * PAGE_BARS_WIDTH) - x;

	w = w > 1 ? w : 1;
	if (first)
		strbuf_addf(&p->out, "<path class=\"q%u\" d=\"", color);
	strbuf_addf(&p->out, "M%lld %uh%lldv9h-%lldz", (long long)x, b->lane * 10, (long long)w,
		    (long long)w);
}

bool page_bar_label(struct page *p, const struct page_bar *b, unsigned height)
{
	double x = page_place(p, b->start), width = page_place(p, b->end) - x;

	if (width < LABELLED)
		return false;
	strbuf_addf(&p->out,
		    "<svg x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%u\">"
		    "<text x=\"4\" y=\"11\">",
		    x * 100, b->lane * height, width * 100, height);
	html_cut(&p->out, b->name, strlen(b->name), 60);
	if (b->count > 1) {
		strbuf_addstr(&p->out, " \u00d7");
		page_number(p, add_count, b->count);
	}
	strbuf_addstr(&p->out, "</text></svg>");
	return true;
}
