/* What bounded a job: how it ended, CPU, and the list of rules; see findings.h. A rule is one
 * function and one row. */
#include <math.h>
#include <string.h>

#include "analysis/findings_rules.h"
#include "core/text.h"

#define BOUND "computing bounded it"

/* ---- how it ended --------------------------------------------------------------------------- */

static bool was_killed_by(const struct finding_figures *f, int *ret_signal)
{
	if (!(f->exitcode > 128 && f->exitcode < 128 + 65))
		return false;
	*ret_signal = (int)f->exitcode - 128;
	return true;
}

void rule_oom(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	/* what it used is no more than it was given: half as much again is a beginning */
	double base = f->memory_limit > 0 ? f->memory_limit : f->memory_used;

	if (!finding_out_of_memory(f))
		return;
	strbuf_addstr(&d.title, "memory ran out");
	if (f->oom_kills >= 1)
		strbuf_addf(&d.evidence,
			    "the kernel killed %.0f process%s because memory was short",
			    f->oom_kills, f->oom_kills < 2 ? "" : "es");
	else
		strbuf_addf(&d.evidence, "%.0f process%s ended by SIGKILL", f->killed,
			    f->killed < 2 ? " was" : "es were");
	if (f->memory_used > 0) {
		strbuf_addstr(&d.evidence, "; ");
		text_add_bytes(&d.evidence, f->memory_used);
		strbuf_addstr(&d.evidence, " in use");
	}
	if (f->memory_limit > 0) {
		strbuf_addstr(&d.evidence, f->memory_used > 0 ? " of " : "; the limit was ");
		text_add_bytes(&d.evidence, f->memory_limit);
	}
	strbuf_addstr(&d.evidence, ".");
	if (base > 0) {
		strbuf_addstr(&d.advice, "Ask for ");
		finding_memory(&d.advice, base * 1.5);
		strbuf_addstr(&d.advice, ", or spread the job over more hosts.");
	} else {
		strbuf_addstr(&d.advice, "Ask for more memory with --mem, or spread the job over "
					 "more hosts.");
	}
	finding_add(to, FINDING_OOM, FINDING_SEVERE, &d);
}

/* SIGTERM and SIGXCPU are how limits of time end a job. */
void rule_killed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	int sig = 0;

	if (was_killed_by(f, &sig) && !finding_out_of_memory(f)) {
		strbuf_addf(&d.title, "ended by signal %d (%s)", sig, strsignal(sig));
		strbuf_addf(&d.evidence, "its exit status is %.0f", f->exitcode);
		if (f->duration > 0) {
			strbuf_addstr(&d.evidence, " after ");
			text_add_duration(&d.evidence, f->duration);
		}
		strbuf_addstr(&d.evidence, ".");
		if ((sig == 15 || sig == 24 || sig == 9) && f->duration > 0)
			strbuf_addf(
				&d.advice,
				"If a limit of time ended it, ask for --time=%.0f (minutes); if a "
				"person did, there is nothing to change.",
				finding_up(f->duration * 1.5 / 60));
		else
			strbuf_addstr(&d.advice, "Run it again with `ulimit -c unlimited` and look "
						 "at the core file where it crashed.");
		finding_add(to, FINDING_KILLED, FINDING_SEVERE, &d);
	} else if (f->signalled >= 1 && !finding_out_of_memory(f)) {
		finding_processes(&d.title, f->signalled);
		strbuf_addstr(&d.title, " ended by a signal");
		finding_count(&d.evidence, f->signalled);
		strbuf_addstr(&d.evidence, " of ");
		finding_processes(&d.evidence, f->processes);
		if (f->killed_name && *f->killed_name)
			strbuf_addf(&d.evidence, ", %s by SIGKILL", f->killed_name);
		strbuf_addstr(&d.evidence, "; the job itself did not end by one.");
		strbuf_addstr(&d.advice, "See which with `plimsoll procs JOB --failed`; those that "
					 "the job's own scripts end need no change.");
		finding_add(to, FINDING_KILLED, FINDING_NOTE, &d);
	}
}

static void failed_of(struct strbuf *out, const struct finding_figures *f)
{
	finding_count(out, f->failed);
	strbuf_addstr(out, " of ");
	finding_processes(out, f->processes);
	strbuf_addstr(out, " ended with a status other than 0");
}

void rule_failed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool many =
		f->failed >= LIMIT(FAILED_COUNT) && f->failed >= LIMIT(FAILED_SHARE) * f->processes;
	int sig;

	if (f->exitcode > 0 || f->exitcode < 0) {
		if (was_killed_by(f, &sig) || finding_out_of_memory(f))
			return;
		strbuf_addf(&d.title, "it failed with exit status %.0f", f->exitcode);
		if (f->failed >= 1)
			failed_of(&d.evidence, f);
		else
			strbuf_addf(&d.evidence, "the job's own exit status is %.0f", f->exitcode);
		if (f->failed_name && *f->failed_name)
			strbuf_addf(&d.evidence, ", the last of them %s", f->failed_name);
		strbuf_addstr(&d.evidence, ".");
	} else if (many) {
		finding_processes(&d.title, f->failed);
		strbuf_addstr(&d.title, " failed");
		failed_of(&d.evidence, f);
		strbuf_addstr(&d.evidence, ", and the job went on.");
	} else {
		return;
	}
	strbuf_addstr(&d.advice,
		      "List them with `plimsoll procs JOB --failed`, and mend the first.");
	finding_add(to, FINDING_FAILED,
		    f->exitcode == 0 || isnan(f->exitcode) ? FINDING_NOTE : FINDING_SEVERE, &d);
}

