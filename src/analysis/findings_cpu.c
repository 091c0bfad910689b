/* Rules about cores and threads; see findings.h. Threads that exist tell little: what counts is how
 * many ran or were ready to run. */
#include <math.h>

#include "analysis/findings_rules.h"
#include "core/text/text.h"

/* More of its own threads ready to run than it has cores, and the cores busy with them. */
static bool has_too_few_cores(const struct finding_figures *f)
{
	return finding_runnable(f) >= LIMIT(DEMAND) * f->cores &&
	       finding_busy(f) >= LIMIT(CPU_BOUND) * f->cores;
}

/* As many as were ready to run, which cannot be more than there were. */
static double wanted_cores(const struct finding_figures *f)
{
	double n = finding_up(finding_runnable(f));

	return f->threads_peak >= 1 && n > f->threads_peak ? f->threads_peak : n;
}

static void advise_more_cores(const struct finding_figures *f, struct strbuf *out)
{
	double each = (double)(int64_t)(f->cores / finding_tasks(f));

	finding_number(out, finding_runnable(f));
	strbuf_addf(out, " of its threads were ready to run on %.0f core%s: ", f->cores,
		    f->cores < 2 ? "" : "s");
	if (f->granted) {
		strbuf_addf(out, "ask for %.0f cores", wanted_cores(f));
		finding_cores(out, f, wanted_cores(f));
	} else {
		strbuf_addstr(out, "use a machine with more cores");
	}
	strbuf_addf(out, ", or start fewer threads (OMP_NUM_THREADS=%.0f).", each >= 1 ? each : 1);
}

void rule_cpu(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(finding_busy(f) >= LIMIT(CPU_BOUND) * f->cores))
		return;
	strbuf_addstr(&d.title, FINDING_BOUND);
	finding_add_busy(f, &d.evidence);
	finding_add_top(f, &d.evidence);
	strbuf_addstr(&d.evidence, ".");
	if (has_too_few_cores(f))
		advise_more_cores(f, &d.advice);
	else if (f->top_name && *f->top_name)
		strbuf_addf(&d.advice,
			    "Make %s faster (compiler flags, libraries): the rest matters little.",
			    f->top_name);
	else
		strbuf_addstr(&d.advice, "Only faster code makes it shorter.");
	finding_add(to, FINDING_CPU, FINDING_NOTE, &d);
}

void rule_system(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(f->cpu >= 1 && f->cpu_system >= LIMIT(SYSTEM) * f->cpu))
		return;
	strbuf_addstr(&d.title, "much of the CPU time went into the kernel");
	strbuf_addf(&d.evidence, "%.0f %% of ", percent(f->cpu_system / f->cpu));
	text_add_duration(&d.evidence, f->cpu);
	strbuf_addstr(&d.evidence, " of CPU was system time.");
	strbuf_addstr(&d.advice, "Start fewer processes, read and write in larger pieces, and use "
				 "huge pages for large arrays.");
	finding_add(to, FINDING_CPU, FINDING_NOTE, &d);
}

/* ---- idle cores ----------------------------------------------------------------------------- */

/* Cores with which it would have run as fast, for each rank as many as the busiest one needs; NAN
 * where the peak is not known. Threads that existed at one time are never exceeded. */
static double enough_cores(const struct finding_figures *f)
{
	double tasks = finding_tasks(f), most = f->cpu_peak > 0 ? f->cpu_peak * 0.98 : NAN;

	if (f->rank_most > 0 && f->duration > 0 && !isnan(most) &&
	    f->rank_most / f->duration * tasks > most)
		most = f->rank_most / f->duration * tasks;
	if (f->threads_peak >= 1 && !(most < f->threads_peak))
		most = f->threads_peak;
	most = finding_up(most / tasks) * tasks;
	return most < tasks ? tasks : most;
}

static bool is_waiting(const struct finding_figures *f)
{
	return f->threads_peak >= LIMIT(BLOCKED) &&
	       finding_runnable(f) * LIMIT(BLOCKED) <= f->threads_peak;
}

static void advise_granted(const struct finding_figures *f, struct strbuf *out)
{
	double enough = enough_cores(f);

	if (isnan(enough)) {
		strbuf_addstr(out, "How many it needs at its busiest is not known: record one with "
				   "`plimsoll run --sample 1s` before asking for fewer.");
	} else if (enough < f->cores) {
		strbuf_addf(out, "Ask for %.0f core%s", enough, enough < 2 ? "" : "s");
		finding_cores(out, f, enough);
		strbuf_addf(out, " instead of %.0f.", f->cores);
	} else if (f->cpu_peak * 1.05 >= f->cores) {
		strbuf_addstr(out, "It used all of them at times: run its serial part in a job of "
				   "its own with -c 1.");
	} else {
		strbuf_addstr(out, "Its threads could use all of them, and did not: find what "
				   "they wait for before asking for fewer.");
	}
}

