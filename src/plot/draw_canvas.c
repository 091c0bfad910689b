/* Lines, areas and text on cairo surfaces and in SVG files; see draw_internal.h. */
#include <string.h>

#include "core/text/text.h"
#include "plot/draw_internal.h"

#define FONT "sans"

/* ---- texts from outside ---------------------------------------------------------------------- */

/* U+FFFE and U+FFFF are valid UTF-8, but not in XML. */
static bool no_character(const char *s, size_t n)
{
	return n == 3 && !memcmp(s, "\xef\xbf", 2) && (s[2] == '\xbe' || s[2] == '\xbf');
}

/* Characters that change the direction of text. */
static bool turns(const char *s, size_t n)
{
	return n == 3 && !memcmp(s, "\xe2\x80", 2) && (unsigned char)s[2] >= 0xaa &&
	       (unsigned char)s[2] <= 0xae;
}

char *shown_text(const char *s, size_t max)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	size_t n = s ? strnlen(s, max) : 0;

	for (size_t i = 0; i < n;) {
		size_t k = utf8_sequence(s + i, n - i);

		if (!k && i + 4 > n && s[n])
			break; /* the limit cuts a character */
		if (k && (no_character(s + i, k) || turns(s + i, k)))
			strbuf_addf(&out, "\\u%04x",
				    (unsigned)(s[i] & 15) << 12 | (unsigned)(s[i + 1] & 63) << 6 |
					    (unsigned)(s[i + 2] & 63));
		else
			text_add_printable(&out, s + i, k ? k : 1);
		i += k ? k : 1;
	}
	if (s && s[n])
		strbuf_addstr(&out, "\xe2\x80\xa6");
	return strbuf_take(&out);
}

static void add_xml(struct strbuf *out, const char *s)
{
	for (; *s; s++) {
		if (*s == '&')
			strbuf_addstr(out, "&amp;");
		else if (*s == '<')
			strbuf_addstr(out, "&lt;");
		else if (*s == '>')
			strbuf_addstr(out, "&gt;");
		else if (*s == '"')
			strbuf_addstr(out, "&quot;");
		else
			strbuf_addch(out, *s);
	}
}

/* ---- begin and end --------------------------------------------------------------------------- */

void canvas_begin(struct canvas *c, cairo_surface_t *surface, struct strbuf *svg)
{
	*c = (struct canvas){.cr = cairo_create(surface), .svg = svg};
	cairo_set_line_join(c->cr, CAIRO_LINE_JOIN_ROUND);
	c->layout = pango_cairo_create_layout(c->cr);
}

void canvas_end(struct canvas *c)
{
	g_object_unref(c->layout);
	cairo_destroy(c->cr);
}

void canvas_group(struct canvas *c, const char *class, const char *title)
{
	if (!c->svg)
		return;
	strbuf_addf(c->svg, "<g class=\"%s\">", class);
	if (title && *title) {
		strbuf_addstr(c->svg, "<title>");
		add_xml(c->svg, title);
		strbuf_addstr(c->svg, "</title>");
	}
	strbuf_addch(c->svg, '\n');
}

void canvas_group_end(struct canvas *c)
{
	if (c->svg)
		strbuf_addstr(c->svg, "</g>\n");
}

/* ---- shapes ---------------------------------------------------------------------------------- */

/* Independent of the locale, and not more precise than visible. */
static void add_number(struct strbuf *out, double v)
{
	long long hundredths = (long long)round_i64(v * 100);
	unsigned long long rest = (unsigned long long)llabs(hundredths);

	strbuf_addf(out, "%s%llu", hundredths < 0 ? "-" : "", rest / 100);
	if (rest % 100)
		strbuf_addf(out, rest % 10 ? ".%02llu" : ".%01llu",
			    rest % 10 ? rest % 100 : rest % 100 / 10);
}

static void add_attribute(struct strbuf *out, const char *name, double v)
{
	strbuf_addf(out, " %s=\"", name);
	add_number(out, v);
	strbuf_addch(out, '"');
}

static void add_paint(struct strbuf *out, const char *name, struct color k)
{
	strbuf_addf(out, " %s=\"#%02x%02x%02x\"", name, (unsigned)round_i64(k.r * 255),
		    (unsigned)round_i64(k.g * 255), (unsigned)round_i64(k.b * 255));
	if (k.a < 1) {
		strbuf_addf(out, " %s-opacity=\"", name);
		add_number(out, k.a);
		strbuf_addch(out, '"');
	}
}

