/*
 * The process tree as an icicle: one box per node, as wide as its share of CPU time, children
 * below. It needs no script; positions are in percent, so that it fits any width and text is not
 * stretched.
 */
#include <string.h>

#include "report/html/html_text.h"
#include "report/html/report_html.h"

#define ROW 19        /* pixels, as in the script */
#define ROWS_MAX 40   /* deeper ones are not drawn */
#define NARROWEST .25 /* percent */
#define LABELLED 2.5  /* percent; narrower boxes have no text */

struct layout {
	double *width, *x; /* percent, by node */
	bool by_wall;
	uint32_t rows;
};

static double own_value(const struct flame_node *n, bool by_wall)
{
	int64_t v = by_wall ? n->wall : n->cpu;

	return v > 0 ? (double)v : 0;
}

/* A node is at least as wide as its children together, which may run longer than it. Parents come
 * before children. */
static double add_up(const struct report *r, struct layout *l)
{
	double all = 0;

	for (size_t i = r->flame_count; i-- > 0;) {
		double own = own_value(&r->flame[i], l->by_wall);
		uint32_t parent = r->flame[i].parent;

		l->width[i] = own > l->width[i] ? own : l->width[i];
		if (parent < i)
			l->width[parent] += l->width[i];
		else
			all += l->width[i];
	}
	return all;
}

static void place(const struct report *r, struct layout *l, double all)
{
	_cleanup_free_ double *used = xcalloc(r->flame_count, sizeof(*used));
	double roots = 0;

	for (size_t i = 0; i < r->flame_count; i++) {
		uint32_t parent = r->flame[i].parent;
		double *before = parent < i ? &used[parent] : &roots;

		l->width[i] = all > 0 ? l->width[i] * 100 / all : 0;
		l->x[i] = (parent < i ? l->x[parent] : 0) + *before;
		*before += l->width[i];
		if (l->width[i] >= NARROWEST && r->flame[i].depth >= l->rows &&
		    r->flame[i].depth < ROWS_MAX)
			l->rows = r->flame[i].depth + 1;
	}
}

static void add_title(struct page *p, const struct flame_node *n)
{
	html_between(&p->out, "<title>", p->r->names[n->name], 200, ": ");
	page_number(p, add_count, n->processes);
	strbuf_addstr(&p->out, plural(n->processes, " process, CPU ", " processes, CPU "));
	page_number(p, add_us, n->cpu);
	strbuf_addstr(&p->out, ", largest ");
	page_number(p, add_kib, n->rssmax);
	strbuf_addstr(&p->out, "</title>");
}

static void add_box(struct page *p, const struct layout *l, size_t i)
{
	const struct flame_node *n = &p->r->flame[i];
	unsigned y = n->depth * ROW, color = p->colors[n->name];
	const char *name = path_base(p->r->names[n->name]);

	if (l->width[i] < LABELLED) {
		strbuf_addf(
			&p->out,
			"<rect class=\"q%u\" x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%d\"/>",
			color, l->x[i], y, l->width[i], ROW - 1);
		return;
	}
	strbuf_addf(&p->out,
		    "<svg x=\"%.2f%%\" y=\"%u\" width=\"%.2f%%\" height=\"%d\">"
		    "<rect class=\"q%u\" width=\"100%%\" height=\"100%%\"/><text x=\"4\" y=\"13\">",
		    l->x[i], y, l->width[i], ROW - 1, color);
	html_cut(&p->out, name, strlen(name), 60);
	if (n->processes > 1) {
		strbuf_addstr(&p->out, " \u00d7");
		page_number(p, add_count, n->processes);
	}
	strbuf_addstr(&p->out, "</text>");
	add_title(p, n);
	strbuf_addstr(&p->out, "</svg>");
}

void page_flame(struct page *p)
{
	const struct report *r = p->r;
	struct layout l = {.rows = 1};
	_cleanup_free_ double *width = xcalloc(r->flame_count + 1, sizeof(*width));
	_cleanup_free_ double *x = xcalloc(r->flame_count + 1, sizeof(*x));

	if (!r->flame_count) {
		if (!r->has_records)
			page_note(p, "There are no records of processes. Run the job under "
				     "<code>plimsoll run</code> to get its process tree.");
		return;
	}
	l.width = width;
	l.x = x;
	double all = add_up(r, &l);
	if (all <= 0) {
		l.by_wall = true;
		all = add_up(r, &l);
	}
	place(r, &l, all);
	strbuf_addf(
		&p->out,
		"<p class=\"dim\">Each box is one or more processes of the same program with the "
		"same parent. Its width is %s; children are below.</p>",
		l.by_wall ? "its duration" : "its CPU time including children");
	strbuf_addf(&p->out,
		    "<div id=\"flame\" class=\"flame\"><svg class=\"boxes\" height=\"%u\" "
		    "role=\"img\" aria-label=\"process tree\">",
		    l.rows * ROW);
	for (size_t i = 0; i < r->flame_count; i++)
		if (l.width[i] >= NARROWEST && r->flame[i].depth < ROWS_MAX)
			add_box(p, &l, i);
	strbuf_addstr(&p->out, "</svg></div>");
}
