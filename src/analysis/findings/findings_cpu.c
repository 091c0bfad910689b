/* Rules about cores and threads; see findings.h. How many threads exist says little: what counts is
 * how many ran or were ready to run. */
#include <math.h>

#include "analysis/findings/findings_rules.h"

/* More of its threads were ready to run than it has cores, and the cores were busy with them. */
static bool has_too_few_cores(const struct finding_figures *f)
{
	return finding_runnable(f) >= LIMIT(DEMAND) * f->cores &&
	       finding_busy(f) >= LIMIT(CPU_BOUND) * f->cores;
}

/* As many as were ready to run, but not more than there were threads. */
static double wanted_cores(const struct finding_figures *f)
{
	double n = finding_up(finding_runnable(f));

	return f->threads_peak >= 1 && n > f->threads_peak ? f->threads_peak : n;
}

static void advise_more_cores(const struct finding_figures *f, struct strbuf *out)
{
	double each = (double)(int64_t)(f->cores / finding_tasks(f));

	say(out, "%N of its threads were ready to run on %W core%s: ", finding_runnable(f),
	    f->cores, f->cores < 2 ? "" : "s");
	if (f->granted) {
		say(out, "ask for %W cores", wanted_cores(f));
		finding_cores(out, f, wanted_cores(f));
	} else {
		say(out, "use a machine with more cores");
	}
	say(out, ", or start fewer threads (OMP_NUM_THREADS=%W).", each >= 1 ? each : 1);
}

void rule_cpu(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(finding_busy(f) >= LIMIT(CPU_BOUND) * f->cores))
		return;
	say(&d.title, FINDING_BOUND);
	finding_add_busy(f, &d.evidence);
	finding_add_top(f, &d.evidence);
	say(&d.evidence, ".");
	if (has_too_few_cores(f))
		advise_more_cores(f, &d.advice);
	else if (f->top_name && *f->top_name)
		say(&d.advice,
		    "Make %s faster (compiler flags, libraries): the rest matters little.",
		    f->top_name);
	else
		say(&d.advice, "Only faster code makes it shorter.");
	finding_add(to, FINDING_CPU, FINDING_NOTE, &d);
}

void rule_system(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(f->cpu >= 1 && f->cpu_system >= LIMIT(SYSTEM) * f->cpu))
		return;
	say(&d.title, "the kernel used much of the CPU time");
	say(&d.evidence, "%% of %T of CPU was system time.", f->cpu_system / f->cpu, f->cpu);
	say(&d.advice,
	    "Start fewer processes, read and write in larger chunks, and use huge pages for "
	    "large arrays.");
	finding_add(to, FINDING_CPU, FINDING_NOTE, &d);
}

/* ---- idle cores ----------------------------------------------------------------------------- */

/* Cores with which it would have run as fast, for each rank as many as the busiest one needs; NAN
 * where the peak is unknown. Never more than there were threads at one time. */
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
		say(out,
		    "How many it needs at its busiest is unknown: record one with `plimsoll run "
		    "--sample 1s` before asking for fewer.");
	} else if (enough < f->cores) {
		say(out, "Ask for %W core%s", enough, enough < 2 ? "" : "s");
		finding_cores(out, f, enough);
		say(out, " instead of %W.", f->cores);
	} else if (f->cpu_peak * 1.05 >= f->cores) {
		say(out, "It used all of them at times: run its serial part as a separate job with "
			 "-c 1.");
	} else {
		say(out,
		    "Its threads could use all of them, but did not: find out what they wait for "
		    "before asking for fewer.");
	}
}

static void advise_idle(const struct finding_figures *f, struct strbuf *out)
{
	if (!finding_whole(f))
		finding_add_incomplete(f, out);
	else if (is_waiting(f)) {
		say(out,
		    "Of up to %W threads %N were ready to run on average: the others waited for a lock, "
		    "each other, storage or the network. Find out what they wait for; more threads or "
		    "cores do not help.",
		    f->threads_peak, finding_runnable(f));
	} else if (f->granted)
		advise_granted(f, out);
	else if (finding_busy(f) >= LIMIT(COMPUTED))
		say(out,
		    "If its work can be divided, divide it among more threads or processes; or run "
		    "several such commands side by side, where memory allows.");
	else {
		say(out, "It mostly waited: ");
		finding_add_where(f, out);
		say(out, ".");
	}
}

/* A core that a thread was ready for was not idle: others used it. */
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

	if (!has_idle_cores(f, to) ||
	    !(f->duration >= (f->granted ? LIMIT(MOMENT) : LIMIT(IDLE_TIME))))
		return;
	say(&d.title, "%N of %W cores were idle", f->cores - finding_busy(f), f->cores);
	finding_add_busy(f, &d.evidence);
	say(&d.evidence, " (%%)", finding_busy(f) / f->cores);
	if (f->cpu_peak > 0)
		say(&d.evidence, ", at most %N", f->cpu_peak);
	say(&d.evidence, ".");
	advise_idle(f, &d.advice);
	finding_add(to, FINDING_IDLE, f->granted ? FINDING_WARNING : FINDING_NOTE, &d);
}

/* ---- waiting for a core --------------------------------------------------------------------- */

static void throttled(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	say(&d.title, "its CPU limit throttled it");
	say(&d.evidence, "tasks were stopped for %T, %% of the time.", f->throttled,
	    f->throttled / f->duration);
	say(&d.advice, "Ask for more cores, or start fewer threads");
	if (finding_runnable(f) > 0)
		say(&d.advice, ": %N were ready to run on average", finding_runnable(f));
	say(&d.advice, ".");
	finding_add(to, FINDING_WAITING, FINDING_WARNING, &d);
}

void rule_waiting(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	/* tasks that waited have also run: without CPU time nobody measured it */
	double share = f->cpu > 0 ? f->cpu_wait / (f->cpu + f->cpu_wait) : NAN;
	bool waited = share >= LIMIT(CPU_WAIT) && finding_felt(f, f->cpu_wait);

	if (f->throttled >= LIMIT(THROTTLED) * f->duration && f->throttled > 0) {
		throttled(f, to);
		return;
	}
	if (!waited && !(f->cpu_pressure >= LIMIT(CPU_PRESSURE) && isnan(share)))
		return;
	say(&d.title, "it waited for a free core");
	if (waited)
		say(&d.evidence,
		    "tasks were ready to run for %T without a core, and ran for %T (%% waiting).",
		    f->cpu_wait, f->cpu, share);
	else
		say(&d.evidence, "some task waited for a core %% of the time.", f->cpu_pressure);
	if (has_too_few_cores(f))
		advise_more_cores(f, &d.advice);
	else
		say(&d.advice,
		    "Others used the same cores, or its threads are bound to the same few: ask "
		    "for cores of its own (--exclusive) and check the binding (--cpu-bind, "
		    "OMP_PROC_BIND).");
	finding_add(to, FINDING_WAITING, FINDING_WARNING, &d);
}
