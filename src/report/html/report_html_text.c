/* The sections of the page that are mostly text: verdict, key figures, accounting, energy, gaps. */
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "report/html/html_text.h"
#include "report/html/report_html.h"

static const struct job_row *row_of(const struct page *p)
{
	return &p->r->show.list.rows[0];
}

/* ---- the verdict ---------------------------------------------------------------------------- */

static const char *const weights[] = {
	[FINDING_NOTE] = "note",
	[FINDING_WARNING] = "warning",
	[FINDING_SEVERE] = "severe",
};

void page_verdict(struct page *p)
{
	const struct findings *f = &p->r->findings;

	if (p->r->running)
		page_note(p,
			  "This job is still running: the report shows it as of the last record.");
	if (!f->count) {
		strbuf_addstr(&p->out,
			      "<p class=\"finding ok\"><b>Nothing stands out</b> in what was "
			      "measured.</p>");
		return;
	}
	strbuf_addstr(&p->out, "<ol class=\"findings\">");
	for (size_t i = 0; i < f->count; i++) {
		const struct finding *q = &f->list[i];
		const char *weight =
			weights[q->weight <= FINDING_SEVERE ? q->weight : FINDING_NOTE];

		strbuf_addf(&p->out,
			    "<li class=\"finding %s\" id=\"finding-%s\"><h3><span "
			    "class=\"weight\">%s</span> ",
			    weight, finding_ids[q->id].name, weight);
		html_sentence(&p->out, q->title);
		strbuf_addstr(&p->out, "</h3><p>");
		html_sentence(&p->out, q->details);
		strbuf_addstr(&p->out, "</p>");
		if (q->advice && *q->advice) {
			strbuf_addstr(&p->out, "<p class=\"advice\"><b>What to do:</b> ");
			html_sentence(&p->out, q->advice);
			strbuf_addstr(&p->out, "</p>");
		}
		if (q->command) {
			strbuf_addstr(&p->out, "<p><code>");
			html_str(&p->out, q->command);
			strbuf_addstr(&p->out, "</code></p>");
		}
		strbuf_addstr(&p->out, "</li>");
	}
	strbuf_addstr(&p->out, "</ol>");
}

/* ---- key figures ---------------------------------------------------------------------------- */

static void begin_figure(struct page *p, const char *name)
{
	strbuf_addf(&p->out, "<div class=\"figure\"><dt>%s</dt><dd>", name);
}

/* What is below the number, in smaller type. */
static void end_figure(struct page *p, const struct strbuf *below)
{
	strbuf_addstr(&p->out, "</dd>");
	if (below && below->len)
		strbuf_addf(&p->out, "<dd class=\"dim\">%s</dd>", below->buf);
	strbuf_addstr(&p->out, "</div>");
}

static void figure_time(struct page *p, const struct job_row *j)
{
	_cleanup_strbuf_ struct strbuf below = STRBUF_INIT;

	if (j->duration == UNKNOWN)
		return;
	begin_figure(p, "Duration");
	page_number(p, add_us, j->duration);
	if (j->submit != UNKNOWN && j->start != UNKNOWN && j->start > j->submit) {
		strbuf_addstr(&below, "after waiting ");
		add_us(&below, j->start - j->submit, true);
	}
	end_figure(p, &below);
}

/* How many processes a figure does not include. */
static void add_unseen(const struct page *p, struct strbuf *below)
{
	if (p->r->unseen)
		strbuf_addf(below, "%sunknown for %lld %s", below->len ? "; " : "",
			    (long long)p->r->unseen, plural(p->r->unseen, "process", "processes"));
}

static void figure_cpu(struct page *p, const struct job_row *j)
{
	_cleanup_strbuf_ struct strbuf below = STRBUF_INIT;
	const struct job_sum *user = jobshow_sum(&p->r->show, "usertime"),
			     *system = jobshow_sum(&p->r->show, "systemtime");

	if (j->cpu == UNKNOWN || (j->cpu == 0 && !p->r->has_records)) /* not measured */
		return;
	begin_figure(p, "CPU time");
	page_number(p, add_us, j->cpu);
	if (user && system) {
		add_us(&below, user->sum, true);
		strbuf_addstr(&below, " user, ");
		add_us(&below, system->sum, true);
		strbuf_addstr(&below, " system");
	}
	add_unseen(p, &below);
	end_figure(p, &below);
	int64_t cpu = p->r->cpu_total != UNKNOWN ? p->r->cpu_total : j->cpu;
	if (p->r->unseen || isnan(joblist_busy(j, cpu)))
		return;
	begin_figure(p, "CPUs busy on average");
	strbuf_addf(&p->out, "%.3g", joblist_busy(j, cpu));
	strbuf_reset(&below);
	if (p->r->cores != UNKNOWN && isfinite(p->r->cpu_share)) {
		strbuf_addf(&below, "%.3g %% of %lld %s", p->r->cpu_share * 100,
			    (long long)p->r->cores, plural(p->r->cores, "core", "cores"));
	}
	end_figure(p, &below);
}

