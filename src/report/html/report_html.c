/*
 * The report as one self-contained page: style, scripts and data are inside, and its content
 * security policy allows these scripts only and no network. Tables and charts are written here, so
 * that the page can be read without scripts; scripts add zooming, values under the pointer, sorting
 * and searching.
 */
#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "report/html/html_text.h"
#include "report/html/report_html.h"
#include "report/report_json.h"

static const char colors_css[] = {
#include "colors.css.h"
};
static const char charts_css[] = {
#include "charts.css.h"
};
static const char base_css[] = {
#include "base.css.h"
};
static const char report_css[] = {
#include "report.css.h"
};
static const char values_js[] = {
#include "values.js.h"
};
static const char elements_js[] = {
#include "elements.js.h"
};
static const char tables_js[] = {
#include "tables.js.h"
};
static const char report_js[] = {
#include "report.js.h"
};
static const char charts_js[] = {
#include "charts.js.h"
};
static const char bars_js[] = {
#include "bars.js.h"
};
static const char phases_js[] = {
#include "phases.js.h"
};
static const char tree_js[] = {
#include "tree.js.h"
};
static const unsigned char colors_css_hash[] = {
#include "colors.css.sha256.h"
};
static const unsigned char charts_css_hash[] = {
#include "charts.css.sha256.h"
};
static const unsigned char base_css_hash[] = {
#include "base.css.sha256.h"
};
static const unsigned char report_css_hash[] = {
#include "report.css.sha256.h"
};
static const unsigned char values_js_hash[] = {
#include "values.js.sha256.h"
};
static const unsigned char elements_js_hash[] = {
#include "elements.js.sha256.h"
};
static const unsigned char tables_js_hash[] = {
#include "tables.js.sha256.h"
};
static const unsigned char report_js_hash[] = {
#include "report.js.sha256.h"
};
static const unsigned char charts_js_hash[] = {
#include "charts.js.sha256.h"
};
static const unsigned char bars_js_hash[] = {
#include "bars.js.sha256.h"
};
static const unsigned char phases_js_hash[] = {
#include "phases.js.sha256.h"
};
static const unsigned char tree_js_hash[] = {
#include "tree.js.sha256.h"
};

/* The content security policy allows a part by its hash. */
struct part {
	const char *text;
	const unsigned char *hash;
};
static const struct part styles[] = {
	{colors_css, colors_css_hash},
	{charts_css, charts_css_hash},
	{base_css, base_css_hash},
	{report_css, report_css_hash},
};
static const struct part scripts[] = {
	{values_js, values_js_hash}, {elements_js, elements_js_hash}, {tables_js, tables_js_hash},
	{report_js, report_js_hash}, {charts_js, charts_js_hash},     {bars_js, bars_js_hash},
	{phases_js, phases_js_hash}, {tree_js, tree_js_hash},
};

/* In the order of the page. */
static const struct section {
	const char *id, *title;
	page_section *write;
	const char *old; /* the id of version 0.1, to which others may link; NULL: the same */
} sections[] = {
	{"verdict", "Verdict", page_verdict, NULL},
	{"core-time", "Where the core time went", page_core_time, NULL},
	{"figures", "Key figures", page_figures, NULL},
	{"accounting", "Accounting", page_accounting, "books"},
	{"series", "Series", page_series, "curves"},
	{"concurrency", "Concurrency", page_concurrency, NULL},
	{"phases", "Phases", page_phases, NULL},
	{"tree", "Process tree", page_flame, NULL},
	{"processes", "Processes over time", page_gantt, NULL},
	{"operations", "Operations", page_operations, NULL},
	{"executables", "Executables", page_executables, NULL},
	{"hosts", "Hosts", page_hosts, NULL},
	{"ranks", "Ranks", page_ranks, NULL},
	{"gpu", "GPUs", page_gpu, NULL},
	{"energy", "Energy", page_energy, NULL},
	{"hardware", "Hardware", page_hardware, NULL},
	{"metadata", "Tags and metadata", page_metadata, NULL},
	{"unmeasured", "Not measured, and why", page_unmeasured, NULL},
	{"about", "How this was made", page_about, NULL},
};

/* ---- small pieces --------------------------------------------------------------------------- */

void page_number(struct page *p, void (*add)(struct strbuf *, int64_t, bool), int64_t v)
{
	if (v == UNKNOWN)
		strbuf_addstr(&p->out, "\u2013");
	else
		add(&p->out, v, true);
}

void page_real(struct page *p, const char *unit, double v)
{
	unit_add_value(&p->out, v, unit);
}

void page_note(struct page *p, const char *sentence)
{
	strbuf_addf(&p->out, "<p class=\"hint\">%s</p>", sentence);
}