static void advise_idle(const struct finding_figures *f, struct strbuf *out)
{
	if (!finding_whole(f))
		strbuf_addstr(out, "It did not end well: what a whole run needs is not known.");
	else if (is_waiting(f)) {
		strbuf_addf(out, "Of up to %.0f threads ", f->threads_peak);
		finding_number(out, finding_runnable(f));
		strbuf_addstr(out, " were ready to run on average: the others waited for a lock, "
				   "each other, storage or the network. Find what they wait for; "
				   "more threads or cores do not help.");
	} else if (f->granted)
		advise_granted(f, out);
	else if (finding_busy(f) >= LIMIT(COMPUTED))
		strbuf_addstr(out, "If its work can be divided, divide it among more threads or "
				   "processes; or run several such commands side by side, where "
				   "memory allows.");
	else {
		strbuf_addstr(out, "It mostly waited: ");
		finding_add_where(f, out);
		strbuf_addch(out, '.');
	}
}

/* A core that a thread was ready for was not without work: others had it. */
static bool has_idle_cores(const struct finding_figures *f, const struct findings *to)
{
	double ready = finding_runnable(f), used = isnan(ready) ? finding_busy(f) : ready;

	for (size_t i = 0; i < to->count; i++)
		if (to->list[i].kind == FINDING_WAITING)
			return false;
	return f->cores >= 2 && used < LIMIT(IDLE) * f->cores;
}

void rule_idle(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double idle = f->cores - finding_busy(f);

	if (!has_idle_cores(f, to) ||
	    !(f->duration >= (f->granted ? LIMIT(MOMENT) : LIMIT(IDLE_TIME))))
		return;
	finding_number(&d.title, idle);
	strbuf_addf(&d.title, " of %.0f cores had nothing to do", f->cores);
	finding_add_busy(f, &d.evidence);
	strbuf_addf(&d.evidence, " (%.0f %%)", percent(finding_busy(f) / f->cores));
	if (f->cpu_peak > 0) {
		strbuf_addstr(&d.evidence, ", at most ");
		finding_number(&d.evidence, f->cpu_peak);
	}
	strbuf_addstr(&d.evidence, ".");
	advise_idle(f, &d.advice);
	finding_add(to, FINDING_IDLE, f->granted ? FINDING_WARNING : FINDING_NOTE, &d);
}

/* ---- waiting for a core --------------------------------------------------------------------- */

static void throttled(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	strbuf_addstr(&d.title, "its CPU limit stopped it");
	strbuf_addstr(&d.evidence, "tasks were stopped for ");
	text_add_duration(&d.evidence, f->throttled);
	strbuf_addf(&d.evidence, ", %.0f %% of the time.", percent(f->throttled / f->duration));
	strbuf_addstr(&d.advice, "Ask for more cores, or start fewer threads");
	if (finding_runnable(f) > 0) {
		strbuf_addstr(&d.advice, ": ");
		finding_number(&d.advice, finding_runnable(f));
		strbuf_addstr(&d.advice, " were ready to run on average");
	}
	strbuf_addstr(&d.advice, ".");
	finding_add(to, FINDING_WAITING, FINDING_WARNING, &d);
}

void rule_waiting(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	/* who waited has run, too: no CPU beside it means that nobody counted it */
	double share = f->cpu > 0 ? f->cpu_wait / (f->cpu + f->cpu_wait) : NAN;
	bool waited = share >= LIMIT(CPU_WAIT) && finding_felt(f, f->cpu_wait);

	if (f->throttled >= LIMIT(THROTTLED) * f->duration && f->throttled > 0) {
		throttled(f, to);
		return;
	}
	if (!waited && !(f->cpu_pressure >= LIMIT(CPU_PRESSURE) && isnan(share)))
		return;
	strbuf_addstr(&d.title, "it waited for a free core");
	if (waited) {
		strbuf_addstr(&d.evidence, "tasks were ready to run for ");
		text_add_duration(&d.evidence, f->cpu_wait);
		strbuf_addstr(&d.evidence, " without a core, beside ");
		text_add_duration(&d.evidence, f->cpu);
		strbuf_addf(&d.evidence, " that they ran (%.0f %%).", percent(share));
	} else {
		strbuf_addf(&d.evidence, "some task waited for a core %.0f %% of the time.",
			    percent(f->cpu_pressure));
	}
	if (has_too_few_cores(f))
		advise_more_cores(f, &d.advice);
	else
		strbuf_addstr(&d.advice, "Others used the same cores, or its threads are bound to "
					 "the same few: ask for cores of its own (--exclusive) and "
					 "check the binding (--cpu-bind, OMP_PROC_BIND).");
	finding_add(to, FINDING_WAITING, FINDING_WARNING, &d);
}
