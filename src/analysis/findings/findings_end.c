/* Rules about how a job ended; see findings.h. */
#include <math.h>
#include <signal.h>
#include <string.h>

#include "analysis/findings/findings_rules.h"

static bool is_crash(int sig)
{
	return sig == SIGSEGV || sig == SIGABRT || sig == SIGBUS || sig == SIGFPE ||
	       sig == SIGILL || sig == SIGSYS || sig == SIGTRAP;
}

static bool was_ended_by(const struct finding_figures *f, int *ret_signal)
{
	if (!(f->exitcode > 128 && f->exitcode < 128 + 65))
		return false;
	*ret_signal = (int)f->exitcode - 128;
	return true;
}

static void show_failed(const struct finding_figures *f, struct draft *d)
{
	say(&d->command, "plimsoll procs %s --failed", finding_job(f));
}

/* ---- memory, time ---------------------------------------------------------------------------- */

void rule_oom(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	_cleanup_free_ char *where = finding_place(f->killed_name, f->killed_step);

	if (!finding_out_of_memory(f))
		return;
	say(&d.title,
	    f->oom_kills >= 1 ? "it ran out of memory" : "it most likely ran out of memory");
	if (f->oom_kills >= 1)
		say(&d.details, "the kernel killed %P because memory was short", f->oom_kills);
	else
		say(&d.details, "SIGKILL ended %P", f->killed);
	if (f->killed_name && *f->killed_name) {
		say(&d.details, " (%s, SIGKILL", f->killed_name);
		if (f->killed_step && *f->killed_step)
			say(&d.details, ",");
		finding_add_step(&d.details, f->killed_step);
		say(&d.details, ")");
	}
	if (f->memory_used > 0)
		say(&d.details, "; %B in use", f->memory_used);
	if (f->memory_limit > 0)
		say(&d.details, f->memory_used > 0 ? " of %B" : "; the limit was %B",
		    f->memory_limit);
	say(&d.details, ".");
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
	show_failed(f, &d);
	evidence(&d, "oom_kills", f->oom_kills, "count", where);
	evidence(&d, "memory_used", f->memory_used, "B", NULL);
	evidence(&d, "memory_limit", f->memory_limit, "B", NULL);
	finding_add(to, FINDING_OOM, FINDING_SEVERE, &d);
}

void rule_time_limit(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!f->at_time_limit)
		return;
	say(&d.title, "its time limit ended it");
	say(&d.details, "it was cut off");
	if (f->duration > 0)
		say(&d.details, " after %T", f->duration);
	if (f->time_limit > 0)
		say(&d.details, "; %T were asked for", f->time_limit);
	say(&d.details, ".");
	say(&d.advice, "Ask for more time (--time), or let it write what it has so far "
		       "(checkpoints): how long a complete run takes is unknown.");
	say(&d.command, "plimsoll where %s --over time", finding_job(f));
	evidence(&d, "duration", f->duration, "s", NULL);
	evidence(&d, "request.time", f->time_limit, "s", NULL);
	finding_add(to, FINDING_TIME_LIMIT, FINDING_SEVERE, &d);
}

/* ---- signals --------------------------------------------------------------------------------- */

void rule_crashed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	_cleanup_free_ char *where = finding_place(f->crash_name, f->crash_step);
	int sig = 0;
	bool job = was_ended_by(f, &sig) && is_crash(sig);
	bool child = f->crashed >= 1;

	if (!job && !child)
		return;
	if (!job)
		sig = f->crash_signal > 0 && f->crash_signal < 65 ? (int)f->crash_signal : SIGSEGV;
	say(&d.title, "%s crashed",
	    f->crash_name && *f->crash_name ? f->crash_name
	    : job                           ? "it"
					    : "a program");
	finding_add_step(&d.title, f->crash_step);
	strbuf_addf(&d.title, ": %s (SIG%s)", strsignal(sig),
		    sigabbrev_np(sig) ? sigabbrev_np(sig) : "?");
	if (child)
		say(&d.details, "%P of %W crashed", f->crashed,
		    f->processes >= f->crashed ? f->processes : f->crashed);
	else
		say(&d.details, "it ended with exit status %W", f->exitcode);
	if (!(f->exitcode > 0) && f->exitcode == 0)
		say(&d.details, ", and the job still ended with status 0");
	say(&d.details, ".");
	say(&d.advice, "Run it again with `ulimit -c unlimited` and look in the core file where it "
		       "crashed; what it used so far says nothing of a complete run.");
	show_failed(f, &d);
	evidence(&d, "exitsignal", sig, "signal", where);
	evidence(&d, "crashed", f->crashed, "count", NULL);
	finding_add(to, FINDING_CRASHED, FINDING_SEVERE, &d);
}

/* Batch systems end jobs at limits of time and memory by these signals; who sent one is unknown. */
static const char *advice_for_signal(int sig)
{
	if (sig == SIGKILL)
		return "Who killed it is unknown. The batch system (sacct, job state) and the kernel "
		       "log (dmesg) show whether it was a memory limit, a time limit or a person.";
	if (sig == SIGALRM)
		return "A program that sets an alarm (alarm, setitimer, `timeout -s ALRM`) and does not "
		       "handle it is ended by it: look what it was doing then.";
	return "If its time limit ended it, ask for more time than it took; if a person did, there "
	       "is nothing to change.";
}