static void set_paint(struct canvas *c, struct color k)
{
	cairo_set_source_rgba(c->cr, k.r, k.g, k.b, k.a);
}

void canvas_box(struct canvas *c, double x, double y, double w, double h, struct color fill)
{
	if (!c->svg) {
		set_paint(c, fill);
		cairo_rectangle(c->cr, x, y, w, h);
		cairo_fill(c->cr);
		return;
	}
	strbuf_addstr(c->svg, "<rect");
	add_attribute(c->svg, "x", x);
	add_attribute(c->svg, "y", y);
	add_attribute(c->svg, "width", w);
	add_attribute(c->svg, "height", h);
	add_paint(c->svg, "fill", fill);
	strbuf_addstr(c->svg, "/>\n");
}

void canvas_dot(struct canvas *c, double x, double y, double radius, struct color fill)
{
	if (!c->svg) {
		set_paint(c, fill);
		cairo_new_path(c->cr);
		cairo_arc(c->cr, x, y, radius, 0, 2 * G_PI);
		cairo_fill(c->cr);
		return;
	}
	strbuf_addstr(c->svg, "<circle");
	add_attribute(c->svg, "cx", x);
	add_attribute(c->svg, "cy", y);
	add_attribute(c->svg, "r", radius);
	add_paint(c->svg, "fill", fill);
	strbuf_addstr(c->svg, "/>\n");
}

static void add_spots(struct strbuf *out, const struct spot *spots, size_t count)
{
	strbuf_addstr(out, " points=\"");
	for (size_t i = 0; i < count; i++) {
		if (i)
			strbuf_addch(out, ' ');
		add_number(out, spots[i].x);
		strbuf_addch(out, ',');
		add_number(out, spots[i].y);
	}
	strbuf_addch(out, '"');
}

void canvas_path(struct canvas *c, const struct spot *spots, size_t count, double width,
		 struct color color, int dashed)
{
	static const double dashes[] = {5, 2.5}, dots[] = {1.5, 2};

	if (count < 2)
		return;
	if (c->svg) {
		strbuf_addstr(c->svg, "<polyline fill=\"none\" stroke-linejoin=\"round\"");
		add_paint(c->svg, "stroke", color);
		add_attribute(c->svg, "stroke-width", width);
		if (dashed)
			strbuf_addf(c->svg, " stroke-dasharray=\"%s\"",
				    dashed == 1 ? "5 2.5" : "1.5 2");
		add_spots(c->svg, spots, count);
		strbuf_addstr(c->svg, "/>\n");
		return;
	}
	set_paint(c, color);
	cairo_set_line_width(c->cr, width);
	cairo_new_path(c->cr); /* text moves the pen */
	cairo_set_dash(c->cr, dashed == 1 ? dashes : dots, dashed ? 2 : 0, 0);
	/* cairo joins all segments of a path at once; its time grows faster than their number */
	for (size_t i = 0; i < count; i++) {
		cairo_line_to(c->cr, spots[i].x, spots[i].y);
		if (i % 500 == 499 && i + 1 < count && !dashed) {
			cairo_stroke(c->cr);
			cairo_move_to(c->cr, spots[i].x, spots[i].y);
		}
	}
	cairo_stroke(c->cr);
}

void canvas_area(struct canvas *c, const struct spot *spots, size_t count, struct color fill)
{
	if (count < 3)
		return;
	if (c->svg) {
		strbuf_addstr(c->svg, "<polygon stroke=\"none\"");
		add_paint(c->svg, "fill", fill);
		add_spots(c->svg, spots, count);
		strbuf_addstr(c->svg, "/>\n");
		return;
	}
	set_paint(c, fill);
	cairo_new_path(c->cr);
	for (size_t i = 0; i < count; i++)
		cairo_line_to(c->cr, spots[i].x, spots[i].y);
	cairo_close_path(c->cr);
	cairo_fill(c->cr);
}

/* ---- words ----------------------------------------------------------------------------------- */