#define EARLIEST (INT64_C(-62135596800) * 1000000) /* the year 1 */
#define LATEST (INT64_C(253402300800) * 1000000)   /* the year 10000 */

/* ---- what all charts share ------------------------------------------------------------------ */

static void span_add(struct page *p, int64_t a, int64_t b)
{
	if (a < EARLIEST || b > LATEST || b < a) /* unknown, or of a damaged record */
		return;
	p->begin = a < p->begin ? a : p->begin;
	p->end = b > p->end ? b : p->end;
}

static void find_span(struct page *p)
{
	const struct report *r = p->r;

	p->begin = INT64_MAX;
	p->end = INT64_MIN;
	span_add(p, r->show.list.rows[0].start, r->show.list.rows[0].start);
	span_add(p, r->show.list.rows[0].end, r->show.list.rows[0].end);
	if (r->timeline.count)
		span_add(p, r->timeline.steps[0].time,
			 r->timeline.steps[r->timeline.count - 1].time);
	for (size_t i = 0; i < r->bar_count; i++)
		span_add(p, r->bars[i].start, r->bars[i].end);
	for (size_t i = 0; i < r->phases.bar_count; i++)
		span_add(p, r->phases.bars[i].start_ns / 1000, r->phases.bars[i].end_ns / 1000);
	for (size_t i = 0; i < r->series_count; i++) {
		const struct points *c = &r->series[i].points;

		if (c->count)
			span_add(p, c->points[0].time, c->points[c->count - 1].time);
	}
	if (p->begin > p->end)
		p->begin = p->end = 0;
	else if (p->begin == p->end) /* one sample is in the middle of a second */
		p->begin -= 500000, p->end += 500000;
}

static void find_colors(struct page *p)
{
	const struct report *r = p->r;

	p->colors = xcalloc(r->name_count + 1, 1);
	for (size_t n = 0; n < r->name_count; n++) {
		size_t i = 0;

		while (i < PAGE_COLORS && i < r->executables.count &&
		       !str_same(r->executables.list[i].name, r->names[n]))
			i++;
		p->colors[n] = i < r->executables.count ? (uint8_t)i : PAGE_COLORS;
	}
}

/* ---- the page ------------------------------------------------------------------------------- */

static void add_source(struct page *p, const unsigned char *hash)
{
	strbuf_addstr(&p->out, " 'sha256-");
	text_add_base64(&p->out, hash, 32);
	strbuf_addch(&p->out, '\'');
}

static void add_part(struct page *p, const char *element, const char *text)
{
	strbuf_addf(&p->out, "<%s>", element);
	strbuf_addstr(&p->out, text);
	strbuf_addf(&p->out, "</%s>\n", element);
}

static void add_title(struct page *p)
{
	const struct joblist *l = &p->r->show.list;

	strbuf_addstr(&p->out, "Job ");
	const char *name = joblist_text(l, l->rows[0].jobname);
	const char *id = joblist_text(l, l->rows[0].jobid);
	if (id)
		html_cut(&p->out, id, strlen(id), 80);
	if (name && *name) {
		strbuf_addstr(&p->out, ", ");
		html_cut(&p->out, name, strlen(name), 120);
	}
}

static void add_head(struct page *p)
{
	strbuf_addstr(&p->out,
		      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
		      "'none'; base-uri 'none'; form-action 'none'; style-src");
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
		add_source(p, styles[i].hash);
	strbuf_addstr(&p->out, "; script-src");
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		add_source(p, scripts[i].hash);
	strbuf_addstr(
		&p->out,
		"\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n"
		"<meta name=\"generator\" content=\"plimsoll " PL_VERSION "\">\n<title>");
	add_title(p);
	strbuf_addstr(&p->out, "</title>\n");
	for (size_t i = 0; i < ARRAY_SIZE(styles); i++)
		add_part(p, "style", styles[i].text);
	strbuf_addstr(&p->out, "</head>\n<body class=\"report\">\n");
}

static void add_hosts_line(struct page *p, const struct job_row *j)
{
	const struct joblist *l = &p->r->show.list;

	if (!j->hosts.count)
		return;
	strbuf_addf(&p->out, "%shost%s ", j->user ? ", " : "", plural(j->hosts.count, "", "s"));
	for (uint32_t i = 0; i < j->hosts.count && i < 8; i++) {
		const struct job_entry *h = &l->entries[j->hosts.first + i];

		strbuf_addstr(&p->out, i ? ", <bdi>" : "<bdi>");
		html_cut(&p->out, joblist_text(l, h->key), h->key_size, 64);
		strbuf_addstr(&p->out, "</bdi>");
	}
	if (j->hosts.count > 8) {
		strbuf_addstr(&p->out, " and ");
		page_number(p, add_count, j->hosts.count - 8);
		strbuf_addstr(&p->out, " more hosts");
	}
}

