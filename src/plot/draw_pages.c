/*
 * A4 pages with a header, page numbers, plots and text. Everything is laid out twice: the first
 * time nothing is drawn, only the pages are counted.
 */
#include <cairo-pdf.h>
#include <errno.h>
#include <string.h>

#include "plot/draw_internal.h"

#define PAGE_WIDTH 595.28
#define PAGE_HEIGHT 841.89
#define SIDE 45.0
#define TOP 70.0
#define BOTTOM 788.0
#define INNER (PAGE_WIDTH - 2 * SIDE)
#define GAP 14.0
#define SMALLER 0.78 /* than on a screen */
#define ROW 14.5
#define ENOUGH 170.0 /* height for a plot */
#define HEADING 40.0 /* with what is above it */
#define CELL_GAP 11.0

#define CELLS_MAX 16
#define ROWS_MAX 2000 /* of a table */
#define LINE_MAX_BYTES 4000
#define TEXT_LINES_MAX 20000

#define INK RGB(0x22262b)
#define SOFT RGB(0x5d6670)
#define RULE RGB(0xc4cad1)
#define STRIPE RGB(0xf3f5f7)

struct pager {
	struct canvas c;
	const char *header, *foot;
	bool draw, open; /* a page is begun */
	size_t page, total;
	double y;
	/* of all plots, so that their time axes are aligned; measured in the first pass */
	double labels;
	int64_t begin, end;
};

/* ---- pages ----------------------------------------------------------------------------------- */

static void rule(struct pager *p, double y)
{
	const struct spot line[] = {{SIDE, y}, {PAGE_WIDTH - SIDE, y}};

	canvas_path(&p->c, line, 2, 0.7, RULE, 0);
}

static void draw_margins(struct pager *p)
{
	struct text_style style = {.size = 9.5, .color = SOFT, .width = INNER};
	_cleanup_free_ char *header = shown_text(p->header, LINE_MAX_BYTES);
	_cleanup_free_ char *foot = shown_text(p->foot, LINE_MAX_BYTES);
	_cleanup_free_ char *number = xasprintf("page %zu of %zu", p->page, p->total);

	canvas_text(&p->c, SIDE, 42, header, &style);
	rule(p, 53);
	rule(p, 803);
	style.width = INNER - 90;
	canvas_text(&p->c, SIDE, 814, foot, &style);
	style.width = 0;
	style.anchor = TEXT_RIGHT;
	canvas_text(&p->c, PAGE_WIDTH - SIDE, 814, number, &style);
}

static void close_page(struct pager *p)
{
	if (p->open && p->draw)
		cairo_show_page(p->c.cr);
	p->open = false;
}

static void new_page(struct pager *p)
{
	close_page(p);
	p->page++;
	p->open = true;
	p->y = TOP;
	if (p->draw)
		draw_margins(p);
}

/* Starts a new page where the rest of this one is too small. */
static void need(struct pager *p, double height)
{
	if (!p->open || p->y + height > BOTTOM)
		new_page(p);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* With one '#' or none; two make it smaller. */
static void add_heading(struct pager *p, const char *line)
{
	bool small = line[0] == '#' && line[1] == '#';
	struct text_style style = {.size = small ? 11.5 : 16, .bold = true, .color = INK};
	_cleanup_free_ char *text = NULL;

	for (line += small ? 2 : *line == '#'; *line == ' ';)
		line++;
	text = shown_text(line, LINE_MAX_BYTES);
	need(p, 60); /* not alone at the bottom */
	if (p->y > TOP)
		p->y += small ? 8 : 14;
	p->y += canvas_paragraph(&p->c, SIDE, p->y, INNER, text, &style, p->draw) + 4;
}

static void add_paragraph(struct pager *p, const char *line)
{
	const struct text_style style = {.size = 10, .color = INK};
	_cleanup_free_ char *text = shown_text(line, LINE_MAX_BYTES);

	if (!*text) {
		p->y += 6;
		return;
	}
	need(p, canvas_paragraph(&p->c, SIDE, 0, INNER, text, &style, false));
	p->y += canvas_paragraph(&p->c, SIDE, p->y, INNER, text, &style, p->draw) + 2;
}

struct row {
	char *cells[CELLS_MAX];
	size_t count;
	bool head;
};

struct rows {
	struct row *list;
	size_t count, cap;
	double width[CELLS_MAX];
	bool right[CELLS_MAX];
};

static void rows_release(struct rows *t)
{
	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->list[i].count; k++)
			free(t->list[i].cells[k]);
	free(t->list);
	*t = (struct rows){0};
}

