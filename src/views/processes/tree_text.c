/*
 * The process tree as text. Consecutive siblings with the same name and nothing shown below them
 * become one line with their sums. See process_tree_view.h.
 */
#include <string.h>

#include "core/log.h"
#include "core/text/text.h"
#include "views/processes/process_tree_view.h"

#define LEVELS_DRAWN 32 /* deeper levels are shown as a number */

/* Signs for "has a sibling below", "last one", both of the next program of the process above, and
 * "passes by". */
struct signs {
	const char *branch[2], *corner[2], *root[2], *line, *cut;
};
static const struct signs utf8_signs = {{"├─ ", "├→ "}, {"└─ ", "└→ "}, {"", "→ "}, "│  ", "…"};
static const struct signs ascii_signs = {{"|- ", "|> "}, {"`- ", "`> "}, {"", "> "}, "|  ", ">"};

struct level {
	uint32_t last;
	bool more; /* siblings follow */
};

struct drawing {
	struct proctree *t;
	const struct tree_view *v;
	FILE *f;
	const struct signs *signs;
	bool human, color;
	size_t width; /* 0: no limit */
	struct level *levels;
	size_t depth, cap;
	struct strbuf line, command, cell;
};

/* One line: a process or several. */
struct group {
	size_t first, count;
	uint32_t next; /* index behind them */
	int64_t cpu, rss;
	int64_t begin, end; /* of the first and the last of them; begin UNKNOWN: not known */
	uint32_t hidden;    /* below them */
	bool same_args, failed;
};

/* ---- what is shown -------------------------------------------------------------------------- */

static bool shown(const struct drawing *d, size_t i, size_t depth)
{
	return depth <= d->v->depth && d->t->nodes[i].inclusive >= d->v->min_cpu;
}

/* The next sibling up to last that is shown. */
static size_t next_shown(const struct drawing *d, size_t i, size_t last, size_t depth)
{
	while (i <= last && !shown(d, i, depth))
		i = d->t->nodes[i].last + 1;
	return i;
}

/* Is anything shown below it? Descendants of a hidden process are hidden. */
static bool has_shown_child(const struct drawing *d, size_t i, size_t depth)
{
	size_t last = d->t->nodes[i].last;

	return next_shown(d, i + 1, last, depth + 1) <= last;
}

static uint32_t hidden_below(const struct drawing *d, size_t i, size_t depth)
{
	const struct tree_node *nodes = d->t->nodes;
	uint32_t hidden = 0;

	for (size_t c = i + 1; c <= nodes[i].last; c = nodes[c].last + 1)
		if (!shown(d, c, depth + 1))
			hidden += nodes[c].last - (uint32_t)c + 1;
	return hidden;
}

