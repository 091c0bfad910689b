/* What bounded a job: how it ended, and the list of rules; see findings.h. A rule is one function
 * and one row. */
#include <math.h>
#include <string.h>

#include "analysis/findings_rules.h"
#include "core/text/text.h"

/* ---- how it ended --------------------------------------------------------------------------- */

static bool was_killed_by(const struct finding_figures *f, int *ret_signal)
{
	if (!(f->exitcode > 128 && f->exitcode < 128 + 65))
		return false;
	*ret_signal = (int)f->exitcode - 128;
	return true;
}

/* Half as much again as it had is a beginning; what it used where it had no limit is no guide. */
static void advise_more_memory(const struct finding_figures *f, struct strbuf *out)
{
	double base = f->memory_used > f->memory_limit ? f->memory_used : f->memory_limit;

	if (f->granted && f->memory_limit > 0) {
		strbuf_addstr(out, "Ask for ");
		finding_memory(out, base * 1.5);
		strbuf_addstr(out, ", or spread the job over more hosts.");
	} else if (f->memory_limit > 0) {
		strbuf_addstr(out, "Give it more than ");
		text_add_bytes(out, f->memory_limit);
		strbuf_addstr(out, " (the limit of its control group), or let it use less.");
	} else {
		strbuf_addstr(out, "Ask for more memory than it had, or spread the job over more "
				   "hosts.");
	}
}

void rule_oom(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!finding_out_of_memory(f))
		return;
	strbuf_addstr(&d.title,
		      f->oom_kills >= 1 ? "memory ran out" : "memory most likely ran out");
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
	advise_more_memory(f, &d.advice);
	finding_add(to, FINDING_OOM, FINDING_SEVERE, &d);
}

/* Who sent it is not known: batch systems end jobs at limits of time and memory by these. */
static const char *advice_for_signal(int sig)
{
	switch (sig) {
	case 9:
		return "Who killed it is not known. The batch system (sacct, job state) and the "
		       "kernel log (dmesg) tell a limit of memory or time from a person.";
	case 2:
	case 15:
	case 24:
		return "If its time limit ended it, ask for more time than it took; if a person "
		       "did, there is nothing to change.";
	default:
		return "Run it again with `ulimit -c unlimited` and look at the core file where "
		       "it crashed.";
	}
}

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
		strbuf_addstr(&d.advice, advice_for_signal(sig));
		finding_add(to, FINDING_KILLED, FINDING_SEVERE, &d);
	} else if (f->signalled >= 1 && !finding_out_of_memory(f)) {
		finding_processes(&d.title, f->signalled);
		strbuf_addstr(&d.title, " ended by a signal");
		finding_count(&d.evidence, f->signalled);
		strbuf_addstr(&d.evidence, " of ");
		finding_processes(&d.evidence, f->processes);
		if (f->signals && *f->signals)
			strbuf_addf(&d.evidence, ": %s", f->signals);
		strbuf_addstr(&d.evidence, "; the job itself did not end by one.");
		strbuf_addf(&d.advice,
			    "See which with `plimsoll procs %s --failed`; those that the job's "
			    "own scripts end need no change.",
			    finding_job(f));
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
			strbuf_addf(&d.evidence, ", %s with %.0f as the job", f->failed_name,
				    f->exitcode);
		strbuf_addstr(&d.evidence, ".");
	} else if (many) {
		finding_processes(&d.title, f->failed);
		strbuf_addstr(&d.title, " failed");
		failed_of(&d.evidence, f);
		strbuf_addstr(&d.evidence, ", and the job went on.");
	} else {
		return;
	}
	if (f->failed >= 1)
		strbuf_addf(&d.advice, "List them with `plimsoll procs %s --failed`",
			    finding_job(f));
	else if (f->failed == 0)
		strbuf_addstr(&d.advice, "Look at what it printed: the processes that are known "
					 "ended well");
	else
		strbuf_addstr(&d.advice, "Look at what it printed; `plimsoll run` also records how "
					 "each of its processes ended");
	if (f->exitcode > 0 && f->failed >= 1)
		strbuf_addf(&d.advice, ": look first at the last one with status %.0f",
			    f->exitcode);
	strbuf_addch(&d.advice, '.');
	finding_add(to, FINDING_FAILED,
		    f->exitcode == 0 || isnan(f->exitcode) ? FINDING_NOTE : FINDING_SEVERE, &d);
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
		return f->weight > FINDING_NOTE || str_prefix(f->title, FINDING_BOUND);
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
		strbuf_addstr(&d.advice,
			      to->count ? "See below what else stands out."
					: "Nothing needs a change that such a short run shows.");
	} else if (f->unseen >= 1) {
		strbuf_addstr(&d.title, "too little is known to say what bounded it");
		strbuf_addstr(&d.evidence, "The CPU time and memory of ");
		finding_processes(&d.evidence, f->unseen);
		strbuf_addstr(&d.evidence, " are not known: nobody saw the end, which a signal "
					   "made or which was still to come.");
		strbuf_addstr(&d.advice, "Start the next one with `plimsoll run`: it sees how "
					 "every process ends.");
	} else {
		strbuf_addstr(&d.title, "too little is known to say what bounded it");
		strbuf_addstr(&d.evidence, isnan(f->cpu) ? "No CPU time was recorded or sampled."
							 : "Its duration is not known.");
		strbuf_addstr(&d.advice, "Record the next one with `plimsoll run --sample 1s`.");
	}
	finding_add(to, FINDING_BOOKS, FINDING_NOTE, &d);
}

