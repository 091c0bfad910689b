/* How findings are written; see findings_rules.h. */
#include <math.h>
#include <stdarg.h>

#include "analysis/findings/findings_rules.h"
#include "core/text/text.h"

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

static void add_number(struct strbuf *out, double v)
{
	bool small = v > -99.5 && v < 99.5;

	strbuf_addf(out, !small || v == (double)(int64_t)v ? "%.0f" : v >= 1 ? "%.1f" : "%.2f", v);
}

static void add_memory(struct strbuf *out, double bytes)
{
	if (!(bytes < 1e18))
		strbuf_addstr(out, "more memory (--mem)");
	else if (bytes > 4 * GIB)
		strbuf_addf(out, "--mem=%lldG", (long long)((bytes + GIB - 1) / GIB));
	else
		strbuf_addf(out, "--mem=%lldM",
			    (long long)((bytes + 64 * MIB - 1) / (64 * MIB)) * 64);
}

static void add_count(struct strbuf *out, double v, const char *one, const char *many)
{
	text_add_count(out, v >= 0 && v < 1e18 ? round_i64(v) : 0);
	strbuf_addstr(out, v < 2 ? one : many);
}

void say(struct strbuf *out, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	for (const char *p = format; *p; p++) {
		if (*p != '%')
			strbuf_addch(out, *p);
		else if (*++p == 's')
			strbuf_addstr(out, va_arg(ap, const char *));
		else if (*p == 'T')
			text_add_duration(out, va_arg(ap, double));
		else if (*p == 'B')
			text_add_bytes(out, va_arg(ap, double));
		else if (*p == 'N')
			add_number(out, va_arg(ap, double));
		else if (*p == 'W')
			strbuf_addf(out, "%.0f", va_arg(ap, double));
		else if (*p == '%')
			strbuf_addf(out, "%.0f %%", 100 * va_arg(ap, double));
		else if (*p == 'C')
			add_count(out, va_arg(ap, double), "", "");
		else if (*p == 'P')
			add_count(out, va_arg(ap, double), " process", " processes");
		else if (*p == 'M')
			add_memory(out, va_arg(ap, double));
	}
	va_end(ap);
}

double finding_up(double v)
{
	/* larger numbers have no fraction, NAN has no whole part */
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
		say(out, "; %s used %% of it", f->top_name, f->top_share);
}

void finding_add_busy(const struct finding_figures *f, struct strbuf *out)
{
	say(out, "%N", finding_busy(f));
	if (f->cores > 0)
		say(out, " of %W", f->cores);
	say(out, f->cores < 2 ? " core was busy on average" : " cores were busy on average");
}

double finding_runnable(const struct finding_figures *f)
{
	return f->duration > 0 ? (f->cpu + f->cpu_wait) / f->duration : NAN;
}

bool finding_felt(const struct finding_figures *f, double waited)
{
	return f->duration >= LIMIT(MOMENT) && waited >= LIMIT(WAITED) * f->duration;
}

/* `timeline` shows which processes existed, not whether they ran. */
void finding_add_where(const struct finding_figures *f, struct strbuf *out)
{
	if (f->sampled)
		say(out, "`plimsoll series %s -m process.cpu_percent --total` shows when",
		    finding_job(f));
	else
		say(out,
		    "`plimsoll tree %s` shows which processes took time without using a CPU; "
		    "`plimsoll run --sample 1s` shows when",
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
	return !f->running && !(f->unseen >= 1) && !(f->hosts_missing >= 1) &&
	       !(f->exitcode > 0 || f->exitcode < 0) && !finding_out_of_memory(f);
}

void finding_add_incomplete(const struct finding_figures *f, struct strbuf *out)
{
	if (f->hosts_missing >= 1)
		say(out,
		    "Nothing was recorded on %W of its hosts, where it may have worked: start its "
		    "ranks with `srun plimsoll run`.",
		    f->hosts_missing);
	else
		say(out, "It did not complete: what a complete run needs is unknown.");
}

void finding_cores(struct strbuf *out, const struct finding_figures *f, double cores)
{
	double tasks = finding_tasks(f);

	say(out, " (-c %W", finding_up(cores / tasks));
	if (tasks > 1)
		say(out, " for each of %W ranks", tasks);
	say(out, ")");
}

bool finding_out_of_memory(const struct finding_figures *f)
{
	return f->oom_kills >= 1 ||
	       (f->killed >= 1 && f->memory_used >= LIMIT(MEMORY_NEAR) * f->memory_limit);
}
