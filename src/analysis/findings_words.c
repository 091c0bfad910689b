/* How findings are written; see findings_rules.h. */
#include <math.h>

#include "analysis/findings_rules.h"

void draft_release(struct draft *d)
{
	strbuf_release(&d->title);
	strbuf_release(&d->evidence);
	strbuf_release(&d->advice);
}

void finding_add(struct findings *to, enum finding_kind kind, enum finding_weight weight,
		 struct draft *d)
{
	/* evidence is a sentence */
	if (d->evidence.len && d->evidence.buf[0] >= 'a' && d->evidence.buf[0] <= 'z')
		d->evidence.buf[0] = (char)(d->evidence.buf[0] - 'a' + 'A');
	GROW(to->list, to->count, to->cap);
	to->list[to->count++] =
		(struct finding){kind, weight, strbuf_take(&d->title), strbuf_take(&d->evidence),
				 strbuf_take(&d->advice)};
}

void finding_number(struct strbuf *out, double v)
{
	bool small = v > -99.5 && v < 99.5;

	strbuf_addf(out, !small || v == (double)(int64_t)v ? "%.0f" : v >= 1 ? "%.1f" : "%.2f", v);
}

void finding_count(struct strbuf *out, double v)
{
	char digits[32];
	int n = snprintf(digits, sizeof(digits), "%.0f", v >= 0 && v < 1e18 ? v : 0.0);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			strbuf_addch(out, ',');
		strbuf_addch(out, digits[i]);
	}
}

void finding_processes(struct strbuf *out, double v)
{
	finding_count(out, v);
	strbuf_addstr(out, v < 2 ? " process" : " processes");
}

void finding_memory(struct strbuf *out, double bytes)
{
	if (!(bytes < 1e18))
		strbuf_addstr(out, "more memory (--mem)");
	else if (bytes > 4 * GIB)
		strbuf_addf(out, "--mem=%lldG", (long long)((bytes + GIB - 1) / GIB));
	else
		strbuf_addf(out, "--mem=%lldM",
			    (long long)((bytes + 64 * MIB - 1) / (64 * MIB)) * 64);
}

double finding_up(double v)
{
	/* what is larger has no fraction, and what is no number no whole part */
	if (!(v > -1e15 && v < 1e15))
		return v;
	double whole = (double)(int64_t)v;

	return whole < v ? whole + 1 : whole;
}

double finding_busy(const struct finding_figures *f)
{
	return f->duration > 0 ? f->cpu / f->duration : NAN;
}

void finding_add_top(const struct finding_figures *f, struct strbuf *out)
{
	if (f->top_name && *f->top_name && f->top_share > 0)
		strbuf_addf(out, "; %s used %.0f %% of it", f->top_name, percent(f->top_share));
}

void finding_add_busy(const struct finding_figures *f, struct strbuf *out)
{
	finding_number(out, finding_busy(f));
	if (f->cores > 0)
		strbuf_addf(out, " of %.0f", f->cores);
	strbuf_addstr(out,
		      f->cores < 2 ? " core was busy on average" : " cores were busy on average");
}

double finding_runnable(const struct finding_figures *f)
{
	return f->duration > 0 ? (f->cpu + f->cpu_wait) / f->duration : NAN;
}

bool finding_felt(const struct finding_figures *f, double waited)
{
	return f->duration >= LIMIT(MOMENT) && waited >= LIMIT(WAITED) * f->duration;
}

/* `timeline` tells which processes there were, not whether they ran. */
void finding_add_where(const struct finding_figures *f, struct strbuf *out)
{
	if (f->sampled)
		strbuf_addf(out, "`plimsoll series %s -m process.cpu_percent --total` shows when",
			    finding_job(f));
	else
		strbuf_addf(out,
			    "`plimsoll tree %s` shows which processes took time without using a "
			    "CPU; `plimsoll run --sample 1s` shows when",
			    finding_job(f));
}

double finding_tasks(const struct finding_figures *f)
{
	double most = f->tasks > f->ranks || isnan(f->ranks) ? f->tasks : f->ranks;

	return most >= 1 && most < 1e9 ? most : 1;
}

const char *finding_job(const struct finding_figures *f)
{
	return f->job && *f->job ? f->job : "JOB";
}

bool finding_whole(const struct finding_figures *f)
{
	return !f->running && !(f->unseen >= 1) && !(f->exitcode > 0 || f->exitcode < 0) &&
	       !finding_out_of_memory(f);
}

void finding_cores(struct strbuf *out, const struct finding_figures *f, double cores)
{
	double tasks = finding_tasks(f);

	strbuf_addf(out, " (-c %.0f", finding_up(cores / tasks));
	if (tasks > 1)
		strbuf_addf(out, " for each of %.0f ranks", tasks);
	strbuf_addch(out, ')');
}

bool finding_out_of_memory(const struct finding_figures *f)
{
	return f->oom_kills >= 1 ||
	       (f->killed >= 1 && f->memory_used >= LIMIT(MEMORY_NEAR) * f->memory_limit);
}