/* A node does not end, and nothing bounds it: how busy it was. */
static void rule_node(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (isnan(f->node_busy)) {
		strbuf_addstr(&d.title, "how busy the node was is not known");
		strbuf_addstr(&d.evidence, "Its own CPU time was not sampled.");
		strbuf_addstr(&d.advice, "Let `plimsoll node` read the source system there.");
		finding_add(to, FINDING_BOOKS, FINDING_NOTE, &d);
		return;
	}
	strbuf_addf(&d.title, "the node was %.0f %% busy", percent(f->node_busy));
	if (f->cores > 0) {
		finding_number(&d.evidence, f->node_busy * f->cores);
		strbuf_addf(&d.evidence, " of its %.0f cores were busy on average, ", f->cores);
		finding_number(&d.evidence, f->node_peak * f->cores);
		strbuf_addstr(&d.evidence, " at most.");
	} else {
		strbuf_addf(&d.evidence,
			    "%.0f %% of its CPU time was used on average, %.0f %% at most.",
			    percent(f->node_busy), percent(f->node_peak));
	}
	strbuf_addf(&d.advice,
		    "What jobs did there is in their own reports: `plimsoll list --host %s` "
		    "names them.",
		    f->node);
	finding_add(to, FINDING_CPU, FINDING_NOTE, &d);
}

/* "; tasks waited 2 s for a core, 1 s for storage": as far as it is known. */
static void add_waits(const struct finding_figures *f, struct strbuf *out)
{
	const struct {
		double s;
		const char *what;
	} waits[] = {{f->cpu_wait, " for a core"}, {f->io_wait, " for storage"}};
	const char *between = "; tasks waited ";

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		if (!(waits[i].s > 0))
			continue;
		strbuf_addstr(out, between);
		text_add_duration(out, waits[i].s);
		strbuf_addstr(out, waits[i].what);
		between = ", ";
	}
}

/* Every job has a verdict on what took its time, and be it that nothing stands out. */
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
	strbuf_addstr(&d.title, computed && alone
					? "computing took most of the time, nothing stands out"
				: computed ? "computing took most of the time"
				: stored   ? "it mostly waited, most likely for storage"
				: sure     ? "it mostly waited, and not for the machine"
				: no_core  ? "it mostly waited, and not for a core"
					   : "it mostly waited; what for is not known");
	finding_add_busy(f, &d.evidence);
	if (!computed && stored) {
		strbuf_addstr(&d.evidence, ", while ");
		text_add_bytes(&d.evidence, moved);
		strbuf_addstr(&d.evidence, " went to and from storage (");
		text_add_bytes(&d.evidence, moved / f->duration);
		strbuf_addstr(&d.evidence, "/s)");
	} else {
		finding_add_top(f, &d.evidence);
		if (!computed)
			add_waits(f, &d.evidence);
	}
	strbuf_addstr(&d.evidence, ".");
	if (computed)
		strbuf_addf(&d.advice, "%s`plimsoll tree %s` shows where the time went.",
			    alone ? "Nothing needs a change; " : "", finding_job(f));
	else if (stored)
		strbuf_addstr(&d.advice, "Keep intermediate files on the node's own disk ($TMPDIR) "
					 "and copy only results.");
	else {
		finding_add_where(f, &d.advice);
		strbuf_addstr(&d.advice, ": it slept then, or waited for other jobs, the network "
					 "or a person.");
	}
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
