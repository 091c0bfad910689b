/* A report in 80 columns; see report.h. */
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "core/text/units.h"
#include "report/report_charts.h"
#include "views/sheet.h"

#define WIDTH 80
#define LABEL 13 /* columns of the labels */
#define SPARK 25 /* columns of a sparkline; long names of series leave less */
#define NAME 26  /* columns of a name */
#define NAME_MAX_COLUMNS 38
#define ROWS 8      /* of a table */
#define PER_PANEL 4 /* series of a panel */
#define REASONS 4   /* of absences */
#define VALUE 12    /* columns of a number with its unit */
#define BRIEF_LABEL 12

struct text {
	const struct report *r;
	struct strbuf *out;
	struct sheet sheet;
	bool utf8;
	size_t name; /* columns of the names of series */
};

/* ---- lines ---------------------------------------------------------------------------------- */

static void heading(const struct text *s, const char *text)
{
	strbuf_addch(s->out, '\n');
	sheet_paint(&s->sheet, "1", text);
	strbuf_addch(s->out, '\n');
}

static void add_report_line(void *user, const char *name, const char *text)
{
	sheet_line(&((const struct text *)user)->sheet, name, text);
}

/* A name in so many columns, cut where it is longer. */
static void add_name(struct strbuf *out, const char *name, size_t columns)
{
	_cleanup_strbuf_ struct strbuf safe = STRBUF_INIT;

	/* a name may have megabytes: only what may fit is made printable */
	text_add_printable(&safe, name, strnlen(name, columns * 8));
	bool cut = text_width(safe.buf, safe.len) > columns;
	size_t n = fitting(safe.buf, safe.len, columns - cut);

	strbuf_add(out, safe.buf, n);
	if (cut)
		strbuf_addstr(out, text_is_utf8() ? "…" : ">");
	for (size_t w = text_width(safe.buf, n) + cut; w < columns; w++)
		strbuf_addch(out, ' ');
}

static void add_right(struct strbuf *out, const char *text, size_t columns)
{
	for (size_t w = text_width(text, strlen(text)); w < columns; w++)
		strbuf_addch(out, ' ');
	strbuf_addstr(out, text);
}

/* Without blanks of empty columns. */
static void end_line(struct strbuf *out)
{
	while (out->len && out->buf[out->len - 1] == ' ')
		strbuf_cut(out, out->len - 1);
	strbuf_addch(out, '\n');
}

/* ---- head and verdict ----------------------------------------------------------------------- */

static void head(struct text *s)
{
	const struct joblist *l = &s->r->show.list;
	_cleanup_strbuf_ struct strbuf title = STRBUF_INIT;
	const char *id = joblist_text(l, l->rows[0].jobid);
	const char *name = joblist_text(l, l->rows[0].jobname);

	strbuf_addstr(&title, "job ");
	text_add_printable(&title, id ? id : "", id ? strnlen(id, 200) : 0);
	if (name) {
		strbuf_addstr(&title, "  ");
		text_add_printable(&title, name, strnlen(name, 200));
	}
	strbuf_cut(&title, fitting(title.buf, title.len, WIDTH));
	sheet_paint(&s->sheet, "1", title.buf);
	strbuf_addch(s->out, '\n');
	report_head_lines(s->r, add_report_line, s);
}

static void add_finding(const struct text *s, const struct finding *f, const char *label,
			bool brief, bool title)
{
	static const char *const codes[] = {"32", "33", "1;31"};
	_cleanup_strbuf_ struct strbuf advice = STRBUF_INIT;

	sheet_label(&s->sheet, label);
	if (strlen(label) + 2 >= s->sheet.label)
		strbuf_addstr(s->out, "  ");
	sheet_paint(&s->sheet, codes[f->weight], f->title);
	strbuf_addch(s->out, '\n');
	if (title)
		return;
	sheet_label(&s->sheet, "");
	text_add_wrapped(s->out, f->details, s->sheet.label, WIDTH);
	strbuf_addch(s->out, '\n');
	sheet_label(&s->sheet, "");
	strbuf_addf(&advice, "%s %s", s->utf8 ? "→" : "->", f->advice);
	text_add_wrapped(s->out, advice.buf, s->sheet.label + (s->utf8 ? 2 : 3), WIDTH);
	strbuf_addch(s->out, '\n');
	/* where it fits; the page and the JSON have longer ones */
	if (brief || !f->command ||
	    s->sheet.label + 2 + text_width(f->command, strlen(f->command)) > WIDTH)
		return;
	sheet_label(&s->sheet, "");
	strbuf_addf(s->out, "$ %s\n", f->command);
}