static void add_row(struct rows *t, const char *line)
{
	struct row r = {.head = *line == '|'};

	if (t->count >= ROWS_MAX)
		return;
	line += r.head || *line == ' '; /* the blank keeps a text of the user from being a head */
	while (r.count < CELLS_MAX) {
		size_t n = strcspn(line, "\t");
		bool right = r.head && *line == '>';
		_cleanup_free_ char *cell = xstrndup(line + right, n - right);

		t->right[r.count] = t->right[r.count] || right;
		r.cells[r.count++] = shown_text(cell, LINE_MAX_BYTES);
		if (!line[n])
			break;
		line += n + 1;
	}
	GROW(t->list, t->count, t->cap);
	t->list[t->count++] = r;
}

static struct text_style cell_style(const struct row *r)
{
	return (struct text_style){.size = 9.5, .bold = r->head, .color = r->head ? SOFT : INK};
}

/* As wide as their texts; where that is too much the widest are narrowed. */
static void set_widths(struct pager *p, struct rows *t)
{
	double sum = 0;

	for (size_t i = 0; i < t->count; i++)
		for (size_t k = 0; k < t->list[i].count; k++) {
			struct text_style style = cell_style(&t->list[i]);
			double w = canvas_text_width(&p->c, t->list[i].cells[k], &style) + CELL_GAP;

			t->width[k] = w > t->width[k] ? w : t->width[k];
		}
	for (size_t k = 0; k < CELLS_MAX; k++)
		sum += t->width[k];
	while (sum > INNER) {
		size_t widest = 0;

		for (size_t k = 1; k < CELLS_MAX; k++)
			widest = t->width[k] > t->width[widest] ? k : widest;
		double less = sum - INNER > 20 ? 20 : sum - INNER;
		t->width[widest] -= less;
		sum -= less;
	}
}

static void draw_row(struct pager *p, const struct rows *t, const struct row *r)
{
	double x = SIDE;

	for (size_t k = 0; p->draw && k < r->count; k++) {
		struct text_style style = cell_style(r);

		style.width = t->width[k] - CELL_GAP + 1;
		style.anchor = t->right[k] ? TEXT_RIGHT : TEXT_LEFT;
		/* text that is cut is as wide as its column */
		canvas_text(&p->c, t->right[k] ? x + t->width[k] - CELL_GAP : x, p->y + ROW / 2,
			    r->cells[k], &style);
		x += t->width[k];
	}
	p->y += ROW;
	if (r->head && p->draw)
		rule(p, p->y - 1);
}

static void add_table(struct pager *p, struct rows *t)
{
	const struct row *head = t->count && t->list[0].head ? &t->list[0] : NULL;

	set_widths(p, t);
	need(p, 2 * ROW);
	for (size_t i = 0; i < t->count; i++) {
		if (p->y + ROW > BOTTOM) {
			new_page(p);
			if (head)
				draw_row(p, t, head);
		}
		if (p->draw && i % 2 == 0 && !t->list[i].head)
			canvas_box(&p->c, SIDE - 4, p->y, INNER + 8, ROW, STRIPE);
		draw_row(p, t, &t->list[i]);
	}
	if (t->count)
		p->y += 6;
	rows_release(t);
}

static void add_text(struct pager *p, const char *text)
{
	struct rows table = {0};
	size_t lines = 0;

	/* text may start below charts that leave room */
	if (!p->open || p->y + 200 > BOTTOM)
		new_page(p);
	else
		p->y += GAP;
	while (*text && lines++ < TEXT_LINES_MAX) {
		size_t n = strcspn(text, "\n");
		_cleanup_free_ char *line = xstrndup(text, n);

		if (strchr(line, '\t')) {
			add_row(&table, line);
		} else {
			add_table(p, &table);
			if (*line == '#')
				add_heading(p, line);
			else
				add_paragraph(p, line);
		}
		text += n + (text[n] == '\n');
	}
	add_table(p, &table);
}

/* ---- plots ----------------------------------------------------------------------------------- */

static void measure_plot(struct pager *p, const struct plot *plot, double width, double height)
{
	double labels = chart_labels(&p->c, plot, width, height, 1.2);
	int64_t begin = plot->begin, end = plot->end;

	p->labels = labels > p->labels ? labels : p->labels;
	if (!begin && !end)
		plots_common_times(plot, 1, &begin, &end);
	if (begin && (!p->begin || begin < p->begin))
		p->begin = begin;
	p->end = end > p->end ? end : p->end;
}

