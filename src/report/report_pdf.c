/*
 * A job's report as pages of A4: the verdict and the figures, charts, tables. Lines of text are put
 * together here and laid out by the module "draw": texts of the user get into them only as clean(),
 * so that none can be a heading or a row of its own.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "plot/plot_unit.h"
#include "report/report.h"
#include "report/report_pdf.h"

#define HOSTS_NAMED 8
#define ROWS_SHOWN 60 /* of executables, hosts and the like */
#define TEXT_BYTES 300
#define CURVES_IN_FRONT 22 /* which fit on a page with the figures */

/* Bytes of the user's in a line of ours. */
static void clean(struct strbuf *out, const char *s)
{
	size_t n = s ? strnlen(s, TEXT_BYTES + 1) : 0;
	bool cut = n > TEXT_BYTES;

	if (cut)
		for (n = TEXT_BYTES; n && ((unsigned char)s[n] & 0xc0) == 0x80;)
			n--;
	text_add_printable(out, s ? s : "", n);
	if (cut)
		strbuf_addstr(out, "\xe2\x80\xa6");
}

static const struct job_row *row_of(const struct report *r)
{
	return &r->show.list.rows[0];
}

static const char *text_of(const struct report *r, size_t place)
{
	const char *s = joblist_text(&r->show.list, place);

	return s ? s : "";
}

static void add_seconds(struct strbuf *out, int64_t us)
{
	if (us == UNKNOWN)
		strbuf_addstr(out, "-");
	else
		text_add_duration(out, (double)us * 1e-6);
}

static void add_amount(struct strbuf *out, int64_t bytes)
{
	if (bytes == UNKNOWN)
		strbuf_addstr(out, "-");
	else
		text_add_bytes(out, (double)bytes);
}

static void add_whole(struct strbuf *out, int64_t v)
{
	if (v == UNKNOWN)
		strbuf_addstr(out, "-");
	else
		add_count(out, v, true);
}

/* ---- the first pages --------------------------------------------------------------------------
 */

static void add_header(const struct report *r, struct strbuf *out)
{
	const struct job_row *row = row_of(r);

	strbuf_addstr(out, "Job ID: ");
	clean(out, text_of(r, row->jobid));
	strbuf_addstr(out, ", User: ");
	clean(out, row->user ? text_of(r, row->user) : "-");
	strbuf_addf(out, ", # Nodes: %u, Date: ", row->hosts.count);
	if (row->start == UNKNOWN)
		strbuf_addstr(out, "-");
	else
		add_local_time(out, row->start);
}

static void add_hosts(const struct report *r, struct strbuf *out)
{
	const struct job_entries *h = &row_of(r)->hosts;

	for (uint32_t i = 0; i < h->count && i < HOSTS_NAMED; i++) {
		strbuf_addstr(out, i ? ", " : "");
		clean(out, joblist_text(&r->show.list, r->show.list.entries[h->first + i].key));
	}
	if (h->count > HOSTS_NAMED)
		strbuf_addf(out, " and %u more", h->count - HOSTS_NAMED);
	if (!h->count)
		strbuf_addstr(out, "-");
}

static void add_findings(const struct report *r, struct strbuf *out)
{
	static const char *const words[] = {"Note", "Warning", "Severe"};

	strbuf_addstr(out, "# What bounded the job\n");
	if (!r->findings.count)
		strbuf_addstr(out, "Nothing stands out in what was measured.\n");
	for (size_t i = 0; i < r->findings.count; i++) {
		const struct finding *f = &r->findings.list[i];

		strbuf_addf(out, "## %s: ", words[f->weight <= FINDING_SEVERE ? f->weight : 0]);
		clean(out, f->title);
		strbuf_addstr(out, "\n\342\200\242 ");
		clean(out, f->evidence);
		if (f->advice && *f->advice) {
			strbuf_addstr(out, "\n\342\200\242 To change: ");
			clean(out, f->advice);
		}
		strbuf_addch(out, '\n');
	}
}

static void add_invocation(const struct report *r, struct strbuf *out)
{
	if (r->show.facts.command) {
		_cleanup_free_ char *command = xstrndup(r->show.facts.command, 300);

		strbuf_addstr(out, "Command\t");
		clean(out, command);
		strbuf_addch(out, '\n');
	}
	if (r->show.facts.batch) {
		strbuf_addstr(out, "Batch system\t");
		clean(out, r->show.facts.batch);
		strbuf_addch(out, '\n');
	}
	if (r->show.facts.cut_off)
		strbuf_addf(out, "Cut off\t%s\n", r->show.facts.cut_off);
}

static void add_peak(struct strbuf *out, int64_t peak)
{
	if (peak == UNKNOWN)
		return;
	strbuf_addstr(out, ", at most ");
	add_whole(out, peak);
	strbuf_addstr(out, " at once");
}