/* Where the core time went: bars, in total and over time. */
static void core_time(const struct text *s)
{
	if (!s->r->where.host_count)
		return;
	heading(s, "CORE TIME");
	where_text(&s->r->where, true, s->sheet.color, 0, s->out);
}

static void verdict(const struct text *s)
{
	heading(s, "VERDICT");
	for (size_t i = 0; i < s->r->findings.count; i++)
		add_finding(s, &s->r->findings.list[i], finding_ids[s->r->findings.list[i].id].name,
			    false, false);
}

/* ---- sparklines ----------------------------------------------------------------------------- */

static const char *block(const struct text *s, double share)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	int at = share > 0 ? (int)(share * 8) : 0;

	at = at > 7 ? 7 : at;
	return s->utf8 ? blocks[at] : ascii[at];
}

/* Columns of equal time: the maximum of each, a blank where it is unknown. */
static void add_spark(const struct text *s, const double *v, size_t n, double most)
{
	for (size_t i = 0; i < n; i++)
		strbuf_addstr(s->out, isnan(v[i]) ? " " : block(s, most > 0 ? v[i] / most : 0));
}

/* Fits the column: very small values without a prefix lose digits. */
static void add_value(struct strbuf *out, double v, const char *unit)
{
	unit_add_value(out, v, unit);
	if (text_width(out->buf, out->len) > VALUE && fabs(v) < 1) {
		strbuf_reset(out);
		strbuf_addf(out, "%.4f %s", v, unit);
	}
}

static size_t spark_columns(const struct text *s)
{
	return NAME + SPARK - s->name;
}

/* The time of all sparklines, and their columns. */
struct span {
	int64_t from, to;
	size_t columns;
};

static struct span span_of(const struct text *s)
{
	const struct report *r = s->r;
	struct span t = {INT64_MAX, INT64_MIN, 0};

	for (size_t i = 0; i < r->series_count; i++) {
		const struct points *c = &r->series[i].points;

		if (!c->count)
			continue;
		t.from = c->points[0].time < t.from ? c->points[0].time : t.from;
		t.to = c->points[c->count - 1].time > t.to ? c->points[c->count - 1].time : t.to;
		t.columns = c->count > t.columns ? c->count : t.columns;
	}
	t.columns = t.columns < spark_columns(s) ? t.columns : spark_columns(s);
	return t;
}

static void spark_series(const struct text *s, const struct report_series *c, const struct span *t)
{
	const struct point *p = c->points.points;
	_cleanup_strbuf_ struct strbuf mean = STRBUF_INIT, most = STRBUF_INIT;
	double v[SPARK], length = (double)t->to - (double)t->from;

	for (size_t i = 0; i < SPARK; i++)
		v[i] = NAN;
	for (size_t i = 0; i < c->points.count; i++) {
		double at = length > 0 ? ((double)p[i].time - (double)t->from) / length : 0;
		double *to = &v[(size_t)(at * (double)(t->columns - 1) + 0.5)];

		*to = isnan(*to) || p[i].value > *to ? p[i].value : *to;
	}
	strbuf_addstr(s->out, "  ");
	add_name(s->out, c->label, s->name);
	strbuf_addch(s->out, ' ');
	add_spark(s, v, spark_columns(s), c->maximum);
	if (isnan(c->mean))
		strbuf_addf(&mean, "%lld %s", (long long)c->readings,
			    plural(c->readings, "sample", "samples"));
	else
		add_value(&mean, c->mean, c->unit);
	add_value(&most, c->maximum, c->unit);
	strbuf_addch(s->out, ' ');
	add_right(s->out, mean.buf, VALUE);
	strbuf_addch(s->out, ' ');
	add_right(s->out, most.buf, VALUE);
	strbuf_addch(s->out, '\n');
}

static void series_heading(const struct text *s)
{
	_cleanup_free_ char *text =
		xasprintf("%-*s%13s%13s", 2 + NAME + 1 + SPARK, "OVER TIME", "MEAN", "MAX");

	heading(s, text);
}

/* The first few series of each panel that are not 0; returns the number of others. Prints nothing
 * but finds the width of their names without a span. */
