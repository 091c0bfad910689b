/* The key figures of a report as lines of a name and a text: the text report and the PDF show the
 * same. See report.h. */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "core/text/text.h"
#include "report/report.h"

#define HOSTS_NAMED 8

struct lines {
	const struct report *r;
	report_line *add;
	void *user;
	struct strbuf text; /* of the line at hand */
};

static void end_line(struct lines *l, const char *name)
{
	if (l->text.len)
		l->add(l->user, name, l->text.buf);
	strbuf_reset(&l->text);
}

static void whole_line(struct lines *l, const char *name, const char *text)
{
	if (text && *text)
		l->add(l->user, name, text);
}

/* ---- what the job is ------------------------------------------------------------------------ */

static void line_hosts(struct lines *l)
{
	const struct joblist *jobs = &l->r->show.list;
	const struct job_entries *e = &jobs->rows[0].hosts;
	const struct report_groups *sampled = &l->r->hosts;
	size_t count = e->count ? e->count : sampled->count + sampled->left_out;

	for (size_t i = 0; i < (e->count ? e->count : sampled->count) && i < HOSTS_NAMED; i++)
		strbuf_addf(&l->text, "%s%s", i ? ", " : "",
			    e->count ? joblist_text(jobs, jobs->entries[e->first + i].key)
				     : sampled->list[i].name);
	if (count > HOSTS_NAMED)
		strbuf_addf(&l->text, " and %zu more", count - HOSTS_NAMED);
	end_line(l, plural(count, "host", "hosts"));
}

static void line_start(struct lines *l)
{
	const struct job_row *row = &l->r->show.list.rows[0];

	text_add_local_time(&l->text, row->start);
	if (l->r->running)
		strbuf_addstr(&l->text, l->text.len ? ", still running" : "still running");
	if (row->duration != UNKNOWN) {
		strbuf_addstr(&l->text, l->text.len ? ", took " : "took ");
		add_us(&l->text, row->duration, true);
	}
	end_line(l, "start");
}

void report_head_lines(const struct report *r, report_line *add, void *user)
{
	struct lines l = {.r = r, .add = add, .user = user, .text = STRBUF_INIT};

	whole_line(&l, "user", joblist_text(&r->show.list, r->show.list.rows[0].user));
	whole_line(&l, "command", r->show.metadata.command);
	whole_line(&l, "batch", r->show.metadata.batch);
	whole_line(&l, "cut off", r->show.metadata.cut_off);
	line_hosts(&l);
	line_start(&l);
	strbuf_release(&l.text);
}

/* ---- what it used --------------------------------------------------------------------------- */

static void line_processes(struct lines *l)
{
	const struct job_row *row = &l->r->show.list.rows[0];

	if (row->sampled && row->processes != UNKNOWN) {
		add_count(&l->text, row->processes, true);
		strbuf_addstr(&l->text, " seen by sampling");
	} else if (row->processes > 0 && !row->sampled) {
		joblist_add_work(&l->text, row, true);
	}
	end_line(l, "processes");
}

static void lines_cpu(struct lines *l)
{
	const struct report *r = l->r;
	int64_t cpu = report_cpu(r);
	double busy = joblist_busy(&r->show.list.rows[0], cpu);

	if (cpu == UNKNOWN)
		return;
	strbuf_addstr(&l->text, r->unseen ? "at least " : "");
	add_us(&l->text, cpu, true);
	if (!r->unseen && !isnan(busy)) {
		strbuf_addf(&l->text, "; %.2f", busy);
		if (r->cores > 0)
			strbuf_addf(&l->text, " of %lld", (long long)r->cores);
		strbuf_addstr(&l->text, plural(r->cores, " core busy", " cores busy"));
		if (!isnan(r->cpu_share))
			strbuf_addf(&l->text, " (%.0f %%)", 100 * r->cpu_share);
	}
	end_line(l, "CPU");
	if (r->cpu_residue == UNKNOWN || r->cpu_total <= 0)
		return;
	strbuf_addf(&l->text, "%.1f %% of CPU time",
		    100 * (double)r->cpu_itemised / (double)r->cpu_total);
	if (r->cpu_residue > 0) {
		strbuf_addstr(&l->text, ", ");
		add_us(&l->text, r->cpu_residue, true);
		strbuf_addstr(&l->text, " missing");
	}
	end_line(l, "accounted");
}

static void line_memory(struct lines *l)
{
	const struct job_sum *rss = jobshow_sum(&l->r->show, "rssmax");

	if (rss && rss->max >= 0) {
		strbuf_addstr(&l->text, l->r->unseen ? "at least " : "");
		add_kib(&l->text, rss->max, true);
		strbuf_addstr(&l->text, " in the largest process");
	}
	report_add_memory(l->r, &l->text);
	if (l->r->memory_limit != UNKNOWN) {
		strbuf_addstr(&l->text, l->text.len ? "; limit " : "limit ");
		text_add_bytes(&l->text, (double)l->r->memory_limit);
	}
	end_line(l, "memory");
}

static void line_energy(struct lines *l)
{
	const struct report *r = l->r;

	if (isnan(r->joules))
		return;
	unit_add_value(&l->text, r->joules, "J");
	strbuf_addstr(&l->text, " (");
	unit_add_value(&l->text, r->joules / 3600, "Wh");
	strbuf_addch(&l->text, ')');
	if (!isnan(r->co2_g_per_kwh))
		strbuf_addf(&l->text, ", %.3g g of CO2 at %.3g g/kWh",
			    r->joules / 3.6e6 * r->co2_g_per_kwh, r->co2_g_per_kwh);
	strbuf_addstr(&l->text, r->energy_unknown_count ? ", " : "");
	report_add_energy_unknown(r, &l->text);
	end_line(l, "energy");
}

void report_add_exit(struct strbuf *out, int64_t status)
{
	/* shells, and plimsoll as a command, end with this for a signal */
	const char *name =
		status > 128 && status < 128 + NSIG ? sigabbrev_np((int)status - 128) : NULL;

	strbuf_addf(out, "%lld", (long long)status);
	if (name)
		strbuf_addf(out, " (SIG%s)", name);
}

void report_figure_lines(const struct report *r, report_line *add, void *user)
{
	struct lines l = {.r = r, .add = add, .user = user, .text = STRBUF_INIT};
	const struct job_row *row = &r->show.list.rows[0];

	if (row->exitcode != UNKNOWN)
		report_add_exit(&l.text, row->exitcode);
	end_line(&l, "exit");
	line_processes(&l);
	lines_cpu(&l);
	line_memory(&l);
	jobshow_add_io(&l.text, &r->show, true);
	end_line(&l, "I/O");
	jobshow_add_waiting(&l.text, &r->show, true);
	end_line(&l, "waiting");
	line_energy(&l);
	strbuf_release(&l.text);
}