/* ---- CPU ------------------------------------------------------------------------------------ */

static void add_top(const struct finding_figures *f, struct strbuf *out)
{
	if (f->top_name && *f->top_name && f->top_share > 0)
		strbuf_addf(out, "; %s used %.0f %% of it", f->top_name, percent(f->top_share));
}

void rule_cpu(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(finding_busy(f) >= LIMIT(CPU_BOUND) * f->cores))
		return;
	strbuf_addstr(&d.title, BOUND);
	finding_number(&d.evidence, finding_busy(f));
	strbuf_addf(&d.evidence, " of %.0f core%s busy on average", f->cores,
		    f->cores < 2 ? " was" : "s were");
	add_top(f, &d.evidence);
	strbuf_addstr(&d.evidence, ".");
	if (f->threads_peak > f->cores)
		strbuf_addf(&d.advice,
			    "Up to %.0f threads were there: more cores (-c %.0f) would make "
			    "it shorter.",
			    f->threads_peak, f->threads_peak);
	else if (f->top_name && *f->top_name)
		strbuf_addf(&d.advice,
			    "Make %s faster (compiler flags, libraries, threads): the rest "
			    "matters little.",
			    f->top_name);
	else
		strbuf_addstr(&d.advice,
			      "Faster code or more cores make it shorter; nothing else will.");
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

/* What would have been enough: the most at one time where it is known, else the mean and a bit. */
static double enough_cores(const struct finding_figures *f)
{
	double n = finding_up(f->cpu_peak > 0 ? f->cpu_peak * 0.98 : finding_busy(f) * 1.1);

	return n < 1 ? 1 : n;
}

void rule_idle(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double idle = f->cores - finding_busy(f), enough;

	if (!(f->cores >= 2 && finding_busy(f) < LIMIT(IDLE) * f->cores) ||
	    !(f->duration >= (f->granted ? 0 : LIMIT(IDLE_TIME))))
		return;
	finding_number(&d.title, idle);
	strbuf_addf(&d.title, " of %.0f cores had nothing to do", f->cores);
	finding_number(&d.evidence, finding_busy(f));
	strbuf_addf(&d.evidence, " of %.0f cores were busy on average (%.0f %%)", f->cores,
		    percent(finding_busy(f) / f->cores));
	if (f->cpu_peak > 0) {
		strbuf_addstr(&d.evidence, ", at most ");
		finding_number(&d.evidence, f->cpu_peak);
	}
	strbuf_addstr(&d.evidence, ".");
	enough = enough_cores(f);
	if (enough < f->cores && f->granted)
		strbuf_addf(&d.advice,
			    "Ask for %.0f core%s (-c %.0f) instead of %.0f, or give the idle "
			    "ones work.",
			    enough, enough < 2 ? "" : "s", enough, f->cores);
	else if (enough < f->cores)
		strbuf_addf(&d.advice,
			    "Run up to %.0f of such commands at once, or let this one use more "
			    "threads.",
			    finding_up(f->cores / enough));
	else
		strbuf_addstr(&d.advice,
			      "It used all of them at times: run its serial part in a job of "
			      "its own with -c 1.");
	finding_add(to, FINDING_IDLE, f->granted ? FINDING_WARNING : FINDING_NOTE, &d);
}