static size_t each_series(struct text *s, const struct span *span)
{
	const char *panel = "";
	size_t shown = 0, left = 0;

	for (size_t i = 0; i < s->r->series_count; i++) {
		const struct report_series *c = &s->r->series[i];

		if (c->host || c->entity || report_series_repeats(s->r, i))
			continue;
		shown = strcmp(panel, c->panel) != 0 ? 0 : shown;
		panel = c->panel;
		if (!c->points.count || !(c->maximum > 0) || shown == PER_PANEL) {
			left++;
			continue;
		}
		shown++;
		size_t width = text_width(c->label, strlen(c->label));
		if (span)
			spark_series(s, c, span);
		else if (width > s->name)
			s->name = width < NAME_MAX_COLUMNS ? width : NAME_MAX_COLUMNS;
	}
	return left;
}

static void all_series(struct text *s)
{
	size_t begin = s->out->len;

	(void)each_series(s, NULL);
	struct span span = span_of(s);
	series_heading(s);
	size_t heading_end = s->out->len, left = each_series(s, &span);
	if (s->out->len == heading_end)
		strbuf_cut(s->out, begin);
	if (left)
		strbuf_addf(s->out,
			    "  (%zu more that are 0 or less important; `plimsoll series` lists "
			    "all)\n",
			    left);
}

/* Processes over time, for jobs without series. */
static void concurrency(const struct text *s)
{
	const struct timeline *t = &s->r->timeline;
	_cleanup_points_ struct points c = {0};
	double v[SPARK], sum = 0, most = 0;

	if (t->count < 2 || t->steps[t->count - 1].time <= t->steps[0].time)
		return;
	report_concurrency(t, false, t->steps[0].time, t->steps[t->count - 1].time, SPARK, &c);
	for (size_t i = 0; i < c.count && i < SPARK; i++) {
		v[i] = c.points[i].value;
		sum += v[i];
		most = v[i] > most ? v[i] : most;
	}
	heading(s, "OVER TIME");
	strbuf_addstr(s->out, "  ");
	add_name(s->out, "processes at once", NAME);
	strbuf_addch(s->out, ' ');
	add_spark(s, v, c.count, most);
	strbuf_addf(s->out, " mean %.3g, most %lld\n", sum / (double)c.count,
		    (long long)t->peak_procs);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void group_row(const struct text *s, const struct report_group *g, int64_t all)
{
	_cleanup_strbuf_ struct strbuf count = STRBUF_INIT, cpu = STRBUF_INIT, rss = STRBUF_INIT,
				       io = STRBUF_INIT;

	if (g->images)
		add_count(&count, g->images, true);
	add_us(&cpu, g->cpu, true);
	if (all > 0 && g->cpu != UNKNOWN)
		strbuf_addf(&cpu, " %3.0f %%", 100 * (double)g->cpu / (double)all);
	add_kib(&rss, g->rssmax, true);
	if (g->read != UNKNOWN || g->written != UNKNOWN)
		text_add_bytes(&io, (double)(g->read != UNKNOWN ? g->read : 0) +
					    (double)(g->written != UNKNOWN ? g->written : 0));
	strbuf_addstr(s->out, "  ");
	add_name(s->out, *g->name ? g->name : "(no name)", NAME);
	strbuf_addch(s->out, ' ');
	add_right(s->out, count.buf, 9);
	strbuf_addch(s->out, ' ');
	add_right(s->out, cpu.buf, 18);
	strbuf_addch(s->out, ' ');
	add_right(s->out, rss.buf, 10);
	strbuf_addch(s->out, ' ');
	add_right(s->out, io.buf, 10);
	end_line(s->out);
}

static void groups(const struct text *s, const char *title, const struct report_groups *g)
{
	int64_t cpu = s->r->cpu_itemised != UNKNOWN ? s->r->cpu_itemised : s->r->cpu_total;
	_cleanup_strbuf_ struct strbuf head = STRBUF_INIT;
	size_t shown = g->count < ROWS ? g->count : ROWS;

	if (!g->count)
		return;
	add_name(&head, title, 28);
	strbuf_addf(&head, "%10s %18s %10s %10s", "IMAGES", "CPU", "LARGEST", "I/O");
	heading(s, head.buf);
	for (size_t i = 0; i < shown; i++)
		group_row(s, &g->list[i], cpu);
	if (g->count + g->left_out > shown)
		strbuf_addf(s->out, "  and %zu more\n", g->count + g->left_out - shown);
}

/* Did another origin mark phases of the same name? */
static bool is_ambiguous(const struct report_phases *all, const struct phase_stat *p)
{
	for (size_t i = 0; i < all->stat_count; i++)
		if (all->stats[i].name == p->name && all->stats[i].origin != p->origin)
			return true;
	return false;
}

static void phase_row(const struct text *s, const struct phase_stat *p)
{
	const double values[] = {(double)p->total_ns, p->median_ns, (double)p->max_ns};
	_cleanup_strbuf_ struct strbuf count = STRBUF_INIT, name = STRBUF_INIT;

	for (int i = 0; i < p->depth && i < 4; i++)
		strbuf_addstr(&name, "  ");
	strbuf_addstr(&name, s->r->timeline.phases.names[p->name]);
	if (is_ambiguous(&s->r->phases, p))
		strbuf_addf(&name, " (%s)", phase_origins[p->origin % 3]);
	add_count(&count, (int64_t)p->count, true);
	strbuf_addstr(s->out, "  ");
	add_name(s->out, name.buf, 26);
	strbuf_addch(s->out, ' ');
	add_right(s->out, count.buf, 9);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		if (isfinite(values[i]) && values[i] >= 0)
			unit_add_value(&text, values[i], "ns");
		strbuf_addch(s->out, ' ');
		add_right(s->out, text.buf, 9);
	}
	if (isfinite(p->ranks.imbalance))
		strbuf_addf(s->out, " %7.1f %%", p->ranks.imbalance * 100);
	end_line(s->out);
}