static void add_work(const struct report *r, struct strbuf *out)
{
	const struct job_row *row = row_of(r);

	add_invocation(r, out);
	if (row->processes <= 0 || row->sampled)
		return;
	strbuf_addstr(out, "Processes\t");
	add_whole(out, row->processes);
	if (row->images != row->processes) {
		strbuf_addstr(out, " (");
		add_whole(out, row->images);
		strbuf_addstr(out, " images)");
	}
	add_peak(out, row->peak_procs);
	strbuf_addstr(out, "\nThreads\t");
	add_whole(out, row->num_threads);
	add_peak(out, row->peak_threads);
	strbuf_addstr(out, "\n");
}

static void add_cpu(const struct report *r, struct strbuf *out)
{
	const struct job_row *row = row_of(r);
	int64_t cpu = r->cpu_total != UNKNOWN ? r->cpu_total : r->has_records ? row->cpu : UNKNOWN;

	if (cpu == UNKNOWN)
		return;
	strbuf_addstr(out, "CPU time\t");
	strbuf_addstr(out, r->unseen ? "at least " : "");
	add_seconds(out, cpu);
	if (!r->unseen && row->duration != UNKNOWN && row->duration > 0)
		strbuf_addf(out, ", %.3g CPUs busy on average",
			    (double)cpu / (double)row->duration);
	if (!r->unseen && r->cores != UNKNOWN)
		strbuf_addf(out, " of %lld %s", (long long)r->cores,
			    plural(r->cores, "core", "cores"));
	if (!r->unseen && isfinite(r->cpu_share))
		strbuf_addf(out, " (%.3g %%)", r->cpu_share * 100);
	strbuf_addch(out, '\n');
	if (r->cpu_residue == UNKNOWN)
		return;
	strbuf_addstr(out, "Not itemised\t");
	add_seconds(out, r->cpu_residue);
	strbuf_addstr(out, " of CPU time\n");
}

static void add_memory(const struct report *r, struct strbuf *out)
{
	const struct job_sum *rss = jobshow_sum(&r->show, "rssmax");

	if (rss) {
		strbuf_addstr(out, "Memory of the largest process\t");
		strbuf_addstr(out, r->unseen ? "at least " : "");
		add_kib(out, rss->max, true);
		strbuf_addch(out, '\n');
	}
	if (r->memory_limit != UNKNOWN) {
		strbuf_addstr(out, "Memory limit\t");
		add_amount(out, r->memory_limit);
		strbuf_addch(out, '\n');
	}
}

static void add_io(const struct report *r, struct strbuf *out)
{
	static const struct {
		const char *name, *label;
	} sums[] = {{"rchar", "Read by calls"},
		    {"wchar", "Written by calls"},
		    {"read_bytes", "Read from storage"}};
	_cleanup_strbuf_ struct strbuf stored = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
		_cleanup_strbuf_ struct strbuf unknown = STRBUF_INIT;
		int64_t bytes = jobshow_io(&r->show, sums[i].name);
		bool calls = sums[i].name[1] == 'c';

		if (bytes == UNKNOWN)
			continue;
		strbuf_addf(out, "%s\t%s", sums[i].label,
			    calls && r->show.io_unknown ? "at least " : "");
		add_amount(out, bytes);
		jobshow_add_io_unknown(&unknown, &r->show);
		if (calls && unknown.len)
			strbuf_addf(out, " (%s)", unknown.buf);
		strbuf_addch(out, '\n');
	}
	if (jobshow_add_stored(&stored, &r->show, "", true))
		strbuf_addf(out, "Written to storage\t%s\n", stored.buf);
}

static void add_energy(const struct report *r, struct strbuf *out)
{
	if (!isfinite(r->joules))
		return;
	strbuf_addstr(out, "Energy\t");
	plot_add_value(out, r->joules, "J");
	strbuf_addstr(out, " = ");
	plot_add_value(out, r->joules / 3600, "Wh");
	if (isfinite(r->co2_g_per_kwh))
		strbuf_addf(out, ", %.3g g CO2 at %.3g g/kWh", r->joules / 3.6e6 * r->co2_g_per_kwh,
			    r->co2_g_per_kwh);
	_cleanup_strbuf_ struct strbuf without = STRBUF_INIT;
	report_add_energy_unknown(r, &without);
	strbuf_addstr(out, without.len ? ", " : "");
	clean(out, without.buf);
	strbuf_addch(out, '\n');
}

/* Of the whole job, and said nowhere else. */
static bool is_figure(const struct report *r, size_t i)
{
	const struct report_curve *c = &r->curves[i];

	return !c->host && !c->entity && (isfinite(c->mean) || isfinite(c->maximum)) &&
	       !report_curve_repeats(r, i);
}

