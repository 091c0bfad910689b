/* Tables of groups of processes. Cells have their raw value for sorting; bars compare the rows. */
#include <stddef.h>
#include <string.h>

#include "report/html/html_text.h"
#include "report/html/report_html.h"

enum column {
	NAME,
	HOST,
	IMAGES,
	FAILED,
	CPU,
	WALL,
	DURATION,
	RSS,
	READ,
	WRITTEN,
	COLUMN_END,
};

typedef void add_value(struct strbuf *out, int64_t v, bool human);

static const struct {
	const char *title, *help;
	bool bar;
	size_t figure; /* of struct report_group */
	add_value *add;
} columns[COLUMN_END] = {
#define FIGURE(name) offsetof(struct report_group, name)
	[NAME] = {"", NULL, false, 0, NULL},
	[HOST] = {"host", NULL, false, 0, NULL},
	[IMAGES] = {"images", "programs executed, and forks without exec", false, FIGURE(images),
		    add_count},
	[FAILED] = {"failed", "processes that ended with an error or by a signal", false,
		    FIGURE(failed), add_count},
	[CPU] = {"CPU time", NULL, true, FIGURE(cpu), add_us},
	[WALL] = {"wall time", "time during which at least one of them ran", false, FIGURE(wall),
		  add_us},
	[DURATION] = {"sum of durations", NULL, false, FIGURE(duration), add_us},
	[RSS] = {"largest RSS", "resident memory of the largest process", true, FIGURE(rssmax),
		 add_kib},
	[READ] = {"read", "by system calls, including caches", true, FIGURE(read), add_bytes},
	[WRITTEN] = {"written", "by system calls, including caches", true, FIGURE(written),
		     add_bytes},
#undef FIGURE
};

static int64_t number(const struct report_group *g, int c)
{
	return *(const int64_t *)((const char *)g + columns[c].figure);
}

static void add_number_cell(struct page *p, const struct report_group *g, int c, int64_t largest)
{
	int64_t v = number(g, c);

	if (v == UNKNOWN) {
		strbuf_addstr(&p->out, "<td class=\"n\">\u2013</td>");
		return;
	}
	strbuf_addf(&p->out, "<td class=\"n%s\" data-v=\"%lld\">", c == FAILED && v ? " bad" : "",
		    (long long)v);
	columns[c].add(&p->out, v, true);
	if (columns[c].bar && largest > 0)
		strbuf_addf(
			&p->out,
			"<svg class=\"bar\" aria-hidden=\"true\"><rect width=\"%.1f%%\" height=\"4\"/></svg>",
			v > 0 ? (double)v * 100 / (double)largest : 0.0);
	strbuf_addstr(&p->out, "</td>");
}

static void add_head(struct page *p, const char *first, const bool *has)
{
	strbuf_addstr(&p->out, "<thead><tr>");
	for (int c = 0; c < COLUMN_END; c++) {
		if (!has[c])
			continue;
		strbuf_addf(&p->out, "<th scope=\"col\"%s", c > HOST ? " class=\"n\"" : "");
		if (columns[c].help)
			strbuf_addf(&p->out, " title=\"%s\"", columns[c].help);
		strbuf_addf(&p->out, ">%s</th>", c == NAME ? first : columns[c].title);
	}
	strbuf_addstr(&p->out, "</tr></thead><tbody>");
}

static void add_rows(struct page *p, const struct report_groups *g, const bool *has,
		     const int64_t *largest)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct report_group *row = &g->list[i];

		strbuf_addstr(&p->out, "<tr><td class=\"t\">");
		if (row->name && *row->name)
			html_cut(&p->out, row->name, strlen(row->name), 300);
		else
			strbuf_addstr(&p->out, "<i>none</i>");
		strbuf_addstr(&p->out, "</td>");
		if (has[HOST])
			html_between(&p->out, "<td class=\"t\">", row->host, SIZE_MAX, "</td>");
		for (int c = IMAGES; c < COLUMN_END; c++)
			if (has[c])
				add_number_cell(p, row, c, largest[c]);
		strbuf_addstr(&p->out, "</tr>\n");
	}
}

static void add_table(struct page *p, const char *id, const char *first,
		      const struct report_groups *g)
{
	bool has[COLUMN_END] = {[NAME] = true};
	int64_t largest[COLUMN_END] = {0};

	for (size_t i = 0; i < g->count; i++) { /* columns without values are left out */
		has[HOST] = has[HOST] || g->list[i].host;
		for (int c = IMAGES; c < COLUMN_END; c++) {
			int64_t v = number(&g->list[i], c);

			has[c] = has[c] || (v != UNKNOWN && (c != FAILED || v > 0));
			largest[c] = v > largest[c] ? v : largest[c];
		}
	}
	strbuf_addf(
		&p->out,
		"<div class=\"scroll\"><table class=\"sortable\" id=\"%s-table\" aria-label=\"%s\">",
		id, id);
	add_head(p, first, has);
	add_rows(p, g, has, largest);
	strbuf_addstr(&p->out, "</tbody></table></div>");
	if (g->left_out) {
		strbuf_addstr(&p->out, "<p class=\"dim\">");
		page_number(p, add_count, (int64_t)g->left_out);
		strbuf_addstr(&p->out, " more with less CPU time are not listed.</p>");
	}
}

void page_operations(struct page *p)
{
	if (p->r->operations.count)
		add_table(p, "operations", "operation", &p->r->operations);
	else if (p->r->has_records)
		page_note(p, "No process of this job had tags, so there are no operations. Set "
			     "<code>PLIMSOLL_TAGS=\"op:name\"</code> in the job script.");
}

void page_executables(struct page *p)
{
	if (p->r->executables.count)
		add_table(p, "executables", "executable", &p->r->executables);
}

void page_hosts(struct page *p)
{
	if (p->r->hosts.count > 1)
		add_table(p, "hosts", "host", &p->r->hosts);
}

void page_ranks(struct page *p)
{
	if (p->r->ranks.count > 1)
		add_table(p, "ranks", "rank", &p->r->ranks);
}
