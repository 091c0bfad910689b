/* Findings: how the job ended, and the list of rules; see findings.h. A rule is one function and
 * one row. */
#include <math.h>
#include <string.h>

#include "analysis/findings/findings_rules.h"

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

	if (!finding_out_of_memory(f))
		return;
	say(&d.title,
	    f->oom_kills >= 1 ? "it ran out of memory" : "it most likely ran out of memory");
	if (f->oom_kills >= 1)
		say(&d.evidence, "the kernel killed %P because memory was short", f->oom_kills);
	else
		say(&d.evidence, "SIGKILL ended %P", f->killed);
	if (f->memory_used > 0)
		say(&d.evidence, "; %B in use", f->memory_used);
	if (f->memory_limit > 0)
		say(&d.evidence, f->memory_used > 0 ? " of %B" : "; the limit was %B",
		    f->memory_limit);
	say(&d.evidence, ".");
	/* half as much again is a start; without a limit, what it used says nothing */
	if (f->granted && f->memory_limit > 0)
		say(&d.advice, "Ask for %M, or spread the job over more hosts.",
		    (f->memory_used > f->memory_limit ? f->memory_used : f->memory_limit) * 1.5);
	else if (f->memory_limit > 0)
		say(&d.advice,
		    "Give it more than %B (the limit of its cgroup), or make it use less.",
		    f->memory_limit);
	else
		say(&d.advice,
		    "Ask for more memory than it had, or spread the job over more hosts.");
	finding_add(to, FINDING_OOM, FINDING_SEVERE, &d);
}

/* Batch systems end jobs at limits of time and memory by these signals; who sent one is unknown. */
static const char *advice_for_signal(int sig)
{
	switch (sig) {
	case 9:
		return "Who killed it is unknown. The batch system (sacct, job state) and the kernel "
		       "log (dmesg) show whether it was a memory limit, a time limit or a person.";
	case 2:
	case 15:
	case 24:
		return "If its time limit ended it, ask for more time than it took; if a person "
		       "did, there is nothing to change.";
	default:
		return "Run it again with `ulimit -c unlimited` and look in the core file where it "
		       "crashed.";
	}
}

void rule_killed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	int sig = 0;

	if (finding_out_of_memory(f))
		return;
	if (was_killed_by(f, &sig)) {
		strbuf_addf(&d.title, "ended by signal %d (%s)", sig, strsignal(sig));
		say(&d.evidence, "it ended");
		if (f->duration > 0)
			say(&d.evidence, " after %T", f->duration);
		say(&d.evidence, " with exit status %W.", f->exitcode);
		say(&d.advice, advice_for_signal(sig));
		finding_add(to, FINDING_KILLED, FINDING_SEVERE, &d);
	} else if (f->signalled >= 1) {
		say(&d.title, "%P ended by a signal", f->signalled);
		say(&d.evidence, "%C of %P", f->signalled, f->processes);
		if (f->signals && *f->signals)
			say(&d.evidence, ": %s", f->signals);
		say(&d.evidence, "; the job itself was not ended by one.");
		say(&d.advice,
		    "List them with `plimsoll procs %s --failed`; processes that the job's own scripts "
		    "end need no change.",
		    finding_job(f));
		finding_add(to, FINDING_KILLED, FINDING_NOTE, &d);
	}
}

static void failed_of(struct strbuf *out, const struct finding_figures *f)
{
	say(out, "%C of %P ended with a status other than 0", f->failed, f->processes);
}

void rule_failed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool many =
		f->failed >= LIMIT(FAILED_COUNT) && f->failed >= LIMIT(FAILED_SHARE) * f->processes;
	bool failed = f->exitcode > 0 || f->exitcode < 0;
	int sig;

	if (failed && (was_killed_by(f, &sig) || finding_out_of_memory(f)))
		return;
	if (!failed && !many)
		return;
	if (!failed) {
		say(&d.title, "%P failed", f->failed);
		failed_of(&d.evidence, f);
		say(&d.evidence, ", and the job went on.");
	} else {
		say(&d.title, "it failed with exit status %W", f->exitcode);
		if (f->failed >= 1)
			failed_of(&d.evidence, f);
		else
			say(&d.evidence, "the exit status of the job is %W", f->exitcode);
		if (f->failed_name && *f->failed_name)
			say(&d.evidence, ", %s with %W as the job", f->failed_name, f->exitcode);
		say(&d.evidence, ".");
	}
	if (f->failed >= 1)
		say(&d.advice, "List them with `plimsoll procs %s --failed`", finding_job(f));
	else if (f->failed == 0)
		say(&d.advice, "Look at its output: all known processes ended with status 0");
	else
		say(&d.advice,
		    "Look at its output; `plimsoll run` also records how each process ended");
	if (f->exitcode > 0 && f->failed >= 1)
		say(&d.advice, ": look first at the last one with status %W", f->exitcode);
	say(&d.advice, ".");
	finding_add(to, FINDING_FAILED,
		    f->exitcode == 0 || isnan(f->exitcode) ? FINDING_NOTE : FINDING_SEVERE, &d);
}

/* ---- jobs that no rule explains ------------------------------------------------------------- */

/* Does a finding say what took the time, or how it ended? */
static bool explains(const struct finding *f)
{
	switch (f->kind) {
	case FINDING_KILLED:
	case FINDING_FAILED:
		return f->weight == FINDING_SEVERE;
	case FINDING_ACCOUNTING:
	case FINDING_SHORT:
		return false;
	case FINDING_IDLE:
		return true;
	default:
		/* other notes are about habits, except that all cores were busy */
		return f->weight > FINDING_NOTE || str_prefix(f->title, FINDING_BOUND);
	}
}

