/* What is behind the lines of a chart: named spans of time (plot.h), and what is there without
 * lines. */
#include "plot/draw_internal.h"

#define NARROW 28 /* a name needs some room */
#define TEXT_MAX 200

void spans_draw(struct canvas *c, const struct plot *p, struct plot_area a)
{
	const struct text_style small = {.size = 9.5, .color = RGB(0x5d6670)};
	struct text_style style = small;

	if (!p->span_count)
		return;
	canvas_group(c, "phases", NULL);
	for (size_t i = 0; i < p->span_count; i++) {
		const struct plot_span *s = &p->spans[i];
		const double scale = a.width / (double)(a.end - a.begin);
		double from = a.left + (double)(s->begin - a.begin) * scale;
		double to = a.left + (double)(s->end - a.begin) * scale;

		from = from < a.left ? a.left : from;
		to = to > a.left + a.width ? a.left + a.width : to;
		if (to <= from)
			continue;
		_cleanup_free_ char *name = shown_text(s->name, TEXT_MAX);
		canvas_group(c, i % 2 ? "phase odd" : "phase", name);
		canvas_box(c, from, a.top, to - from, a.height,
			   i % 2 ? RGB(0xe9eef5) : RGB(0xf4f7fa));
		style.width = to - from - 6;
		if (style.width >= NARROW)
			canvas_text(c, from + 3, a.top + 7, name, &style);
		canvas_group_end(c);
	}
	canvas_group_end(c);
}

void no_data_draw(struct canvas *c, struct plot_area a)
{
	const struct text_style style = {.size = 14, .color = RGB(0x5d6670), .anchor = TEXT_MIDDLE};

	canvas_box(c, a.left, a.top, a.width, a.height, RGB(0xf5f6f8));
	canvas_text(c, a.left + a.width / 2, a.top + a.height / 2, "no data", &style);
}
