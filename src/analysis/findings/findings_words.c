/* How findings are written; see findings_rules.h. */
#include <math.h>
#include <stdarg.h>

#include "analysis/findings/findings_rules.h"
#include "core/text/text.h"

void draft_release(struct draft *d)
{
	strbuf_release(&d->title);
	strbuf_release(&d->details);
	strbuf_release(&d->advice);
	strbuf_release(&d->command);
	for (size_t i = 0; i < d->evidence_count; i++)
		free(d->evidence[i].where);
	free(d->evidence);
}

void finding_add(struct findings *to, enum finding_id id, enum finding_weight weight,
		 struct draft *d)
{
	/* details are sentences */
	if (d->details.len && d->details.buf[0] >= 'a' && d->details.buf[0] <= 'z')
		d->details.buf[0] = (char)(d->details.buf[0] - 'a' + 'A');
	GROW(to->list, to->count, to->cap);
	to->list[to->count++] =
		(struct finding){.id = id,
				 .weight = weight,
				 .share = d->share,
				 .saving = d->saving,
				 .title = strbuf_take(&d->title),
				 .details = strbuf_take(&d->details),
				 .advice = strbuf_take(&d->advice),
				 .command = d->command.len ? strbuf_take(&d->command) : NULL,
				 .evidence = d->evidence,
				 .evidence_count = d->evidence_count,
				 .evidence_cap = d->evidence_cap};
	d->evidence = NULL;
	d->evidence_count = d->evidence_cap = 0;
}

void evidence(struct draft *d, const char *metric, double value, const char *unit,
	      const char *where)
{
	if (!isfinite(value))
		return;
	GROW(d->evidence, d->evidence_count, d->evidence_cap);
	d->evidence[d->evidence_count++] = (struct finding_evidence){
		metric, value, unit, where && *where ? xstrdup(where) : NULL};
}

void evidence_part(struct draft *d, const struct finding_figures *f, enum core_part part)
{
	evidence(d, core_parts[part].name, f->time.part[part], "s", NULL);
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

void finding_add_step(struct strbuf *out, const char *step)
{
	if (step && *step)
		say(out, " in step %s", step);
}

char *finding_place(const char *name, const char *step)
{
	if (!name || !*name)
		return step && *step ? xasprintf("step %s", step) : NULL;
	return step && *step ? xasprintf("%s, step %s", name, step) : xstrdup(name);
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
		say(out, " of %N", f->cores);
	say(out, f->cores < 2 ? " core was busy on average" : " cores were busy on average");
}

double finding_wanted(const struct finding_figures *f)
{
	return f->duration > 0 ? (f->cpu + f->cpu_wait) / f->duration : NAN;
}

double finding_active(const struct finding_figures *f)
{
	const struct core_time *t = &f->time;
	double sum = core_time_family(t, CORE_BUSY_FAMILY) +
		     core_time_family(t, CORE_KERNEL_FAMILY) +
		     core_time_family(t, CORE_RUNNABLE_FAMILY) +
		     core_time_family(t, CORE_BLOCKED_FAMILY) - t->part[CORE_CHILD] +
		     t->part[CORE_RESIDUE];

	/* of half a core, half a second is all that a second has */
	double least = f->cores > 0 && f->cores < 1 ? f->cores : 1;

	return f->duration > 0 && sum > least * f->duration ? sum / f->duration : least;
}

double finding_lost(const struct finding_figures *f, double core_seconds)
{
	double s = core_seconds / finding_active(f);

	return s < f->duration ? s : f->duration;
}

bool finding_begin(const struct finding_figures *f, struct draft *d, double core_seconds,
		   double saving)
{
	double total = core_time_total(&f->time);

	if (!(f->duration >= LIMIT(MOMENT) && saving >= LIMIT(NOTABLE) * f->duration))
		return false;
	d->share = total > 0 ? core_seconds / total : NAN;
	d->saving = saving < f->duration ? saving : f->duration;
	return true;
}

enum finding_weight finding_weight_of(const struct finding_figures *f, double saving)
{
	return saving >= LIMIT(MAIN) * f->duration ? FINDING_WARNING : FINDING_NOTE;
}

void finding_add_run(const struct finding_figures *f, struct strbuf *out)
{
	strbuf_addstr(out, "plimsoll run --sample 1s -- ");
	strbuf_addstr(out, f->run && *f->run ? f->run : "COMMAND");
}

/* Cores: what a thread does without the lock, others do beside its holder. */
#define TAKE_TURNS 1.5

/* Who has the lock works, or is ready to while others have its core. */
static bool somebody_works(const struct finding_figures *f)
{
	return finding_busy(f) >= 0.5 || finding_wanted(f) >= 0.5;
}

bool finding_takes_turns(const struct finding_figures *f)
{
	double busy = finding_busy(f), sum = f->workers * f->worker_mean;
	double ready = f->cpu_wait > 0 ? f->cpu_wait : 0;

	/* those who wait in the futex are these threads, and not others: they live once */
	return f->looked && sum + ready + f->same_futex <= 1.1 * f->workers * f->duration &&
	       f->workers >= 2 && f->cores >= 1.5 && somebody_works(f) && busy <= TAKE_TURNS &&
	       f->worker_most <= LIMIT(TURNS) * f->worker_mean && sum >= 0.8 * f->cpu &&
	       f->worker_mean >= LIMIT(UNEVEN_CPU) / 2 &&
	       f->same_futex >= 0.5 * (f->workers - 1) * f->duration;
}

/* Of the CPU time; else they wait for room in a queue that another one empties. */
#define OF_TAKERS 0.6
#define QUEUE 0.3 /* of the duration one of them waited in a pipe: no lock, but an empty queue */

bool finding_processes_take_turns(const struct finding_figures *f)
{
	double busy = finding_busy(f);

	return f->looked && f->takers >= 2 && f->cores >= 1.5 && somebody_works(f) &&
	       busy <= TAKE_TURNS && f->taker_cpu >= OF_TAKERS * f->cpu &&
	       f->taker_pipes < QUEUE * f->duration &&
	       f->semaphore >= 0.5 * (f->takers - 1) * f->duration;
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
	return !f->running && !f->cut_off && !f->at_time_limit && !(f->crashed >= 1) &&
	       !(f->unseen >= 1) && !(f->hosts_missing >= 1) &&
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

bool finding_uses_gpus(const struct finding_figures *f)
{
	return f->gpus_asked >= 1 || f->gpu_processes >= 1 || f->time.part[CORE_DEVICE] > 0;
}

double finding_beside_gpus(const struct finding_figures *f, double saving)
{
	bool bound = f->gpus >= 1 && f->gpu_busy >= LIMIT(GPU_HALF) && finding_uses_gpus(f);

	return bound ? saving * (1 - f->gpu_busy) : saving;
}

bool finding_thrashes(const struct finding_figures *f)
{
	return f->memory_limit > 0 && f->stored_read > 0 &&
	       f->refaulted >= LIMIT(REFAULTS) * f->stored_read;
}