void rule_waiting(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double share = f->cpu + f->cpu_wait > 0 ? f->cpu_wait / (f->cpu + f->cpu_wait) : NAN;
	bool waited = share >= LIMIT(CPU_WAIT) && f->cpu_wait >= 1;

	if (f->throttled >= LIMIT(THROTTLED) * f->duration) {
		strbuf_addstr(&d.title, "its CPU limit stopped it");
		strbuf_addstr(&d.evidence, "tasks were stopped for ");
		text_add_duration(&d.evidence, f->throttled);
		strbuf_addf(&d.evidence, ", %.0f %% of the time.",
			    percent(f->throttled / f->duration));
		if (f->threads_peak > 0)
			strbuf_addf(&d.advice,
				    "Ask for as many cores as there are threads (-c %.0f), or "
				    "start fewer threads.",
				    f->threads_peak);
		else
			strbuf_addstr(&d.advice,
				      "Ask for more cores (-c), or start fewer threads.");
		finding_add(to, FINDING_WAITING, FINDING_WARNING, &d);
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
	if (f->threads_peak > f->cores)
		strbuf_addf(&d.advice,
			    "Up to %.0f threads shared %.0f cores: ask for -c %.0f, or set "
			    "OMP_NUM_THREADS=%.0f.",
			    f->threads_peak, f->cores, f->threads_peak, f->cores);
	else
		strbuf_addstr(&d.advice, "Others used the same cores: ask for cores of its own "
					 "(--exclusive, or -c with binding).");
	finding_add(to, FINDING_WAITING, FINDING_WARNING, &d);
}

/* ---- what is left --------------------------------------------------------------------------- */

/* Does a finding say what took the time, or how it ended? */
static bool explains(const struct finding *f)
{
	switch (f->kind) {
	case FINDING_KILLED:
	case FINDING_FAILED:
		return f->weight == FINDING_SEVERE;
	case FINDING_BOOKS:
	case FINDING_SHORT:
		return false;
	case FINDING_IDLE:
		return true;
	default:
		/* notes tell of habits, and one of them that all cores were busy */
		return f->weight > FINDING_NOTE || str_prefix(f->title, BOUND);
	}
}

static void too_little(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (f->duration < LIMIT(MOMENT) && !isnan(f->cpu)) {
		strbuf_addstr(&d.title, "too short to say what bounded it");
		strbuf_addstr(&d.evidence, "It took ");
		text_add_duration(&d.evidence, f->duration);
		strbuf_addstr(&d.evidence, ", ");
		text_add_duration(&d.evidence, f->cpu);
		strbuf_addstr(&d.evidence, " of CPU.");
		strbuf_addstr(&d.advice, "Nothing needs a change.");
	} else {
		strbuf_addstr(&d.title, "too little is known to say what bounded it");
		strbuf_addstr(&d.evidence, isnan(f->cpu) ? "No CPU time was recorded or sampled."
							 : "Its duration is not known.");
		strbuf_addstr(&d.advice, "Record the next one with `plimsoll run --sample 1s`.");
	}
	finding_add(to, FINDING_BOOKS, FINDING_NOTE, &d);
}

/* Every job has a verdict on what took its time, and be it that nothing stands out. */
static void rule_rest(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double moved = (f->stored_read > 0 ? f->stored_read : 0) +
		       (f->stored_written > 0 ? f->stored_written : 0);
	bool stored = moved >= LIMIT(IO_RATE) * f->duration && isnan(f->io_wait);
	bool computed = finding_busy(f) >= LIMIT(COMPUTED);
	bool sure = !isnan(f->cpu_wait) && !isnan(f->io_wait);

	for (size_t i = 0; i < to->count; i++)
		if (explains(&to->list[i]))
			return;
	if (!(f->duration >= LIMIT(MOMENT)) || isnan(f->cpu)) {
		too_little(f, to);
		return;
	}
	strbuf_addstr(&d.title, computed ? "computing took most of the time, nothing stands out"
				: stored ? "it mostly waited, most likely for storage"
				: sure   ? "it mostly waited, and not for the machine"
					 : "it mostly waited, for what is not known");
	finding_number(&d.evidence, finding_busy(f));
	if (f->cores > 0)
		strbuf_addf(&d.evidence, " of %.0f", f->cores);
	strbuf_addstr(&d.evidence,
		      f->cores < 2 ? " core was busy on average" : " cores were busy on average");
	if (!computed && stored) {
		strbuf_addstr(&d.evidence, ", while ");
		text_add_bytes(&d.evidence, moved);
		strbuf_addstr(&d.evidence, " went to and from storage (");
		text_add_bytes(&d.evidence, moved / f->duration);
		strbuf_addstr(&d.evidence, "/s)");
	} else {
		add_top(f, &d.evidence);
	}
	strbuf_addstr(&d.evidence, ".");
	strbuf_addstr(
		&d.advice,
		computed ? "Nothing needs a change; `plimsoll tree JOB` shows where the time "
			   "went."
		: stored ? "Keep intermediate files on the node's own disk ($TMPDIR) and copy "
			   "only results."
			 : "Look at the gaps in its time line for what it slept or waited for: "
			   "other jobs, the network, a person.");
	finding_add(to,
		    computed ? FINDING_CPU
		    : stored ? FINDING_IO
			     : FINDING_IDLE,
		    stored && !computed ? FINDING_WARNING : FINDING_NOTE, &d);
}

/* In the order in which findings of the same weight are told. */
static void (*const rules[])(const struct finding_figures *f, struct findings *to) = {
	rule_oom,   rule_killed,      rule_failed,  rule_io,           rule_memory, rule_waiting,
	rule_ranks, rule_hosts,       rule_network, rule_gpu,          rule_idle,   rule_short,
	rule_cpu,   rule_small_calls, rule_system,  rule_spare_memory, rule_books,
};

void findings_find(struct findings *to, const struct finding_figures *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		rules[i](f, to);
	size_t count = to->count;
	rule_rest(f, to);
	/* what took the time goes before habits of the same weight */
	if (to->count > count) {
		struct finding rest = to->list[count];

		memmove(to->list + 1, to->list, count * sizeof(*to->list));
		to->list[0] = rest;
	}
	/* few: an insertion keeps the order within a weight */
	for (size_t i = 1; i < to->count; i++) {
		struct finding one = to->list[i];
		size_t at = i;

		for (; at && to->list[at - 1].weight < one.weight; at--)
			to->list[at] = to->list[at - 1];
		to->list[at] = one;
	}
}
