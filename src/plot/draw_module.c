/* Module "draw": charts as pictures and pages, by cairo and pango. */
#include <cairo-pdf.h>
#include <errno.h>

#include "core/module.h"
#include "plot/draw_internal.h"

#define MARGIN 14

cairo_status_t draw_sink(void *closure, const unsigned char *data, unsigned n)
{
	struct strbuf *out = closure;

	if (out->len + n >= STRBUF_MAX)
		return CAIRO_STATUS_WRITE_ERROR;
	strbuf_add(out, data, n);
	return CAIRO_STATUS_SUCCESS;
}

void plots_common_times(const struct plot *plots, size_t count, int64_t *begin, int64_t *end)
{
	*begin = *end = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < plots[i].line_count; k++) {
			const struct points *c = &plots[i].lines[k].points;

			if (!c->count)
				continue;
			if (!*begin || c->points[0].time < *begin)
				*begin = c->points[0].time;
			if (c->points[c->count - 1].time > *end)
				*end = c->points[c->count - 1].time;
		}
}

static void draw_plots(struct canvas *c, const struct plot *plots, size_t count, int width,
		       int height)
{
	double each = (height - MARGIN) / (double)(count ? count : 1);
	int64_t begin, end;
	double labels = 0;

	plots_common_times(plots, count, &begin, &end);
	canvas_box(c, 0, 0, width, height, RGB(0xffffff));
	for (size_t i = 0; count > 1 && i < count; i++) {
		double w = chart_labels(c, &plots[i], width - 2 * MARGIN, each - MARGIN, 1);

		labels = w > labels ? w : labels;
	}
	for (size_t i = 0; i < count; i++) {
		struct plot p = plots[i];

		if (!p.begin && !p.end) {
			p.begin = begin;
			p.end = end;
		}
		chart_draw(c, &p, MARGIN, MARGIN + each * (double)i, width - 2 * MARGIN,
			   each - MARGIN, 1, labels);
	}
}

static int picture_svg(const struct plot *plots, size_t count, int width, int height,
		       struct strbuf *out)
{
	cairo_surface_t *s = cairo_image_surface_create(CAIRO_FORMAT_A8, 1, 1);
	_cleanup_free_ char *title = shown_text(count ? plots[0].title : NULL, 400);
	struct canvas c;

	canvas_begin(&c, s, out);
	strbuf_addf(out,
		    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		    "viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans, Verdana, sans-serif\" "
		    "role=\"img\">\n",
		    width, height, width, height);
	canvas_group(&c, "picture", title);
	draw_plots(&c, plots, count, width, height);
	canvas_group_end(&c);
	strbuf_addstr(out, "</svg>\n");
	canvas_end(&c);
	cairo_surface_destroy(s);
	return 0;
}

static int picture(const struct plot *plots, size_t count, enum plot_form form, int width,
		   int height, struct strbuf *out, struct strbuf *why)
{
	if (form == PLOT_SVG)
		return picture_svg(plots, count, width, height, out);
	cairo_surface_t *s =
		form == PLOT_PNG
			? cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height)
			: cairo_pdf_surface_create_for_stream(draw_sink, out, width, height);
	struct canvas c;
	canvas_begin(&c, s, NULL);
	draw_plots(&c, plots, count, width, height);
	cairo_status_t status = cairo_status(c.cr);
	canvas_end(&c);
	if (status == CAIRO_STATUS_SUCCESS && form == PLOT_PNG)
		status = cairo_surface_write_to_png_stream(s, draw_sink, out);
	cairo_surface_finish(s);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(s);
	cairo_surface_destroy(s);
	if (status != CAIRO_STATUS_SUCCESS)
		return strbuf_fail(why, -EIO, "cannot draw: %s", cairo_status_to_string(status));
	return 0;
}

static const struct draw_functions functions = {.picture = picture, .pages = draw_pages};

PL_MODULE("draw", "cairo " CAIRO_VERSION_STRING, &functions);