/* The longest by their total, in the order in which they begin. */
static void phases(const struct text *s)
{
	const struct report_phases *p = &s->r->phases;
	_cleanup_strbuf_ struct strbuf head = STRBUF_INIT;
	size_t shown = 0;

	if (!p->stat_count)
		return;
	add_name(&head, "PHASES", 28);
	strbuf_addf(&head, "%10s %9s %9s %9s %9s", "COUNT", "TOTAL", "MEDIAN", "LONGEST",
		    "IMBALANCE");
	heading(s, head.buf);
	for (size_t i = 0; i < p->stat_count; i++)
		if (p->colors[p->stats[i].name] < ROWS) {
			phase_row(s, &p->stats[i]);
			shown++;
		}
	if (p->stat_count > shown)
		strbuf_addf(s->out, "  and %zu more; `plimsoll phases` lists all\n",
			    p->stat_count - shown);
}

static void rest(const struct text *s)
{
	const struct report *r = s->r;

	if (r->show.warning_count || r->absence_count)
		heading(s, "NOT MEASURED OR UNCERTAIN");
	for (size_t i = 0; i < r->show.warning_count; i++)
		sheet_line(&s->sheet, i ? "" : "warning", r->show.warnings[i]);
	for (size_t i = 0; i < r->absence_count && i < REASONS; i++) {
		const struct report_absence *a = &r->absences[i];
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		strbuf_addstr(&text, a->metric);
		if (a->count > 1)
			strbuf_addf(&text, " and %zu more", a->count - 1);
		strbuf_addf(&text, ": %s", a->reason);
		sheet_line(&s->sheet, i ? "" : "absent", text.buf);
	}
	if (r->absence_count > REASONS)
		strbuf_addf(s->out, "  %-*sand %zu more %s; -o FILE.html lists all\n", LABEL - 2,
			    "", r->absence_count - REASONS,
			    plural(r->absence_count - REASONS, "reason", "reasons"));
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The heaviest finding, and the title of the next. */
static void brief_lines(const struct text *s)
{
	size_t shown = 0;

	for (size_t i = 0; i < s->r->findings.count && shown < 2; i++) {
		const struct finding *f = &s->r->findings.list[i];

		/* too little is known for a verdict */
		if (f->id == FINDING_UNMEASURED && f->weight == FINDING_NOTE)
			continue;
		add_finding(s, f, shown ? "" : "verdict", true, shown > 0);
		shown++;
	}
}

void report_text(const struct report *r, bool color, bool brief, struct strbuf *out)
{
	struct text s = {.r = r,
			 .out = out,
			 .sheet = {out, color, brief ? BRIEF_LABEL : LABEL, WIDTH},
			 .utf8 = text_is_utf8(),
			 .name = NAME};

	if (brief) {
		brief_lines(&s);
		return;
	}
	head(&s);
	verdict(&s);
	core_time(&s);
	heading(&s, "FIGURES");
	report_figure_lines(r, add_report_line, &s);
	all_series(&s);
	if (!r->series_count)
		concurrency(&s);
	phases(&s);
	groups(&s, "EXECUTABLES", &r->executables);
	groups(&s, "OPERATIONS", &r->operations);
	if (r->hosts.count > 1)
		groups(&s, "HOSTS", &r->hosts);
	if (r->ranks.count > 1)
		groups(&s, "RANKS", &r->ranks);
	rest(&s);
}