static void too_little(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (f->duration < LIMIT(MOMENT) && !isnan(f->cpu)) {
		say(&d.title, "too short for a verdict");
		say(&d.evidence, "It took %T, %T of CPU.", f->duration, f->cpu);
		say(&d.advice, to->count ? "See below what else stands out."
					 : "Such a short run shows nothing that needs a change.");
	} else if (f->unseen >= 1) {
		say(&d.title, "too little is known for a verdict");
		say(&d.evidence,
		    "CPU time and memory of %P are unknown: a signal ended them, or their end was not "
		    "recorded yet.",
		    f->unseen);
		say(&d.advice,
		    "Start the next one with `plimsoll run`, which sees every process end.");
	} else {
		say(&d.title, "too little is known for a verdict");
		say(&d.evidence, isnan(f->cpu) ? "No CPU time was recorded or sampled."
					       : "Its duration is unknown.");
		say(&d.advice, "Record the next one with `plimsoll run --sample 1s`.");
	}
	finding_add(to, FINDING_ACCOUNTING, FINDING_NOTE, &d);
}

/* A node does not end, and nothing limits it: how busy it was. */
static void rule_node(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (isnan(f->node_busy)) {
		say(&d.title, "it is unknown how busy the node was");
		say(&d.evidence, "The CPU time of the node was not sampled.");
		say(&d.advice, "Enable the source `system` of `plimsoll node` there.");
		finding_add(to, FINDING_ACCOUNTING, FINDING_NOTE, &d);
		return;
	}
	say(&d.title, "the node was %% busy", f->node_busy);
	if (f->cores > 0)
		say(&d.evidence, "%N of its %W cores were busy on average, %N at most.",
		    f->node_busy * f->cores, f->cores, f->node_peak * f->cores);
	else
		say(&d.evidence, "%% of its CPU time was used on average, %% at most.",
		    f->node_busy, f->node_peak);
	say(&d.advice, "Its jobs have their own reports: `plimsoll list --host %s` lists them.",
	    f->node);
	finding_add(to, FINDING_CPU, FINDING_NOTE, &d);
}

/* "; tasks waited 2 s for a core, 1 s for storage", as far as known. */
static void add_waits(const struct finding_figures *f, struct strbuf *out)
{
	const char *between = "; tasks waited ";

	if (f->cpu_wait > 0) {
		say(out, "%s%T for a core", between, f->cpu_wait);
		between = ", ";
	}
	if (f->io_wait > 0)
		say(out, "%s%T for storage", between, f->io_wait);
}

/* Every job has a verdict on what took its time, even if nothing stands out. */
static void rule_rest(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double moved = (f->stored_read > 0 ? f->stored_read : 0) +
		       (f->stored_written > 0 ? f->stored_written : 0);
	bool stored = moved >= LIMIT(IO_RATE) * f->duration && isnan(f->io_wait);
	bool computed = finding_busy(f) >= LIMIT(COMPUTED);
	bool no_core = !isnan(f->cpu_wait), sure = no_core && !isnan(f->io_wait);
	bool alone = !to->count;

	for (size_t i = 0; i < to->count; i++)
		if (explains(&to->list[i]))
			return;
	if (f->node) {
		rule_node(f, to);
		return;
	}
	if (!(f->duration >= LIMIT(MOMENT)) || isnan(f->cpu)) {
		too_little(f, to);
		return;
	}
	say(&d.title, computed && alone ? "computing took most of the time, nothing stands out"
		      : computed        ? "computing took most of the time"
		      : stored          ? "it mostly waited, most likely for storage"
		      : sure            ? "it mostly waited, but not for CPU or storage"
		      : no_core         ? "it mostly waited, but not for a core"
					: "it mostly waited, for an unknown reason");
	finding_add_busy(f, &d.evidence);
	if (!computed && stored) {
		say(&d.evidence, ", while %B went to and from storage (%B/s)", moved,
		    moved / f->duration);
	} else {
		finding_add_top(f, &d.evidence);
		if (!computed)
			add_waits(f, &d.evidence);
	}
	say(&d.evidence, ".");
	if (computed)
		say(&d.advice, "%s`plimsoll tree %s` shows where the time went.",
		    alone ? "Nothing needs a change; " : "", finding_job(f));
	else if (stored)
		say(&d.advice,
		    "Keep intermediate files on the node's own disk ($TMPDIR) and copy only "
		    "results.");
	else {
		finding_add_where(f, &d.advice);
		say(&d.advice, ": it slept, or waited for other jobs, the network or a person.");
	}
	finding_add(to,
		    computed ? FINDING_CPU
		    : stored ? FINDING_IO
			     : FINDING_IDLE,
		    stored && !computed ? FINDING_WARNING : FINDING_NOTE, &d);
}

/* In the order of findings of the same weight. */
static finding_rule *const rules[] = {
	rule_oom,          rule_killed,     rule_failed, rule_io,          rule_memory,
	rule_waiting,      rule_ranks,      rule_hosts,  rule_network,     rule_gpu,
	rule_idle,         rule_short,      rule_cpu,    rule_small_calls, rule_system,
	rule_spare_memory, rule_accounting,
};

void findings_find(struct findings *to, const struct finding_figures *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		rules[i](f, to);
	size_t count = to->count;
	rule_rest(f, to);
	/* what took the time comes before habits of the same weight */
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