/* "2026-11-15 04:05:06 to 04:07:08 (UTC+01:00)" */
static void add_times_line(struct page *p, const struct job_row *j)
{
	_cleanup_strbuf_ struct strbuf start = STRBUF_INIT, end = STRBUF_INIT, iso = STRBUF_INIT;

	if (j->start == UNKNOWN)
		return;
	text_add_local_time(&start, j->start);
	strbuf_addstr(&p->out, start.buf);
	if (j->end != UNKNOWN)
		text_add_local_time(&end, j->end);
	if (end.len) {
		bool same = start.len > 11 && end.len > 11 && !memcmp(start.buf, end.buf, 11);

		strbuf_addf(&p->out, " to %s", end.buf + (same ? 11 : 0));
	}
	text_add_time(&iso, j->start, false); /* ends in the offset */
	if (iso.len > 6)
		strbuf_addf(&p->out, " (UTC%s)", iso.buf + iso.len - 6);
}

/* The command, and the job of the batch system. */
static void add_metadata_line(struct page *p)
{
	const struct job_details *f = &p->r->show.metadata;

	if (f->command)
		html_between(&p->out, "<p class=\"command\"><code><bdi>", f->command, 400,
			     "</bdi></code></p>");
	if (f->batch)
		html_between(&p->out, "<p class=\"dim\"><bdi>", f->batch, 200, "</bdi></p>");
	if (f->cut_off)
		strbuf_addf(&p->out, "<p>Cut off: %s.</p>", f->cut_off);
}

static void add_header(struct page *p)
{
	const struct job_row *j = &p->r->show.list.rows[0];
	const char *user = joblist_text(&p->r->show.list, j->user);

	strbuf_addstr(&p->out, "<header id=\"top\"><h1><bdi>");
	add_title(p);
	strbuf_addstr(&p->out, "</bdi></h1><p class=\"dim\">");
	if (user)
		html_between(&p->out, "user <bdi>", user, 64, "</bdi>");
	add_hosts_line(p, j);
	if (j->start != UNKNOWN)
		strbuf_addstr(&p->out, user || j->hosts.count ? ", " : "");
	add_times_line(p, j);
	strbuf_addstr(&p->out, "</p>");
	add_metadata_line(p);
	strbuf_addstr(&p->out, "</header>\n");
}

static void add_contents(struct page *p, struct strbuf *texts)
{
	strbuf_addstr(&p->out, "<nav id=\"contents\" aria-label=\"contents\"><ul>");
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (texts[i].len)
			strbuf_addf(&p->out, "<li><a href=\"#%s\">%s</a></li>", sections[i].id,
				    sections[i].title);
	strbuf_addstr(&p->out, "</ul></nav>\n<main>\n");
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		if (!texts[i].len)
			continue;
		strbuf_addf(&p->out, "<section id=\"%s\"><h2>%s</h2>\n", sections[i].id,
			    sections[i].title);
		if (sections[i].old)
			strbuf_addf(&p->out, "<a id=\"%s\"></a>\n", sections[i].old);
		strbuf_add(&p->out, texts[i].buf, texts[i].len);
		strbuf_addstr(&p->out, "\n</section>\n");
	}
	strbuf_addstr(&p->out, "</main>\n");
}

static void add_data(struct page *p)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	report_json_some(p->r, &j, page_has_bands);
	strbuf_addf(&p->out,
		    "<script type=\"application/json\" id=\"report-data\" data-begin=\"%lld\" "
		    "data-end=\"%lld\" data-zone=\"",
		    (long long)p->begin, (long long)p->end);
	page_zone(p);
	strbuf_addstr(&p->out, "\">");
	html_json(&p->out, j.out.buf, j.out.len);
	strbuf_addstr(&p->out, "</script>\n");
	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		add_part(p, "script", scripts[i].text);
	strbuf_addstr(&p->out, "</body>\n</html>\n");
}

int report_html(const struct report *r, FILE *f)
{
	struct page p = {.r = r, .out = STRBUF_INIT};
	struct strbuf texts[ARRAY_SIZE(sections)];

	find_span(&p);
	find_colors(&p);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		sections[i].write(&p);
		texts[i] = p.out;
		p.out = (struct strbuf)STRBUF_INIT;
	}
	add_head(&p);
	add_header(&p);
	add_contents(&p, texts);
	add_data(&p);
	errno = 0;
	int result = fwrite(p.out.buf, 1, p.out.len, f) == p.out.len ? 0 : errno ? -errno : -EIO;
	strbuf_release(&p.out);
	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		strbuf_release(&texts[i]);
	free(p.colors);
	return result ? result : output_error(f);
}
