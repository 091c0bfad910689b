/*
 * The memory of all processes of a job together; see report.h. RSS is sampled at every tick and
 * counts shared pages in each process: the sum is an upper bound. PSS divides shared pages among
 * processes, but is expensive and sampled seldom; the kernel also keeps the peak of each process,
 * which no sample misses. The larger of these two is a lower bound.
 */
#include <math.h>
#include <string.h>

#include "core/text/units.h"
#include "report/report_internal.h"

/* The kernel counts pages per CPU and adds them up now and then: smaller differences are noise. */
#define SAME 1.02
/* Less than this is what messages of programs and the host's own services come to. */
#define FILES_LEAST (32.0 * 1024 * 1024)

static double larger(double a, double b)
{
	return isnan(a) || b > a ? b : a;
}

static bool is_one_process(const struct report *r)
{
	const struct report_series *processes = report_series_of(r, "process.processes");

	return (processes && processes->maximum <= 1) ||
	       (r->has_records && r->show.list.rows[0].peak_procs == 1);
}

struct report_memory report_memory(const struct report *r)
{
	const struct report_series *resident = report_series_of(r, "process.rss"),
				   *divided = report_series_of(r, "process_memory.pss");
	const struct job_sum *peak = jobshow_sum(&r->show, "rssmax");
	struct report_memory m = {.most = NAN, .least = NAN, .unit = ""};
	double largest = peak && peak->max >= 0 ? (double)peak->max * 1024 : NAN;

	if (!resident)
		resident = divided;
	if (!resident || !isfinite(resident->maximum))
		return m;
	m.unit = resident->unit;
	if (is_one_process(r)) {
		m.least = m.most = larger(largest, resident->maximum);
		return m;
	}
	m.least = divided ? larger(largest, divided->maximum) : largest;
	m.most = resident->maximum;
	m.missed = largest > m.most * SAME;
	if (!m.missed && divided && !divided->seldom)
		m.most = m.least;
	return m;
}

void report_add_memory(const struct report *r, struct strbuf *out)
{
	struct report_memory m = report_memory(r);

	if (isnan(m.most) || (out->len && is_one_process(r)))
		return;
	if (m.missed) {
		strbuf_addstr(out, out->len ? "; samples missed that peak and saw at most "
					    : "at most ");
		unit_add_value(out, m.most, m.unit);
		strbuf_addstr(out, " in all processes");
		return;
	}
	strbuf_addstr(out, out->len ? ", " : "");
	if (isnan(m.least))
		strbuf_addstr(out, "at most ");
	else if (m.most > m.least * SAME) {
		unit_add_value(out, m.least, m.unit);
		strbuf_addstr(out, " to ");
	}
	unit_add_value(out, larger(m.most, m.least), m.unit);
	strbuf_addstr(out, " in all processes together");
	if (isnan(m.least))
		strbuf_addstr(out, " (shared pages counted in each process)");
	else if (m.most > m.least * SAME)
		strbuf_addstr(out, " (shared pages counted once, or in each process)");
	else if (!is_one_process(r))
		strbuf_addstr(out, " (shared pages counted once)");
}

/* ---- files in memory ------------------------------------------------------------------------ */

/* What is written and not queued for storage: to tmpfs, pipes, sockets and devices. NAN: unknown */
static double written_elsewhere(const struct report_loading *l)
{
	const struct jobshow *show = &l->r->show;
	int64_t calls = jobshow_io(show, "wchar"), queued = jobshow_io(show, "write_bytes");

	if (calls != UNKNOWN && queued != UNKNOWN && !show->io_unknown)
		return calls > queued ? (double)(calls - queued) : 0;
	double more = report_job_increase(l, "process.wchar") -
		      report_job_increase(l, "process.write_bytes");
	return more < 0 ? 0 : more;
}

double report_files_in_memory(const struct report_loading *l, bool *ret_seen)
{
	double most = written_elsewhere(l), rise = NAN;

	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];

		if (!strcmp(s->metric, "system.mem_shmem") && s->count > 1)
			rise = larger(rise, s->maximum - s->minimum);
	}
	*ret_seen = !isnan(rise);
	if (isnan(most) || rise < most)
		most = rise;
	return most >= FILES_LEAST ? most : 0;
}

/* ---- growth --------------------------------------------------------------------------------- */

/* Does it grow all the time? By the resident memory of all processes, after a tenth of the time. */
void report_take_growth(const struct report *r, struct finding_figures *f)
{
	const struct report_series *c = report_series_of(r, "process.rss");
	const struct points *p = c ? &c->points : NULL;
	size_t rising = 0, first, last;

	if (!p || p->count < 8 || c->seldom)
		return;
	/* the last samples are those of processes that end */
	first = p->count / 10 + 1;
	last = p->count - 2;
	for (size_t i = first + 1; i <= last; i++)
		rising += p->points[i].value > p->points[i - 1].value;
	f->memory_first = p->points[first].value;
	f->memory_last = p->points[last].value;
	f->memory_rising = (double)rising / (double)(last - first);
	/* half of the growth in the second half: what fills up and stays is no growth */
	double middle = p->points[(first + last) / 2].value;
	if (!(f->memory_last - middle >= 0.3 * (f->memory_last - f->memory_first)))
		f->memory_rising = 0;
}
