/* A report in 80 columns; see report.h. */
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "plot/plot_unit.h"
#include "report/report.h"

#define WIDTH 80
#define LABEL 13 /* columns in front of what is said */
#define SPARK 28
#define ROWS 8      /* of a table */
#define PER_PANEL 4 /* curves of a chart */
#define REASONS 4   /* why something is absent */
#define VALUE 12    /* columns of a number with its unit */
#define BRIEF_LABEL 12

struct sheet {
	const struct report *r;
	struct strbuf *out;
	bool color, utf8;
};

/* ---- lines ---------------------------------------------------------------------------------- */

static void paint(const struct sheet *s, const char *code, const char *text)
{
	if (s->color)
		strbuf_addf(s->out, "\x1b[%sm%s\x1b[0m", code, text);
	else
		strbuf_addstr(s->out, text);
}

static void heading(const struct sheet *s, const char *text)
{
	strbuf_addch(s->out, '\n');
	paint(s, "1", text);
	strbuf_addch(s->out, '\n');
}

static void label(const struct sheet *s, const char *name)
{
	_cleanup_free_ char *text = xasprintf("  %-*s", LABEL - 2, name);

	paint(s, "2", text);
}

/* Text of ours and of others, filled into lines behind a label. */
static void fact(const struct sheet *s, const char *name, const char *text)
{
	_cleanup_strbuf_ struct strbuf safe = STRBUF_INIT;

	if (!text || !*text)
		return;
	label(s, name);
	text_add_printable(&safe, text, strlen(text));
	text_add_wrapped(s->out, safe.buf, LABEL, WIDTH);
	strbuf_addch(s->out, '\n');
}

/* A name in so many columns, cut where it is longer. */
static void add_name(struct strbuf *out, const char *name, size_t columns)
{
	_cleanup_strbuf_ struct strbuf safe = STRBUF_INIT;

	/* what does not fit is not made printable, and be it megabytes */
	text_add_printable(&safe, name, strnlen(name, columns * 8));
	size_t n = fitting(safe.buf, safe.len, columns), w;

	strbuf_add(out, safe.buf, n);
	for (w = text_width(safe.buf, n); w < columns; w++)
		strbuf_addch(out, ' ');
}

static void add_right(struct strbuf *out, const char *text, size_t columns)
{
	for (size_t w = text_width(text, strlen(text)); w < columns; w++)
		strbuf_addch(out, ' ');
	strbuf_addstr(out, text);
}

static void brief_label(const struct sheet *s, const char *name)
{
	_cleanup_free_ char *text = xasprintf("  %-*s", BRIEF_LABEL - 2, name);

	paint(s, "2", text);
}

/* Without the blanks of columns that are empty. */
static void end_line(struct strbuf *out)
{
	while (out->len && out->buf[out->len - 1] == ' ')
		strbuf_cut(out, out->len - 1);
	strbuf_addch(out, '\n');
}

/* ---- head and verdict ----------------------------------------------------------------------- */

static const struct job_row *row_of(const struct report *r)
{
	return &r->show.list.rows[0];
}