static void figure_processes(struct page *p, const struct job_row *j)
{
	_cleanup_strbuf_ struct strbuf below = STRBUF_INIT;

	if (j->processes == UNKNOWN || j->processes <= 0)
		return;
	begin_figure(p, "Processes");
	page_number(p, add_count, j->processes);
	if (!j->sampled && j->images != j->processes) {
		add_count(&below, j->images, true);
		strbuf_addstr(&below, " images; ");
	}
	if (j->peak_procs != UNKNOWN) {
		strbuf_addstr(&below, "at most ");
		add_count(&below, j->peak_procs, true);
		strbuf_addstr(&below, " at once");
	}
	if (j->num_threads != UNKNOWN && j->num_threads > j->processes) {
		strbuf_addstr(&below, below.len ? "; " : "");
		add_threads(&below, j->num_threads, j->peak_threads, true);
	}
	end_figure(p, &below);
}

static void figure_memory(struct page *p)
{
	_cleanup_strbuf_ struct strbuf below = STRBUF_INIT;
	const struct job_sum *rss = jobshow_sum(&p->r->show, "rssmax");

	if (!rss)
		return;
	begin_figure(p, "Largest process");
	page_number(p, add_kib, rss->max);
	strbuf_addstr(&below, "resident memory");
	add_unseen(p, &below);
	if (p->r->memory_limit != UNKNOWN) {
		strbuf_addstr(&below, "; the job's limit is ");
		text_add_bytes(&below, (double)p->r->memory_limit);
	}
	end_figure(p, &below);
}

/* All processes together, where they were sampled. */
static void figure_job_memory(struct page *p)
{
	_cleanup_strbuf_ struct strbuf below = STRBUF_INIT;
	struct report_memory all = report_memory(p->r);

	if (isnan(all.most))
		return;
	strbuf_addstr(&below, "all processes together");
	if (all.missed)
		strbuf_addstr(&below, "; samples missed the peak");
	else if (!(all.most <= all.least))
		strbuf_addstr(&below, "; shared pages counted in each process");
	else
		strbuf_addstr(&below, "; shared pages counted once");
	if (!all.missed && all.most > all.least) {
		strbuf_addstr(&below, ", at least ");
		unit_add_value(&below, all.least, all.unit);
		strbuf_addstr(&below, " when counted once");
	}
	begin_figure(p, all.missed ? "Memory when sampled" : "Peak memory");
	page_real(p, all.unit, all.least > all.most && !all.missed ? all.least : all.most);
	end_figure(p, &below);
}

static void figure_io(struct page *p, const char *name, const char *least, const char *calls,
		      struct strbuf *below)
{
	int64_t bytes = jobshow_io(&p->r->show, calls);

	if (bytes == UNKNOWN)
		return;
	begin_figure(p, p->r->show.io_unknown ? least : name);
	page_number(p, add_bytes, bytes);
	jobshow_add_io_unknown(below, &p->r->show);
	end_figure(p, below);
}

static void figures_io(struct page *p)
{
	_cleanup_strbuf_ struct strbuf from = STRBUF_INIT, to = STRBUF_INIT;
	const struct job_sum *stored = jobshow_sum(&p->r->show, "read_bytes");

	if (stored && stored->sum >= 0) {
		text_add_bytes(&from, (double)stored->sum);
		strbuf_addstr(&from, " from storage");
	}
	figure_io(p, "Read", "Read at least", "rchar", &from);
	jobshow_add_stored(&to, &p->r->show, " to storage", true);
	figure_io(p, "Written", "Written at least", "wchar", &to);
}

static void figure_waiting(struct page *p)
{
	_cleanup_strbuf_ struct strbuf below = STRBUF_INIT;
	const struct job_sum *cpu = jobshow_sum(&p->r->show, "time_waiting");
	const struct job_sum *io = jobshow_sum(&p->r->show, "delayacct_blkio_time");

	if (!cpu || cpu->sum < 0)
		return;
	begin_figure(p, "Waited for a CPU");
	add_metric(&p->out, cpu->metric, cpu->sum, true);
	if (io && io->sum >= 0) {
		add_metric(&below, io->metric, io->sum, true);
		strbuf_addstr(&below, " for storage");
	}
	end_figure(p, &below);
}