static bool is_zero(const struct report_curve *c)
{
	return (c->mean == 0 || isnan(c->mean)) && c->maximum == 0;
}

static void add_curve_name(const struct report_curve *c, struct strbuf *out)
{
	clean(out, c->label && *c->label ? c->label : c->metric);
}

/* Panels are named for the program; these are for people. */
static const char *group_name(const char *panel)
{
	static const char *const names[][2] = {
		{"cpu", "CPU"}, {"io", "I/O"}, {"gpu", "GPU"}, {"counters", "events"}};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(panel, names[i][0]))
			return names[i][1];
	return panel;
}

/* Metrics of the whole job, from one on to another: what a person asks for first is in front. */
static void add_curve_figures(const struct report *r, size_t from, size_t to, const char *title,
			      struct strbuf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < r->curve_count; i++) {
		const struct report_curve *c = &r->curves[i];

		if (!is_figure(r, i) || is_zero(c) || n++ < from || n > to)
			continue;
		if (n == from + 1)
			strbuf_addf(out, "# %s\n|Metric\tGroup\t>Mean\t>Maximum\n", title);
		strbuf_addch(out, ' ');
		add_curve_name(c, out);
		strbuf_addch(out, '\t');
		strbuf_addstr(out, group_name(c->panel));
		strbuf_addch(out, '\t');
		if (isnan(c->mean))
			strbuf_addf(out, "%lld %s", (long long)c->readings,
				    plural(c->readings, "reading", "readings"));
		else
			plot_add_value(out, c->mean, c->unit);
		strbuf_addch(out, '\t');
		plot_add_value(out, c->maximum, c->unit);
		strbuf_addch(out, '\n');
	}
}

/* Their names are enough. */
static void add_zero_figures(const struct report *r, struct strbuf *out)
{
	const char *between = "# Over time, all 0\n";

	for (size_t i = 0; i < r->curve_count; i++) {
		const struct report_curve *c = &r->curves[i];

		if (!is_figure(r, i) || !is_zero(c))
			continue;
		strbuf_addstr(out, between);
		between = ", ";
		add_curve_name(c, out);
		strbuf_addf(out, " (%s)", group_name(c->panel));
	}
	strbuf_addstr(out, *between == ',' ? "\n" : "");
}

static void add_front(const struct report *r, struct strbuf *out)
{
	const struct job_row *row = row_of(r);

	strbuf_addstr(out, "# Job ");
	clean(out, text_of(r, row->jobid));
	if (row->jobname) {
		strbuf_addstr(out, ", ");
		clean(out, text_of(r, row->jobname));
	}
	strbuf_addch(out, '\n');
	add_findings(r, out);
	strbuf_addstr(out, "# Key figures\nUser\t");
	clean(out, row->user ? text_of(r, row->user) : "-");
	strbuf_addf(out, "\n%s\t", plural(row->hosts.count, "Node", "Nodes"));
	add_hosts(r, out);
	strbuf_addstr(out, "\nStart\t");
	if (row->start == UNKNOWN)
		strbuf_addstr(out, "-");
	else
		add_local_time(out, row->start);
	strbuf_addstr(out, "\nDuration\t");
	add_seconds(out, row->duration);
	strbuf_addstr(out, r->running ? ", still running" : "");
	strbuf_addstr(out, "\nExit status\t");
	if (row->exitcode == UNKNOWN)
		strbuf_addstr(out, "not known");
	else
		strbuf_addf(out, "%lld", (long long)row->exitcode);
	strbuf_addch(out, '\n');
	add_work(r, out);
	add_cpu(r, out);
	add_memory(r, out);
	add_io(r, out);
	add_energy(r, out);
	add_curve_figures(r, 0, CURVES_IN_FRONT, "Over time", out);
}

/* ---- the last pages ---------------------------------------------------------------------------
 */

static void add_groups(const struct report_groups *g, const char *title, const char *name,
		       struct strbuf *out)
{
	size_t shown = g->count < ROWS_SHOWN ? g->count : ROWS_SHOWN;

	if (!g->count)
		return;
	strbuf_addf(out, "# %s\n|%s\t>Images\t>Failed\t>CPU\t>Wall\t>Memory\t>Read\t>Written\n",
		    title, name);
	for (size_t i = 0; i < shown; i++) {
		const struct report_group *o = &g->list[i];

		strbuf_addch(out, ' ');
		clean(out, o->name && *o->name ? o->name : "-");
		strbuf_addch(out, '\t');
		add_whole(out, o->images);
		strbuf_addch(out, '\t');
		add_whole(out, o->failed);
		strbuf_addch(out, '\t');
		add_seconds(out, o->cpu);
		strbuf_addch(out, '\t');
		add_seconds(out, o->wall);
		strbuf_addch(out, '\t');
		add_amount(out, o->rssmax == UNKNOWN ? UNKNOWN : o->rssmax * 1024);
		strbuf_addch(out, '\t');
		add_amount(out, o->read);
		strbuf_addch(out, '\t');
		add_amount(out, o->written);
		strbuf_addch(out, '\n');
	}
	if (g->count - shown + g->left_out)
		strbuf_addf(out, "and %zu more\n", g->count - shown + g->left_out);
}