/* It was cut off, or the exit status of the job is that of a signal. */
static void ended_by_signal(const struct finding_figures *f, struct findings *to, int sig)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	_cleanup_free_ char *where =
		sig && f->signal == sig ? finding_place(f->signal_name, f->signal_step) : NULL;

	if (sig)
		strbuf_addf(&d.title, "it was ended by signal %d (%s)", sig, strsignal(sig));
	else
		say(&d.title, "it was cut off before its end");
	say(&d.details, "the job ended");
	if (f->duration > 0)
		say(&d.details, " after %T", f->duration);
	if (sig)
		say(&d.details, " with exit status %W", f->exitcode);
	if (f->cut_off && *f->cut_off)
		say(&d.details, ": %s", f->cut_off);
	say(&d.details, ".");
	if (sig && f->signal == sig && f->signal_name && *f->signal_name) {
		say(&d.details, " The signal ended %s", f->signal_name);
		finding_add_step(&d.details, f->signal_step);
		say(&d.details, ".");
	}
	say(&d.advice, advice_for_signal(sig));
	show_failed(f, &d);
	evidence(&d, "exitcode", f->exitcode, "status", where);
	evidence(&d, "duration", f->duration, "s", NULL);
	finding_add(to, FINDING_KILLED, FINDING_SEVERE, &d);
}

/* Signals ended processes, and the job went on. */
static void ended_children(const struct finding_figures *f, struct draft *d)
{
	_cleanup_free_ char *where = finding_place(f->signal_name, f->signal_step);
	int sig = f->signal > 0 && f->signal < 65 ? (int)f->signal : 0;
	const char *name = sig ? sigabbrev_np(sig) : NULL;

	if (f->signal_name && *f->signal_name && name) {
		say(&d->title, "%s was ended by SIG%s", f->signal_name, name);
		finding_add_step(&d->title, f->signal_step);
		if (f->signalled >= 2)
			say(&d->title, ", and %P more by signals", f->signalled - 1);
	} else {
		say(&d->title, "%P ended by a signal", f->signalled);
	}
	say(&d->details, "%C of %P", f->signalled, f->processes);
	if (f->signals && *f->signals)
		say(&d->details, ": %s", f->signals);
	say(&d->details, "; the job itself was not ended by one.");
	say(&d->advice, "Processes that the job's own scripts end need no change.");
	show_failed(f, d);
	evidence(d, "signalled", f->signalled, "count", where);
}

void rule_killed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	int sig = 0;

	if (finding_out_of_memory(f) || f->at_time_limit)
		return;
	if ((was_ended_by(f, &sig) && !is_crash(sig)) ||
	    (f->cut_off && *f->cut_off && !f->end_known)) {
		ended_by_signal(f, to, is_crash(sig) ? 0 : sig);
		return;
	}
	if (!(f->signalled - (f->crashed > 0 ? f->crashed : 0) >= 1))
		return;
	ended_children(f, &d);
	finding_add(to, FINDING_KILLED, FINDING_NOTE, &d);
}

/* ---- exit status ----------------------------------------------------------------------------- */

static void failed_of(struct strbuf *out, const struct finding_figures *f)
{
	say(out, "%C of %P ended with a status other than 0", f->failed, f->processes);
}

/* GNU timeout says so by a status of its own. */
static bool is_timeout(const struct finding_figures *f)
{
	return f->exitcode == 124 && f->failed_name && !strcmp(f->failed_name, "timeout");
}

void rule_failed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	_cleanup_free_ char *where = finding_place(f->failed_name, f->failed_step);
	bool many =
		f->failed >= LIMIT(FAILED_COUNT) && f->failed >= LIMIT(FAILED_SHARE) * f->processes;
	bool failed = f->exitcode > 0 || f->exitcode < 0;
	int sig;

	if ((failed && (was_ended_by(f, &sig) || finding_out_of_memory(f))) || f->at_time_limit)
		return;
	if (!failed && !many)
		return;
	if (!failed) {
		say(&d.title, "%P failed", f->failed);
		failed_of(&d.details, f);
		say(&d.details, ", and the job went on.");
	} else {
		say(&d.title, "it failed with exit status %W", f->exitcode);
		if (f->failed_name && *f->failed_name) {
			say(&d.details, "the program %s", f->failed_name);
			finding_add_step(&d.details, f->failed_step);
			say(&d.details, " ended with status %W, as the job did", f->exitcode);
			say(&d.details,
			    f->exitcode == 127   ? " (127: a shell did not find a command)"
			    : f->exitcode == 126 ? " (126: a shell could not execute a command)"
			    : is_timeout(f)      ? " (124: the time that it was given was over)"
						 : "");
			say(&d.details, f->failed >= 1 ? "; " : "");
		}
		if (f->failed >= 1)
			failed_of(&d.details, f);
		else if (!f->failed_name || !*f->failed_name)
			say(&d.details, "the exit status of the job is %W", f->exitcode);
		say(&d.details, ".");
	}
	if (is_timeout(f))
		say(&d.advice,
		    "Give `timeout` more time than its command needs, or look what that waited for: "
		    "`plimsoll where %s`",
		    finding_job(f));
	else if (f->failed >= 1)
		say(&d.advice, "List them with `plimsoll procs %s --failed`", finding_job(f));
	else if (f->failed == 0)
		say(&d.advice, "Look at its output: all known processes ended with status 0");
	else
		say(&d.advice,
		    "Look at its output; `plimsoll run` also records how each process ended");
	if (f->exitcode > 0 && f->failed >= 1 && !is_timeout(f))
		say(&d.advice, ": look first at the last one with status %W", f->exitcode);
	say(&d.advice, ".");
	if (f->failed >= 1)
		show_failed(f, &d);
	evidence(&d, "exitcode", f->exitcode, "status", where);
	evidence(&d, "failed", f->failed, "count", NULL);
	finding_add(to, FINDING_FAILED, failed ? FINDING_SEVERE : FINDING_NOTE, &d);
}