static void figure_exit(struct page *p, const struct job_row *j)
{
	begin_figure(p, "Exit status");
	if (p->r->running)
		strbuf_addstr(&p->out, "running");
	else if (j->exitcode == UNKNOWN)
		strbuf_addstr(&p->out, "unknown");
	else {
		strbuf_addf(&p->out, "<span class=\"%s\">", j->exitcode ? "bad" : "good");
		report_add_exit(&p->out, j->exitcode);
		strbuf_addstr(&p->out, "</span>");
	}
	end_figure(p, NULL);
}

void page_figures(struct page *p)
{
	const struct job_row *j = row_of(p);

	strbuf_addstr(&p->out, "<dl class=\"figures\">");
	figure_time(p, j);
	figure_cpu(p, j);
	figure_processes(p, j);
	figure_memory(p);
	figure_job_memory(p);
	figures_io(p);
	figure_waiting(p);
	if (isfinite(p->r->joules)) {
		_cleanup_strbuf_ struct strbuf below = STRBUF_INIT;

		begin_figure(p, "Energy");
		page_real(p, "J", p->r->joules);
		unit_add_value(&below, p->r->joules / 3600, "Wh");
		end_figure(p, &below);
	}
	figure_exit(p, j);
	strbuf_addstr(&p->out, "</dl>");
}

/* ---- accounting ----------------------------------------------------------------------------- */

void page_accounting(struct page *p)
{
	const struct report *r = p->r;

	if (r->cpu_total != UNKNOWN && r->cpu_total > 0 && r->cpu_itemised != UNKNOWN) {
		double share = (double)r->cpu_itemised * 100 / (double)r->cpu_total;

		share = share > 100 ? 100 : share < 0 ? 0 : share;
		strbuf_addf(
			&p->out,
			"<svg class=\"accounting\" role=\"img\" aria-label=\"accounted share of CPU "
			"time\"><rect class=\"rest\" width=\"100%%\" height=\"14\"/>"
			"<rect class=\"part\" width=\"%.3f%%\" height=\"14\"/></svg><p><b>Accounted "
			"%.5g %% of CPU time</b>: ",
			share, share);
		page_number(p, add_us, r->cpu_itemised);
		strbuf_addstr(&p->out, " of ");
		page_number(p, add_us, r->cpu_total);
		strbuf_addstr(&p->out, " belong to known processes");
		if (r->cpu_residue != UNKNOWN) {
			strbuf_addstr(&p->out, ", ");
			page_number(p, add_us, r->cpu_residue);
			strbuf_addstr(&p->out, " are missing");
		}
		strbuf_addstr(&p->out, ".</p>");
	} else if (r->cpu_itemised != UNKNOWN) {
		strbuf_addstr(&p->out, "<p>");
		page_number(p, add_us, r->cpu_itemised);
		strbuf_addstr(
			&p->out,
			" of CPU time belong to known processes. The total of the job was not "
			"measured, so it is unknown how much is missing.</p>");
	} else {
		page_note(
			p,
			"No CPU time was recorded by process, so there is nothing to account for.");
	}
	if (!r->show.warning_count)
		return;
	strbuf_addstr(&p->out, "<ul class=\"warnings\">");
	for (size_t i = 0; i < r->show.warning_count && i < 50; i++)
		html_between(&p->out, "<li>", r->show.warnings[i], 500, "</li>");
	if (r->show.warning_count > 50)
		strbuf_addf(&p->out, "<li>and %zu more</li>", r->show.warning_count - 50);
	strbuf_addstr(&p->out, "</ul>");
}

/* ---- energy --------------------------------------------------------------------------------- */

static void add_energy_cells(struct page *p, double joules)
{
	strbuf_addf(&p->out, "<td class=\"n\" data-v=\"%.9g\">", joules);
	page_real(p, "J", joules);
	strbuf_addf(&p->out, "</td><td class=\"n\" data-v=\"%.9g\">", joules);
	page_real(p, "Wh", joules / 3600);
	strbuf_addstr(&p->out, "</td>");
	if (isfinite(p->r->co2_g_per_kwh)) {
		strbuf_addf(&p->out, "<td class=\"n\" data-v=\"%.9g\">", joules);
		page_real(p, "g", joules / 3.6e6 * p->r->co2_g_per_kwh);
		strbuf_addstr(&p->out, "</td>");
	}
}