/* Measures a plot in the first pass, draws it in the second. */
static void add_plot(struct pager *p, const struct plot *from, double x, double w, double h)
{
	struct plot plot = *from;

	if (!p->draw) {
		measure_plot(p, &plot, w / SMALLER, h / SMALLER);
		return;
	}
	if (!plot.begin && !plot.end) {
		plot.begin = p->begin;
		plot.end = p->end;
	}
	cairo_save(p->c.cr);
	cairo_translate(p->c.cr, x, p->y);
	cairo_scale(p->c.cr, SMALLER, SMALLER);
	chart_draw(&p->c, &plot, 0, 0, w / SMALLER, h / SMALLER, 1.2, p->labels);
	cairo_restore(p->c.cr);
}

/* Rows of plots below a heading. */
static void add_columns(struct pager *p, const struct plot_page *page)
{
	double each = (BOTTOM - TOP - HEADING + GAP) / (double)page->rows;
	double wide = (INNER + GAP) / (double)page->columns;

	if (page->heading) {
		need(p, HEADING + each - GAP);
		add_heading(p, page->heading);
	}
	for (size_t i = 0; i < page->plot_count; i++) {
		size_t column = i % page->columns;

		if (column == 0)
			need(p, each - GAP);
		add_plot(p, &page->plots[i], SIDE + (double)column * wide, wide - GAP, each - GAP);
		if (column + 1 == page->columns || i + 1 == page->plot_count)
			p->y += each;
	}
}

/* Several share a page; a single one uses the rest of the page before, where that is enough. */
static void add_plots(struct pager *p, const struct plot_page *page)
{
	size_t rows = page->rows ? page->rows : page->plot_count > 3 ? page->plot_count : 3;
	double each = (BOTTOM - TOP + GAP) / (double)rows;

	/* the height of each has the gap behind it */
	p->y += page->rows ? 0 : GAP;
	double left = BOTTOM - p->y + GAP;
	if (page->plot_count != 1 || !p->open || left < ENOUGH)
		new_page(p);
	else if (left < each)
		each = left;
	for (size_t i = 0; i < page->plot_count; i++, p->y += each)
		add_plot(p, &page->plots[i], SIDE, INNER, each - GAP);
}

/* On one page, with its heading. */
static void add_stack(struct pager *p, const struct plot_page *page)
{
	double height = stack_height(page->stack);

	need(p, HEADING + 2 * ROW + height);
	add_heading(p, page->heading ? page->heading : "");
	add_paragraph(p, page->stack->note);
	p->y += 4;
	if (p->draw)
		stack_draw(&p->c, page->stack, SIDE, p->y, INNER);
	p->y += height;
}

static void lay_out(struct pager *p, const struct plot_page *pages, size_t count, const char *front,
		    bool draw)
{
	p->draw = draw;
	p->page = 0;
	if (front)
		add_text(p, front);
	for (size_t i = 0; i < count; i++) {
		if (pages[i].text)
			add_text(p, pages[i].text);
		else if (pages[i].stack)
			add_stack(p, &pages[i]);
		else if (pages[i].columns)
			add_columns(p, &pages[i]);
		else
			add_plots(p, &pages[i]);
	}
	if (!p->page)
		new_page(p);
	close_page(p);
	p->total = p->page;
}

int draw_pages(const struct plot_page *pages, size_t count, const char *header, const char *foot,
	       const char *front, struct strbuf *out, struct strbuf *why)
{
	cairo_surface_t *s =
		cairo_pdf_surface_create_for_stream(draw_sink, out, PAGE_WIDTH, PAGE_HEIGHT);
	struct pager p = {.header = header, .foot = foot};
	_cleanup_free_ char *title = shown_text(header, LINE_MAX_BYTES);

	cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_TITLE, title);
	cairo_pdf_surface_set_metadata(s, CAIRO_PDF_METADATA_CREATOR, "plimsoll " PL_VERSION);
	canvas_begin(&p.c, s, NULL);
	lay_out(&p, pages, count, front, false);
	lay_out(&p, pages, count, front, true);
	cairo_status_t status = cairo_status(p.c.cr);
	canvas_end(&p.c);
	cairo_surface_finish(s);
	if (status == CAIRO_STATUS_SUCCESS)
		status = cairo_surface_status(s);
	cairo_surface_destroy(s);
	if (status == CAIRO_STATUS_SUCCESS)
		return 0;
	return strbuf_fail(why, -EIO, "cannot draw: %s", cairo_status_to_string(status));
}