static void set_text(struct canvas *c, const char *text, const struct text_style *style)
{
	PangoFontDescription *font = pango_font_description_from_string(FONT);

	pango_font_description_set_absolute_size(font, style->size * PANGO_SCALE);
	pango_font_description_set_weight(font,
					  style->bold ? PANGO_WEIGHT_BOLD : PANGO_WEIGHT_NORMAL);
	pango_layout_set_font_description(c->layout, font);
	pango_font_description_free(font);
	pango_layout_set_text(c->layout, text, -1);
	pango_layout_set_single_paragraph_mode(c->layout, TRUE);
	pango_layout_set_width(c->layout,
			       style->width > 0 ? (int)(style->width * PANGO_SCALE) : -1);
	pango_layout_set_ellipsize(c->layout,
				   style->width > 0 ? PANGO_ELLIPSIZE_END : PANGO_ELLIPSIZE_NONE);
}

static double layout_width(struct canvas *c)
{
	PangoRectangle r;

	pango_layout_get_extents(c->layout, NULL, &r);
	return (double)r.width / PANGO_SCALE;
}

double canvas_text_width(struct canvas *c, const char *text, const struct text_style *style)
{
	if (!*text)
		return 0;
	set_text(c, text, style);
	return layout_width(c);
}

/* The part of a text that fits, with an ellipsis: SVG viewers do not cut. */
static char *fitting(struct canvas *c, const char *text, const struct text_style *style)
{
	struct text_style whole = *style;
	size_t n = strlen(text);

	whole.width = 0;
	if (style->width <= 0 || canvas_text_width(c, text, &whole) <= style->width)
		return xstrdup(text);
	while (n) {
		n = n > 64 ? n / 2 : n - 1;
		while (n && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
		_cleanup_free_ char *cut = xasprintf("%.*s\xe2\x80\xa6", (int)n, text);

		if (canvas_text_width(c, cut, &whole) <= style->width)
			return xstrdup(cut);
	}
	return xstrdup("");
}

static void svg_text(struct canvas *c, double x, double y, const char *text,
		     const struct text_style *style)
{
	static const char *const anchors[] = {"start", "middle", "end"};
	_cleanup_free_ char *cut = fitting(c, text, style);

	strbuf_addstr(c->svg, "<text");
	add_attribute(c->svg, "x", x);
	/* approximately the baseline */
	add_attribute(c->svg, "y", y + style->size * 0.36);
	add_attribute(c->svg, "font-size", style->size);
	if (style->bold)
		strbuf_addstr(c->svg, " font-weight=\"bold\"");
	if (style->anchor != TEXT_LEFT)
		strbuf_addf(c->svg, " text-anchor=\"%s\"", anchors[style->anchor]);
	add_paint(c->svg, "fill", style->color);
	strbuf_addch(c->svg, '>');
	add_xml(c->svg, cut);
	strbuf_addstr(c->svg, "</text>\n");
}

double canvas_text(struct canvas *c, double x, double y, const char *text,
		   const struct text_style *style)
{
	if (!*text)
		return 0;
	double width = canvas_text_width(c, text, style);
	if (c->svg) {
		svg_text(c, x, y, text, style);
		return width;
	}
	PangoRectangle r;
	pango_layout_get_extents(c->layout, NULL, &r);
	set_paint(c, style->color);
	cairo_move_to(c->cr,
		      x - (style->anchor == TEXT_LEFT     ? 0
			   : style->anchor == TEXT_MIDDLE ? width / 2
							  : width),
		      y - (double)r.height / PANGO_SCALE / 2);
	pango_cairo_show_layout(c->cr, c->layout);
	return width;
}

double canvas_paragraph(struct canvas *c, double x, double y, double width, const char *text,
			const struct text_style *style, bool draw)
{
	PangoRectangle r;

	set_text(c, *text ? text : " ", style);
	pango_layout_set_ellipsize(c->layout, PANGO_ELLIPSIZE_NONE);
	pango_layout_set_width(c->layout, (int)(width * PANGO_SCALE));
	pango_layout_set_wrap(c->layout, PANGO_WRAP_WORD_CHAR);
	pango_layout_get_extents(c->layout, NULL, &r);
	if (draw) {
		set_paint(c, style->color);
		cairo_move_to(c->cr, x, y);
		pango_cairo_show_layout(c->cr, c->layout);
	}
	return (double)r.height / PANGO_SCALE;
}