static bool same_text(struct proctree *t, uint32_t a, uint32_t b)
{
	size_t n, m;

	if (a == b)
		return true;
	_cleanup_strbuf_ struct strbuf first = STRBUF_INIT;
	const char *s = proctree_text(t, a, &n);
	strbuf_add(&first, s ? s : "", n);
	s = proctree_text(t, b, &m);
	return n == m && !memcmp(first.buf, s ? s : "", n);
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void take(struct drawing *d, struct group *g, size_t i)
{
	const struct tree_node *n = &d->t->nodes[i];

	g->count++;
	g->next = n->last + 1;
	g->cpu += n->inclusive;
	if (n->start != UNKNOWN && n->duration != UNKNOWN) {
		g->end = g->begin == UNKNOWN ? n->start + n->duration
					     : larger(g->end, n->start + n->duration);
		g->begin = g->begin == UNKNOWN || n->start < g->begin ? n->start : g->begin;
	}
	g->rss = larger(g->rss, n->rssmax);
	g->hidden += hidden_below(d, i, d->depth);
	g->failed = g->failed || n->has_signal || (n->has_exitcode && n->exitcode);
}

/* The process at i and similar siblings behind it. */
static struct group collect(struct drawing *d, size_t i, size_t last)
{
	const struct tree_node *nodes = d->t->nodes;
	struct group g = {.first = i, .begin = UNKNOWN, .rss = UNKNOWN, .same_args = true};

	take(d, &g, i);
	if (d->v->all || nodes[i].followed || nodes[i].follows || has_shown_child(d, i, d->depth))
		return g;
	for (size_t c = next_shown(d, g.next, last, d->depth); c <= last;
	     c = next_shown(d, g.next, last, d->depth)) {
		if (!same_text(d->t, nodes[i].exename, nodes[c].exename) || nodes[c].followed ||
		    has_shown_child(d, c, d->depth))
			break;
		g.same_args = g.same_args && same_text(d->t, nodes[i].args, nodes[c].args);
		take(d, &g, c);
	}
	return g;
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* A right-aligned cell of ASCII. */
static void add_right(struct drawing *d, void (*add)(struct strbuf *, int64_t, bool), int64_t v,
		      size_t width)
{
	strbuf_reset(&d->cell);
	add(&d->cell, v, d->human);
	for (size_t n = d->cell.len; n < width; n++)
		strbuf_addch(&d->line, ' ');
	strbuf_add(&d->line, d->cell.buf, d->cell.len);
	strbuf_addstr(&d->line, "  ");
}

static void add_branches(struct drawing *d, bool follows, bool more)
{
	size_t drawn = LEVELS_DRAWN;

	/* the command keeps at least half of the page */
	if (d->width && drawn > (d->width - 36) / 6)
		drawn = d->width > 54 ? (d->width - 36) / 6 : 3;
	if (!d->depth)
		strbuf_addstr(&d->line, d->signs->root[follows]);
	else if (d->depth > drawn)
		strbuf_addf(&d->line, "%zu %s", d->depth, d->signs->cut);
	else
		for (size_t i = 1; i < d->depth; i++)
			strbuf_addstr(&d->line, d->levels[i].more ? d->signs->line : "   ");
	if (d->depth)
		strbuf_addstr(&d->line, (more ? d->signs->branch : d->signs->corner)[follows]);
}

/* Of a text that will be cut only the visible part is examined. */
static void add_text(struct drawing *d, const char *s, size_t n)
{
	size_t most = d->width;

	if (most && n > most) {
		for (size_t i = 0; i < d->width && most == d->width; i++)
			if ((unsigned char)s[i] >= 0x80)
				most = d->width * 4;
		n = n > most ? most : n;
	}
	text_add_printable(&d->command, s, n);
}

static void add_program(struct drawing *d, const struct group *g)
{
	const struct tree_node *n = &d->t->nodes[g->first];
	size_t size;

	strbuf_reset(&d->command);
	if (g->count > 1)
		strbuf_addf(&d->command, "%zu x ", g->count);
	const char *s = proctree_text(d->t, n->exename, &size);
	add_text(d, s ? s : "?", s ? size : 1);
	s = proctree_text(d->t, n->args, &size);
	if (size)
		strbuf_addch(&d->command, ' ');
	if (size && g->same_args)
		add_text(d, s, size);
	else if (!g->same_args)
		strbuf_addstr(&d->command, size ? "..." : " ...");
}

static void add_ending(const struct drawing *d, const struct group *g, struct strbuf *out)
{
	const struct tree_node *n = &d->t->nodes[g->first];

	if (g->hidden)
		strbuf_addf(out, " [+%u]", g->hidden);
	if (g->failed && g->count == 1 && n->has_exitcode && n->exitcode)
		strbuf_addf(out, " (exit %d)", n->exitcode);
	else if (g->failed)
		strbuf_addstr(out, g->count > 1 ? " (some failed)" : " (signal)");
}

static void draw(struct drawing *d, const struct group *g, bool more)
{
	_cleanup_strbuf_ struct strbuf ending = STRBUF_INIT;
	size_t front;

	strbuf_reset(&d->line);
	add_right(d, add_us, g->cpu, 11);
	add_right(d, add_us, g->begin == UNKNOWN ? UNKNOWN : g->end - g->begin, 11);
	add_right(d, add_kib, g->rss, 8);
	add_branches(d, d->t->nodes[g->first].follows, more);
	front = text_width(d->line.buf, d->line.len);
	add_program(d, g);
	add_ending(d, g, &ending);
	size_t room = !d->width                           ? SIZE_MAX
		      : d->width > front + ending.len + 1 ? d->width - front - ending.len
							  : 1;
	if (text_width(d->command.buf, d->command.len) > room) {
		strbuf_cut(&d->command, fitting(d->command.buf, d->command.len, room - 1));
		strbuf_addstr(&d->command, d->signs->cut);
	}
	strbuf_add(&d->line, d->command.buf, d->command.len);
	if (d->color && g->failed)
		strbuf_addf(&d->line, "\x1b[31m%s\x1b[0m", ending.buf);
	else
		strbuf_add(&d->line, ending.buf, ending.len);
	strbuf_addch(&d->line, '\n');
	fwrite(d->line.buf, 1, d->line.len, d->f);
}

static void draw_all(struct drawing *d)
{
	size_t end = d->t->count - 1;

	for (size_t i = 0; i < d->t->count;) {
		/* siblings of this place end where the node above does */
		while (d->depth && d->levels[d->depth].last < i)
			d->depth--;
		size_t last = d->depth ? d->levels[d->depth].last : end;
		if (!shown(d, i, d->depth)) {
			i = d->t->nodes[i].last + 1;
			continue;
		}
		struct group g = collect(d, i, last);
		bool more = next_shown(d, g.next, last, d->depth) <= last;
		draw(d, &g, more);
		i = g.next;
		if (g.count > 1 || d->t->nodes[g.first].last == g.first)
			continue;
		/* levels[n] is the node that levels of n lie below, and whether its line goes on */
		d->depth++;
		GROW(d->levels, d->depth + 1, d->cap);
		d->levels[d->depth].last = d->t->nodes[g.first].last;
		d->levels[d->depth - 1].more = more;
		i = g.first + 1;
	}
}

int proctree_print(struct proctree *t, const struct tree_view *v, FILE *f)
{
	size_t terminal = terminal_width(f);
	struct drawing d = {.t = t,
			    .v = v,
			    .f = f,
			    .signs = text_is_utf8() ? &utf8_signs : &ascii_signs,
			    .human = terminal > 0,
			    .color = color_on(f),
			    .width = v->wide    ? 0
				     : terminal ? terminal
						: 80,
			    .line = STRBUF_INIT,
			    .command = STRBUF_INIT,
			    .cell = STRBUF_INIT};

	d.cap = 64;
	d.levels = xcalloc(d.cap, sizeof(*d.levels));
	proctree_join_images(t);
	if (t->count) {
		fprintf(f, "%11s  %11s  %8s  COMMAND\n", d.human ? "CPU" : "CPU(us)",
			d.human ? "WALL" : "WALL(us)", d.human ? "RSS" : "RSS(KiB)");
		draw_all(&d);
	}
	free(d.levels);
	strbuf_release(&d.line);
	strbuf_release(&d.command);
	strbuf_release(&d.cell);
	return output_error(f);
}