static void add_energy_table(const struct report *r, struct strbuf *out)
{
	if (r->energy_count)
		strbuf_addstr(out, "# Energy\n|Node\tDomain\t>Energy\n");
	for (size_t i = 0; i < r->energy_count && i < ROWS_SHOWN; i++) {
		strbuf_addch(out, ' ');
		clean(out, r->energy[i].host);
		strbuf_addch(out, '\t');
		clean(out, r->energy[i].domain);
		strbuf_addch(out, '\t');
		plot_add_value(out, r->energy[i].joules, "J");
		strbuf_addch(out, '\n');
	}
	if (r->energy_count > ROWS_SHOWN)
		strbuf_addf(out, "and %zu more\n", r->energy_count - ROWS_SHOWN);
}

static void add_absences(const struct report *r, struct strbuf *out)
{
	if (r->absence_count)
		strbuf_addstr(out, "# What was not measured, and why\n");
	for (size_t i = 0; i < r->absence_count && i < ROWS_SHOWN; i++) {
		const struct report_absence *a = &r->absences[i];

		/* lines that are filled: a cell of a table would cut the reason off */
		strbuf_addstr(out, "\342\200\242 ");
		clean(out, a->metric);
		if (a->count > 1)
			strbuf_addf(out, " and %zu more", a->count - 1);
		if (row_of(r)->hosts.count > 1 && a->host && *a->host) {
			strbuf_addstr(out, " on ");
			clean(out, a->host);
		}
		strbuf_addstr(out, ": ");
		clean(out, a->reason);
		strbuf_addch(out, '\n');
	}
	if (r->absence_count > ROWS_SHOWN)
		strbuf_addf(out, "and %zu more\n", r->absence_count - ROWS_SHOWN);
}

static void add_back(const struct report *r, struct strbuf *out)
{
	add_groups(&r->executables, "Executables", "Executable", out);
	add_groups(&r->operations, "Operations", "Tags", out);
	if (r->hosts.count > 1)
		add_groups(&r->hosts, "Nodes", "Node", out);
	add_groups(&r->ranks, "Ranks", "Rank", out);
	add_curve_figures(r, CURVES_IN_FRONT, SIZE_MAX, "Over time, further metrics", out);
	add_zero_figures(r, out);
	add_energy_table(r, out);
	if (r->show.warning_count)
		strbuf_addstr(out, "# Warnings\n");
	for (size_t i = 0; i < r->show.warning_count && i < ROWS_SHOWN; i++) {
		strbuf_addstr(out, "\342\200\242 ");
		clean(out, r->show.warnings[i]);
		strbuf_addch(out, '\n');
	}
	add_absences(r, out);
}

/* ---- all of it --------------------------------------------------------------------------------
 */

/* With these charts between the figures and the tables. */
static int draw(const struct report *r, const struct plot_page *charts, size_t count,
		struct strbuf *out, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf header = STRBUF_INIT, foot = STRBUF_INIT,
				       front = STRBUF_INIT, back = STRBUF_INIT;
	_cleanup_free_ struct plot_page *pages = xcalloc(count + 1, sizeof(*pages));

	add_header(r, &header);
	add_front(r, &front);
	add_back(r, &back);
	strbuf_addstr(&foot, "plimsoll " PL_VERSION ", ");
	add_local_time(&foot, clock_realtime_us());
	for (size_t i = 0; i < count; i++)
		pages[i] = charts[i];
	if (back.len)
		pages[count++] = (struct plot_page){.text = back.buf};
	return plot_pages(pages, count, header.buf, foot.buf, front.buf, out, why);
}

int report_pdf_bytes(const struct report *r, struct strbuf *out, struct strbuf *why)
{
	_cleanup_(pdf_charts_release) struct pdf_charts charts;

	report_pdf_charts(r, &charts);
	return draw(r, charts.pages, charts.page_count, out, why);
}

static int put(const char *path, const struct strbuf *out, struct strbuf *why)
{
	int e = fs_put_file(path, out->buf, out->len);

	if (e < 0)
		strbuf_addf(why, "cannot write '%s': %s", path, strerror(-e));
	return e;
}

int report_pdf(const struct report *r, const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	int e = report_pdf_bytes(r, &out, why);

	return e < 0 ? e : put(path, &out, why);
}

int report_pdf_with(const struct report *r, const struct plot_page *charts, size_t count,
		    const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	int e = draw(r, charts, count, &out, why);

	return e < 0 ? e : put(path, &out, why);
}