void page_energy(struct page *p)
{
	const struct report *r = p->r;

	if (!isfinite(r->joules) && !r->energy_count)
		return;
	strbuf_addf(
		&p->out,
		"<div class=\"scroll\"><table class=\"sortable\" aria-label=\"energy\"><thead><tr><th scope=\"col\">"
		"host</th><th scope=\"col\">domain</th><th scope=\"col\" class=\"n\">energy</th>"
		"<th scope=\"col\" class=\"n\">Wh</th>%s</tr></thead><tbody>",
		isfinite(r->co2_g_per_kwh) ? "<th scope=\"col\" class=\"n\">CO\u2082</th>" : "");
	for (size_t i = 0; i < r->energy_count && i < REPORT_GROUPS_MAX; i++) {
		html_between(&p->out, "<tr><td class=\"t\">", r->energy[i].host, SIZE_MAX,
			     "</td><td class=\"t\">");
		html_str(&p->out, r->energy[i].domain);
		strbuf_addstr(&p->out, "</td>");
		add_energy_cells(p, r->energy[i].joules);
		strbuf_addstr(&p->out, "</tr>");
	}
	strbuf_addstr(&p->out, "</tbody>");
	if (isfinite(r->joules)) {
		strbuf_addstr(&p->out, "<tfoot><tr><th scope=\"row\" colspan=\"2\">the job</th>");
		add_energy_cells(p, r->joules);
		strbuf_addstr(&p->out, "</tr></tfoot>");
	}
	strbuf_addstr(&p->out, "</table></div>");
	_cleanup_strbuf_ struct strbuf without = STRBUF_INIT;
	report_add_energy_unknown(r, &without);
	if (without.len)
		html_between(&p->out, "<p class=\"dim\">Energy ", without.buf, SIZE_MAX, ".</p>");
	if (isfinite(r->co2_g_per_kwh))
		strbuf_addf(&p->out,
			    "<p class=\"dim\">CO\u2082 at %.4g g per kWh, as configured.</p>",
			    r->co2_g_per_kwh);
}

/* ---- what was not measured, and where the page comes from ----------------------------------- */

void page_unmeasured(struct page *p)
{
	const struct report *r = p->r;

	if (!r->absence_count)
		return;
	strbuf_addstr(
		&p->out,
		"<div class=\"scroll\"><table class=\"sortable\" aria-label=\"not measured\"><thead><tr>"
		"<th scope=\"col\">what</th><th scope=\"col\">host</th>"
		"<th scope=\"col\">why</th></tr></thead><tbody>");
	for (size_t i = 0; i < r->absence_count && i < REPORT_GROUPS_MAX; i++) {
		const struct report_absence *a = &r->absences[i];

		strbuf_addstr(&p->out, "<tr><td class=\"t\">");
		html_str(&p->out, a->metric);
		if (a->count > 1)
			strbuf_addf(&p->out, " and %zu more", a->count - 1);
		strbuf_addstr(&p->out, "</td><td class=\"t\">");
		if (a->host)
			html_str(&p->out, a->host);
		else
			strbuf_addstr(&p->out, "<i>several</i>");
		html_between(&p->out, "</td><td class=\"w\">", a->reason, 500, "</td></tr>");
	}
	strbuf_addstr(&p->out, "</tbody></table></div>");
	if (r->absence_count > REPORT_GROUPS_MAX)
		strbuf_addf(&p->out, "<p class=\"dim\">and %zu more</p>",
			    r->absence_count - REPORT_GROUPS_MAX);
}

void page_about(struct page *p)
{
	const struct joblist *l = &p->r->show.list;
	const struct job_row *j = row_of(p);

	strbuf_addstr(&p->out, "<p>Written by plimsoll " PL_VERSION);
	if (j->format) {
		strbuf_addstr(&p->out, " from records of ");
		html_str(&p->out, joblist_text(l, j->format));
	}
	if (j->source) {
		const char *source = joblist_text(l, j->source);

		html_between(&p->out, " in <bdi>", source, 300, "</bdi>");
	}
	strbuf_addstr(&p->out,
		      ". Times are in the time zone of the machine that wrote this page. The page "
		      "needs no network. Its data are in the element <code>report-data</code>, as "
		      "<code>plimsoll report --format json</code> writes them.</p>");
}