static void add_hosts(const struct report *r, struct strbuf *out)
{
	const struct joblist *l = &r->show.list;
	const struct job_entries *e = &row_of(r)->hosts;

	for (uint32_t i = e->first; i < e->first + e->count && i < e->first + ROWS; i++)
		strbuf_addf(out, "%s%s", i > e->first ? ", " : "",
			    joblist_text(l, l->entries[i].key));
	if (e->count > ROWS)
		strbuf_addf(out, " and %u more", e->count - ROWS);
	if (e->count)
		return;
	for (size_t i = 0; i < r->hosts.count && i < ROWS; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", r->hosts.list[i].name);
	if (r->hosts.count > ROWS)
		strbuf_addf(out, " and %zu more", r->hosts.count - ROWS + r->hosts.left_out);
}

static void head(const struct sheet *s)
{
	const struct joblist *l = &s->r->show.list;
	const struct job_row *row = row_of(s->r);
	_cleanup_strbuf_ struct strbuf title = STRBUF_INIT, hosts = STRBUF_INIT, when = STRBUF_INIT;
	const char *id = joblist_text(l, row->jobid), *name = joblist_text(l, row->jobname);

	strbuf_addstr(&title, "job ");
	text_add_printable(&title, id ? id : "", id ? strnlen(id, 200) : 0);
	if (name) {
		strbuf_addstr(&title, "  ");
		text_add_printable(&title, name, strnlen(name, 200));
	}
	strbuf_cut(&title, fitting(title.buf, title.len, WIDTH));
	paint(s, "1", title.buf);
	strbuf_addch(s->out, '\n');
	fact(s, "user", joblist_text(l, row->user));
	fact(s, "command", s->r->show.facts.command);
	fact(s, "batch", s->r->show.facts.batch);
	fact(s, "cut off", s->r->show.facts.cut_off);
	add_hosts(s->r, &hosts);
	fact(s, row->hosts.count > 1 || s->r->hosts.count > 1 ? "hosts" : "host", hosts.buf);
	if (row->start != UNKNOWN)
		add_local_time(&when, row->start);
	if (s->r->running)
		strbuf_addstr(&when, when.len ? ", has not ended" : "has not ended");
	if (row->duration != UNKNOWN) {
		strbuf_addstr(&when, when.len ? ", took " : "took ");
		add_us(&when, row->duration, true);
	}
	fact(s, "start", when.buf);
}

static void add_finding(const struct sheet *s, const struct finding *f, const char *first)
{
	static const char *const codes[] = {"32", "33", "1;31"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	label(s, first);
	paint(s, codes[f->weight], f->title);
	strbuf_addstr(s->out, "\n");
	label(s, "");
	text_add_wrapped(s->out, f->evidence, LABEL, WIDTH);
	strbuf_addch(s->out, '\n');
	label(s, "");
	strbuf_addf(&text, "%s %s", s->utf8 ? "→" : "->", f->advice);
	text_add_wrapped(s->out, text.buf, LABEL + (s->utf8 ? 2 : 3), WIDTH);
	strbuf_addch(s->out, '\n');
}

static void verdict(const struct sheet *s)
{
	heading(s, "VERDICT");
	for (size_t i = 0; i < s->r->findings.count; i++)
		add_finding(s, &s->r->findings.list[i],
			    finding_kind_name(s->r->findings.list[i].kind));
}

/* ---- figures -------------------------------------------------------------------------------- */

static bool add_sum(const struct report *r, struct strbuf *out, const char *front, const char *name,
		    const char *back)
{
	const struct job_sum *sum = jobshow_sum(&r->show, name);

	if (!sum || sum->sum < 0)
		return false;
	strbuf_addstr(out, out->len ? front : "");
	add_metric(out, sum->metric, sum->sum, true);
	strbuf_addstr(out, back);
	return true;
}

static void figure_cpu(const struct sheet *s)
{
	const struct report *r = s->r;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, books = STRBUF_INIT;
	int64_t cpu = r->cpu_total != UNKNOWN ? r->cpu_total : r->cpu_itemised;
	const struct job_row *row = row_of(r);

	if (cpu == UNKNOWN)
		return;
	strbuf_addstr(&text, r->unseen ? "at least " : "");
	add_us(&text, cpu, true);
	if (!r->unseen && !isnan(joblist_busy(row, cpu))) {
		strbuf_addf(&text, "; %.2f", joblist_busy(row, cpu));
		if (r->cores > 0)
			strbuf_addf(&text, " of %lld", (long long)r->cores);
		strbuf_addstr(&text, plural(r->cores, " core busy", " cores busy"));
		if (!isnan(r->cpu_share))
			strbuf_addf(&text, " (%.0f %%)", 100 * r->cpu_share);
	}
	fact(s, "CPU", text.buf);
	if (r->cpu_total == UNKNOWN || r->cpu_itemised == UNKNOWN || r->cpu_total <= 0)
		return;
	strbuf_addf(&books, "%.1f %% of the CPU itemised",
		    100 * (double)r->cpu_itemised / (double)r->cpu_total);
	if (r->cpu_residue > 0) {
		strbuf_addstr(&books, ", ");
		add_us(&books, r->cpu_residue, true);
		strbuf_addstr(&books, " not");
	}
	fact(s, "books", books.buf);
}

static void figure_memory(const struct sheet *s)
{
	const struct job_sum *rss = jobshow_sum(&s->r->show, "rssmax");
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (rss && rss->max >= 0) {
		strbuf_addstr(&text, s->r->unseen ? "at least " : "");
		add_kib(&text, rss->max, true);
		strbuf_addstr(&text, " in the largest process");
	}
	report_add_memory(s->r, &text);
	if (s->r->memory_limit != UNKNOWN) {
		strbuf_addstr(&text, text.len ? "; limit " : "limit ");
		text_add_bytes(&text, (double)s->r->memory_limit);
	}
	fact(s, "memory", text.buf);
}

static void figures(const struct sheet *s)
{
	const struct report *r = s->r;
	const struct job_row *row = row_of(r);
	_cleanup_strbuf_ struct strbuf work = STRBUF_INIT, io = STRBUF_INIT, wait = STRBUF_INIT,
				       energy = STRBUF_INIT;

	heading(s, "FIGURES");
	if (row->exitcode != UNKNOWN) {
		_cleanup_free_ char *code = xasprintf("%lld", (long long)row->exitcode);

		fact(s, "exit", code);
	}
	if (row->processes > 0 && !row->sampled) {
		joblist_add_work(&work, row, true);
		fact(s, "processes", work.buf);
	} else if (row->sampled && row->processes != UNKNOWN) {
		add_count(&work, row->processes, true);
		strbuf_addstr(&work, " seen by sampling");
		fact(s, "processes", work.buf);
	}
	figure_cpu(s);
	figure_memory(s);
	jobshow_add_io(&io, &r->show, true);
	fact(s, "I/O", io.buf);
	add_sum(r, &wait, "", "time_waiting", " for a CPU");
	add_sum(r, &wait, ", ", "delayacct_blkio_time", " for storage");
	fact(s, "waiting", wait.buf);
	if (!isnan(r->joules)) {
		strbuf_addf(&energy, "%.4g J (%.3g Wh)", r->joules, r->joules / 3600);
		if (!isnan(r->co2_g_per_kwh))
			strbuf_addf(&energy, ", %.3g g of CO2",
				    r->joules / 3.6e6 * r->co2_g_per_kwh);
		strbuf_addstr(&energy, r->energy_unknown_count ? ", " : "");
		report_add_energy_unknown(r, &energy);
		fact(s, "energy", energy.buf);
	}
}

/* ---- sparklines ----------------------------------------------------------------------------- */

static const char *block(const struct sheet *s, double share)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	int at = share > 0 ? (int)(share * 8) : 0;

	at = at > 7 ? 7 : at;
	return s->utf8 ? blocks[at] : ascii[at];
}

/* Columns of equal time: the most in each, a blank where nothing is known. */
static void add_spark(const struct sheet *s, const double *v, size_t n, double most)
{
	for (size_t i = 0; i < n; i++)
		strbuf_addstr(s->out, isnan(v[i]) ? " " : block(s, most > 0 ? v[i] / most : 0));
}

/* In the columns there are: of very small values that have no prefix only some digits. */
static void add_value(struct strbuf *out, double v, const char *unit)
{
	plot_add_value(out, v, unit);
	if (text_width(out->buf, out->len) > VALUE && fabs(v) < 1) {
		strbuf_reset(out);
		strbuf_addf(out, "%.4f %s", v, unit);
	}
}

/* The time that all sparklines share, and the columns that it has. */
struct span {
	int64_t from, to;
	size_t columns;
};

static struct span span_of(const struct report *r)
{
	struct span t = {INT64_MAX, INT64_MIN, 0};

	for (size_t i = 0; i < r->curve_count; i++) {
		const struct curve *c = &r->curves[i].points;

		if (!c->count)
			continue;
		t.from = c->points[0].time < t.from ? c->points[0].time : t.from;
		t.to = c->points[c->count - 1].time > t.to ? c->points[c->count - 1].time : t.to;
		t.columns = c->count > t.columns ? c->count : t.columns;
	}
	t.columns = t.columns < SPARK ? t.columns : SPARK;
	return t;
}

static void spark_curve(const struct sheet *s, const struct report_curve *c, const struct span *t)
{
	const struct curve_point *p = c->points.points;
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
	add_name(s->out, c->label, 23);
	strbuf_addch(s->out, ' ');
	add_spark(s, v, SPARK, c->maximum);
	if (isnan(c->mean))
		strbuf_addf(&mean, "%lld %s", (long long)c->readings,
			    plural(c->readings, "reading", "readings"));
	else
		add_value(&mean, c->mean, c->unit);
	add_value(&most, c->maximum, c->unit);
	strbuf_addch(s->out, ' ');
	add_right(s->out, mean.buf, VALUE);
	strbuf_addch(s->out, ' ');
	add_right(s->out, most.buf, VALUE);
	strbuf_addch(s->out, '\n');
}

static void curves_heading(const struct sheet *s)
{
	_cleanup_free_ char *text =
		xasprintf("%-*s%13s%13s", 2 + 23 + 1 + SPARK, "OVER TIME", "MEAN", "MOST");

	heading(s, text);
}

/* Of each chart the first few that are not nothing. */
static void curves(const struct sheet *s)
{
	struct span span = span_of(s->r);
	const char *panel = "";
	size_t any = 0, shown = 0, left = 0;

	for (size_t i = 0; i < s->r->curve_count; i++) {
		const struct report_curve *c = &s->r->curves[i];

		if (c->host || c->entity || report_curve_repeats(s->r, i))
			continue;
		shown = strcmp(panel, c->panel) != 0 ? 0 : shown;
		panel = c->panel;
		if (!c->points.count || !(c->maximum > 0) || shown == PER_PANEL) {
			left++;
			continue;
		}
		if (!any++)
			curves_heading(s);
		shown++;
		spark_curve(s, c, &span);
	}
	if (left)
		strbuf_addf(s->out,
			    "  (%zu more that are 0 or of less use; `plimsoll series` has "
			    "all)\n",
			    left);
}

static double mean_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

/* Processes over time, for jobs without curves. */
static void concurrency(const struct sheet *s)
{
	const struct timeline *t = &s->r->timeline;
	double v[SPARK], most = 0;

	if (t->count < 2)
		return;
	int64_t from = t->steps[0].time, span = t->steps[t->count - 1].time - from;
	if (span <= 0)
		return;
	for (size_t i = 0; i < SPARK; i++)
		v[i] = 0;
	for (size_t i = 0; i + 1 < t->count; i++) {
		double begin = (double)(t->steps[i].time - from) / (double)span * SPARK;
		double end = (double)(t->steps[i + 1].time - from) / (double)span * SPARK;

		for (size_t at = (size_t)begin; at < SPARK && (double)at < end; at++) {
			double low = begin > (double)at ? begin : (double)at;
			double high = end < (double)at + 1 ? end : (double)at + 1;

			v[at] += (high - low) * (double)t->steps[i].processes;
		}
	}
	for (size_t i = 0; i < SPARK; i++)
		most = v[i] > most ? v[i] : most;
	heading(s, "OVER TIME");
	strbuf_addstr(s->out, "  ");
	add_name(s->out, "processes at once", 23);
	strbuf_addch(s->out, ' ');
	add_spark(s, v, SPARK, most);
	strbuf_addf(s->out, " mean %.3g, most %lld\n", mean_of(v, SPARK), (long long)t->peak_procs);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void group_row(const struct sheet *s, const struct report_group *g, int64_t all)
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
	add_name(s->out, *g->name ? g->name : "(no name)", 26);
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

static void groups(const struct sheet *s, const char *title, const struct report_groups *g)
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

static void rest(const struct sheet *s)
{
	const struct report *r = s->r;

	if (r->show.warning_count || r->absence_count)
		heading(s, "NOT MEASURED, OR NOT CERTAIN");
	for (size_t i = 0; i < r->show.warning_count; i++)
		fact(s, i ? "" : "warning", r->show.warnings[i]);
	for (size_t i = 0; i < r->absence_count && i < REASONS; i++) {
		const struct report_absence *a = &r->absences[i];
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		strbuf_addstr(&text, a->metric);
		if (a->count > 1)
			strbuf_addf(&text, " and %zu more", a->count - 1);
		strbuf_addf(&text, ": %s", a->reason);
		fact(s, i ? "" : "absent", text.buf);
	}
	if (r->absence_count > REASONS)
		strbuf_addf(s->out, "  %-*sand %zu more %s\n", LABEL - 2, "",
			    r->absence_count - REASONS,
			    plural(r->absence_count - REASONS, "reason", "reasons"));
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The heaviest finding, and the name of the next. That nothing can be said needs no line. */
static void brief_lines(const struct sheet *s)
{
	static const char *const codes[] = {"32", "33", "1;31"};
	size_t shown = 0;

	for (size_t i = 0; i < s->r->findings.count && shown < 2; i++) {
		const struct finding *f = &s->r->findings.list[i];
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		if (f->kind == FINDING_BOOKS && f->weight == FINDING_NOTE)
			continue;
		brief_label(s, shown ? "" : "verdict");
		paint(s, codes[f->weight], f->title);
		strbuf_addch(s->out, '\n');
		if (shown++)
			continue;
		brief_label(s, "");
		text_add_wrapped(s->out, f->evidence, BRIEF_LABEL, WIDTH);
		strbuf_addch(s->out, '\n');
		brief_label(s, "");
		strbuf_addf(&text, "%s %s", s->utf8 ? "→" : "->", f->advice);
		text_add_wrapped(s->out, text.buf, BRIEF_LABEL + (s->utf8 ? 2 : 3), WIDTH);
		strbuf_addch(s->out, '\n');
	}
}

void report_text(const struct report *r, bool color, bool brief, struct strbuf *out)
{
	const struct sheet s = {.r = r, .out = out, .color = color, .utf8 = text_is_utf8()};

	if (brief) {
		brief_lines(&s);
		return;
	}
	head(&s);
	verdict(&s);
	figures(&s);
	curves(&s);
	if (!r->curve_count)
		concurrency(&s);
	groups(&s, "EXECUTABLES", &r->executables);
	groups(&s, "OPERATIONS", &r->operations);
	if (r->hosts.count > 1)
		groups(&s, "HOSTS", &r->hosts);
	if (r->ranks.count > 1)
		groups(&s, "RANKS", &r->ranks);
	rest(&s);
}
