/* What bounded a job; see findings.h. A rule is one function and one row. */
#include "analysis/findings.h"

#include <math.h>
#include <string.h>

#include "core/text.h"

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)
#define LIMIT(id) (finding_limits[LIMIT_##id].value)

/* ---- words ---------------------------------------------------------------------------------- */

/* A finding that is being written; texts are strbufs until it is complete. */
struct draft {
	struct strbuf title, evidence, advice;
};
#define DRAFT_INIT                                    \
	{                                             \
		STRBUF_INIT, STRBUF_INIT, STRBUF_INIT \
	}

static void draft_release(struct draft *d)
{
	strbuf_release(&d->title);
	strbuf_release(&d->evidence);
	strbuf_release(&d->advice);
}
#define _cleanup_draft_ _cleanup_(draft_release)

static void add(struct findings *to, enum finding_kind kind, enum finding_weight weight,
		struct draft *d)
{
	GROW(to->list, to->count, to->cap);
	to->list[to->count++] =
		(struct finding){kind, weight, strbuf_take(&d->title), strbuf_take(&d->evidence),
				 strbuf_take(&d->advice)};
}

/* Whole numbers as they are, others with one digit behind the point. */
static void number(struct strbuf *out, double v)
{
	strbuf_addf(out, v >= 99.5 || v == (double)(int64_t)v ? "%.0f" : "%.1f", v);
}

static double percent(double part)
{
	return part * 100;
}

/* A size that Slurm takes, at least what is asked for: whole GiB, or MiB below 4 GiB. */
static void memory_option(struct strbuf *out, double bytes)
{
	if (bytes > 4 * GIB)
		strbuf_addf(out, "--mem=%lldG", (long long)((bytes + GIB - 1) / GIB));
	else
		strbuf_addf(out, "--mem=%lldM",
			    (long long)((bytes + 64 * MIB - 1) / (64 * MIB)) * 64);
}

static double rounded_up(double v)
{
	double whole = (double)(int64_t)v;

	return whole < v ? whole + 1 : whole;
}

/* CPUs busy on average, NAN where not known. */
static double busy(const struct finding_figures *f)
{
	return f->duration > 0 ? f->cpu / f->duration : NAN;
}

static bool was_killed_by(const struct finding_figures *f, int *ret_signal)
{
	if (!(f->exitcode > 128 && f->exitcode < 128 + 65))
		return false;
	*ret_signal = (int)f->exitcode - 128;
	return true;
}

/* ---- how it ended --------------------------------------------------------------------------- */

static bool out_of_memory(const struct finding_figures *f)
{
	return f->oom_kills >= 1 ||
	       (f->killed >= 1 && f->memory_used >= LIMIT(MEMORY_NEAR) * f->memory_limit);
}

static void rule_oom(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	/* what it used is no more than it was given: half as much again is a beginning */
	double base = f->memory_limit > 0 ? f->memory_limit : f->memory_used;

	if (!out_of_memory(f))
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
		memory_option(&d.advice, base * 1.5);
		strbuf_addstr(&d.advice, ", or spread the job over more hosts.");
	} else {
		strbuf_addstr(&d.advice, "Ask for more memory with --mem, or spread the job over "
					 "more hosts.");
	}
	add(to, FINDING_OOM, FINDING_SEVERE, &d);
}

/* SIGTERM and SIGXCPU are how limits of time end a job. */
static void rule_killed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	int sig = 0;

	if (was_killed_by(f, &sig) && !out_of_memory(f)) {
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
				rounded_up(f->duration * 1.5 / 60));
		else
			strbuf_addstr(&d.advice, "Run it again with `ulimit -c unlimited` and look "
						 "at the core file where it crashed.");
		add(to, FINDING_KILLED, FINDING_SEVERE, &d);
	} else if (f->signalled >= 1 && !out_of_memory(f)) {
		strbuf_addf(&d.title, "%.0f process%s ended by a signal", f->signalled,
			    f->signalled < 2 ? "" : "es");
		strbuf_addf(&d.evidence, "%.0f of %.0f processes", f->signalled, f->processes);
		if (f->killed_name && *f->killed_name)
			strbuf_addf(&d.evidence, ", %s by SIGKILL", f->killed_name);
		strbuf_addstr(&d.evidence, "; the job itself did not end by one.");
		strbuf_addstr(&d.advice, "See which with `plimsoll procs JOB --failed`; those that "
					 "the job's own scripts end need no change.");
		add(to, FINDING_KILLED, FINDING_NOTE, &d);
	}
}

static void rule_failed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool many =
		f->failed >= LIMIT(FAILED_COUNT) && f->failed >= LIMIT(FAILED_SHARE) * f->processes;
	int sig;

	if (f->exitcode > 0 || f->exitcode < 0) {
		if (was_killed_by(f, &sig) || out_of_memory(f))
			return;
		strbuf_addf(&d.title, "it failed with exit status %.0f", f->exitcode);
		if (f->failed >= 1)
			strbuf_addf(&d.evidence,
				    "%.0f of %.0f processes ended with a status other than 0",
				    f->failed, f->processes);
		else
			strbuf_addf(&d.evidence, "the job's own exit status is %.0f", f->exitcode);
		if (f->failed_name && *f->failed_name)
			strbuf_addf(&d.evidence, ", the last of them %s", f->failed_name);
		strbuf_addstr(&d.evidence, ".");
	} else if (many) {
		strbuf_addf(&d.title, "%.0f processes failed", f->failed);
		strbuf_addf(&d.evidence,
			    "%.1f %% of %.0f processes ended with a status other than 0",
			    percent(f->failed / f->processes), f->processes);
		strbuf_addstr(&d.evidence, ", and the job went on.");
	} else {
		return;
	}
	strbuf_addstr(&d.advice,
		      "List them with `plimsoll procs JOB --failed`, and mend the first.");
	add(to, FINDING_FAILED,
	    f->exitcode == 0 || isnan(f->exitcode) ? FINDING_NOTE : FINDING_SEVERE, &d);
}

/* ---- CPU ------------------------------------------------------------------------------------ */

static void add_top(const struct finding_figures *f, struct strbuf *out)
{
	if (f->top_name && *f->top_name && f->top_share > 0)
		strbuf_addf(out, "; %s used %.0f %% of it", f->top_name, percent(f->top_share));
}

static void rule_cpu(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(busy(f) >= LIMIT(CPU_BOUND) * f->cores))
		return;
	strbuf_addstr(&d.title, "computing bounded it");
	number(&d.evidence, busy(f));
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
	add(to, FINDING_CPU, FINDING_NOTE, &d);
}

static void rule_system(const struct finding_figures *f, struct findings *to)
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
	add(to, FINDING_CPU, FINDING_NOTE, &d);
}

/* What would have been enough: the most at one time where it is known, else the mean and a bit. */
static double enough_cores(const struct finding_figures *f)
{
	double n = rounded_up(f->cpu_peak > 0 ? f->cpu_peak * 0.98 : busy(f) * 1.1);

	return n < 1 ? 1 : n;
}

static void rule_idle(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double idle = f->cores - busy(f), enough;

	if (!(f->cores >= 2 && busy(f) < LIMIT(IDLE) * f->cores && f->duration > 0))
		return;
	number(&d.title, idle);
	strbuf_addf(&d.title, " of %.0f cores had nothing to do", f->cores);
	number(&d.evidence, busy(f));
	strbuf_addf(&d.evidence, " of %.0f cores were busy on average (%.0f %%)", f->cores,
		    percent(busy(f) / f->cores));
	if (f->cpu_peak > 0) {
		strbuf_addstr(&d.evidence, ", at most ");
		number(&d.evidence, f->cpu_peak);
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
			    rounded_up(f->cores / enough));
	else
		strbuf_addstr(&d.advice,
			      "It used all of them at times: run its serial part in a job of "
			      "its own with -c 1.");
	add(to, FINDING_IDLE, f->granted ? FINDING_WARNING : FINDING_NOTE, &d);
}

static void rule_waiting(const struct finding_figures *f, struct findings *to)
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
		add(to, FINDING_WAITING, FINDING_WARNING, &d);
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
	add(to, FINDING_WAITING, FINDING_WARNING, &d);
}

/* ---- storage, network and memory ------------------------------------------------------------ */

static void rule_io(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double share = f->cpu + f->io_wait > 0 ? f->io_wait / (f->cpu + f->io_wait) : NAN;
	bool waited = share >= LIMIT(IO_WAIT) && f->io_wait >= 1;

	if (!waited && !(f->io_pressure >= LIMIT(IO_PRESSURE)))
		return;
	strbuf_addstr(&d.title, "storage bounded it");
	if (waited) {
		strbuf_addstr(&d.evidence, "tasks waited ");
		text_add_duration(&d.evidence, f->io_wait);
		strbuf_addstr(&d.evidence, " for storage, beside ");
		text_add_duration(&d.evidence, f->cpu);
		strbuf_addstr(&d.evidence, " of CPU");
	} else {
		strbuf_addf(&d.evidence, "some task waited for storage %.0f %% of the time",
			    percent(f->io_pressure));
	}
	if (f->stored_read > 0 || f->stored_written > 0) {
		strbuf_addstr(&d.evidence, "; ");
		text_add_bytes(&d.evidence, f->stored_read > 0 ? f->stored_read : 0);
		strbuf_addstr(&d.evidence, " read, ");
		text_add_bytes(&d.evidence, f->stored_written > 0 ? f->stored_written : 0);
		strbuf_addstr(&d.evidence, " written");
	}
	strbuf_addstr(&d.evidence, ".");
	strbuf_addstr(&d.advice,
		      f->stored_read > f->stored_written
			      ? "Copy the input to the node's own disk or to /dev/shm first."
			      : "Write to the node's own disk ($TMPDIR) and copy the result "
				"away at the end.");
	add(to, FINDING_IO, FINDING_WARNING, &d);
}

static void rule_small_calls(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool reads = f->reads >= LIMIT(CALL_RATE) * f->duration &&
		     f->read_bytes < LIMIT(CALL_SIZE) * f->reads;
	bool writes = f->writes >= LIMIT(CALL_RATE) * f->duration &&
		      f->write_bytes < LIMIT(CALL_SIZE) * f->writes;
	double calls = reads ? f->reads : f->writes, bytes = reads ? f->read_bytes : f->write_bytes;

	if (!(f->duration >= 1) || (!reads && !writes))
		return;
	strbuf_addf(&d.title, "it %s in very small pieces", reads ? "read" : "wrote");
	strbuf_addf(&d.evidence, "%.0f system calls a second moved %.0f bytes each.",
		    calls / f->duration, bytes / calls);
	strbuf_addstr(&d.advice,
		      "Let it use a buffer of 1 MiB (setvbuf, dd bs=1M, larger records).");
	add(to, FINDING_IO, FINDING_NOTE, &d);
}

static void rule_network(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(f->network_rate >= LIMIT(NETWORK) * f->network_speed))
		return;
	strbuf_addstr(&d.title, "the network bounded it");
	text_add_bytes(&d.evidence, f->network_rate);
	strbuf_addf(&d.evidence, "/s on average, %.0f %% of what the link can do.",
		    percent(f->network_rate / f->network_speed));
	strbuf_addstr(&d.advice, "Put ranks that talk to each other on one host, or send larger "
				 "messages less often.");
	add(to, FINDING_NETWORK, FINDING_WARNING, &d);
}

static void rule_memory(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool near = f->memory_used >= LIMIT(MEMORY_NEAR) * f->memory_limit;
	bool swapped = f->swap_used > 0 && f->swap_used >= LIMIT(SWAP) * f->memory_used;
	bool pressed = f->memory_pressure >= LIMIT(MEMORY_PRESSURE);
	bool faulted = f->duration >= 1 && f->major_faults >= LIMIT(FAULTS) * f->duration;

	if (out_of_memory(f) || (!near && !swapped && !pressed && !faulted))
		return;
	strbuf_addstr(&d.title, near      ? "its memory was nearly full"
				: swapped ? "part of its memory was on a disk"
				: pressed ? "it waited for memory"
					  : "it read its memory from a disk");
	if (f->memory_used > 0) {
		text_add_bytes(&d.evidence, f->memory_used);
		strbuf_addstr(&d.evidence, " in use");
	}
	if (near) {
		strbuf_addstr(&d.evidence, " of ");
		text_add_bytes(&d.evidence, f->memory_limit);
		strbuf_addf(&d.evidence, " (%.0f %%)", percent(f->memory_used / f->memory_limit));
	}
	if (swapped) {
		strbuf_addstr(&d.evidence, d.evidence.len ? ", " : "");
		text_add_bytes(&d.evidence, f->swap_used);
		strbuf_addstr(&d.evidence, " swapped out");
	}
	if (pressed)
		strbuf_addf(&d.evidence, "%ssome task waited for memory %.0f %% of the time",
			    d.evidence.len ? ", " : "", percent(f->memory_pressure));
	if (faulted)
		strbuf_addf(&d.evidence, "%s%.0f page faults a second read from a disk",
			    d.evidence.len ? ", " : "", f->major_faults / f->duration);
	strbuf_addstr(&d.evidence, ".");
	double base = f->memory_used > f->memory_limit || isnan(f->memory_limit) ? f->memory_used
										 : f->memory_limit;
	if (base > 0) {
		strbuf_addstr(&d.advice, "Ask for ");
		memory_option(&d.advice, base * 1.25);
		strbuf_addstr(&d.advice, ".");
	} else {
		strbuf_addstr(&d.advice, "Ask for more memory with --mem.");
	}
	add(to, FINDING_MEMORY, FINDING_WARNING, &d);
}

static void rule_spare_memory(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(f->granted && f->memory_limit >= LIMIT(MEMORY_SMALL) && f->memory_used > 0 &&
	      f->memory_used < LIMIT(MEMORY_SPARE) * f->memory_limit))
		return;
	strbuf_addstr(&d.title, "most of its memory was not used");
	text_add_bytes(&d.evidence, f->memory_used);
	strbuf_addstr(&d.evidence, " in use at most, of ");
	text_add_bytes(&d.evidence, f->memory_limit);
	strbuf_addf(&d.evidence, " (%.0f %%).", percent(f->memory_used / f->memory_limit));
	strbuf_addstr(&d.advice, "Ask for ");
	memory_option(&d.advice, f->memory_used * 1.25);
	strbuf_addstr(&d.advice, ": it starts sooner, and others can run beside it.");
	add(to, FINDING_MEMORY, FINDING_NOTE, &d);
}

/* ---- parts of it ---------------------------------------------------------------------------- */

static void uneven(struct findings *to, const char *what, double count, double mean, double most,
		   const char *name, double limit, const char *advice)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(count >= 2 && mean >= LIMIT(UNEVEN_CPU) && most >= limit * mean))
		return;
	strbuf_addf(&d.title, "its %s had unequal work", what);
	/* one of the "ranks" */
	strbuf_addf(&d.evidence, "%.*s %s used ", (int)strlen(what) - 1, what, name ? name : "?");
	text_add_duration(&d.evidence, most);
	strbuf_addstr(&d.evidence, " of CPU, ");
	text_add_duration(&d.evidence, mean);
	strbuf_addf(&d.evidence,
		    " is the mean of %.0f: the others waited up to %.0f %% of the time.", count,
		    percent(1 - mean / most));
	strbuf_addstr(&d.advice, advice);
	add(to, FINDING_IMBALANCE, FINDING_WARNING, &d);
}

static void rule_ranks(const struct finding_figures *f, struct findings *to)
{
	uneven(to, "ranks", f->ranks, f->rank_mean, f->rank_most, f->rank_name, LIMIT(RANKS),
	       "Divide the work again so that this rank has less, or let idle ranks take work from "
	       "it.");
}

static void rule_hosts(const struct finding_figures *f, struct findings *to)
{
	uneven(to, "hosts", f->hosts, f->host_mean, f->host_most, f->host_name, LIMIT(HOSTS),
	       "Spread the ranks evenly (--ntasks-per-node), or ask for fewer hosts.");
}

static void rule_short(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(f->processes >= LIMIT(BRIEF_COUNT) && f->brief >= LIMIT(BRIEF_SHARE) * f->processes &&
	      f->processes >= LIMIT(BRIEF_RATE) * f->duration))
		return;
	strbuf_addf(&d.title, "%.0f very short processes", f->brief);
	strbuf_addf(&d.evidence, "%.0f %% of %.0f processes lived less than 0.1 s",
		    percent(f->brief / f->processes), f->processes);
	if (f->brief_cpu > 0 && f->cpu > 0)
		strbuf_addf(&d.evidence, " and used %.0f %% of the CPU",
			    percent(f->brief_cpu / f->cpu));
	strbuf_addf(&d.evidence, "; %.1f were started a second.", f->processes / f->duration);
	if (f->brief_name && *f->brief_name)
		strbuf_addf(&d.advice,
			    "Most of them are %s: replace the loop that starts it by one call "
			    "over all items.",
			    f->brief_name);
	else
		strbuf_addstr(&d.advice,
			      "Replace loops that start programs by one call over all items.");
	add(to, FINDING_SHORT, FINDING_WARNING, &d);
}

static void rule_gpu(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool idle = f->gpus >= 1 && f->gpus_idle >= 1;

	if (!idle && !(f->gpus >= 1 && f->gpu_busy < LIMIT(GPU_LOW)))
		return;
	if (idle)
		strbuf_addf(&d.title, "%.0f of %.0f GPU%s had nothing to do", f->gpus_idle, f->gpus,
			    f->gpus < 2 ? "" : "s");
	else
		strbuf_addf(&d.title, "the GPU%s waited most of the time", f->gpus < 2 ? "" : "s");
	strbuf_addf(&d.evidence, "%.0f GPU%s busy %.0f %% of the time on average.", f->gpus,
		    f->gpus < 2 ? " was" : "s were", percent(f->gpu_busy));
	if (idle && f->gpus_idle < f->gpus)
		strbuf_addf(&d.advice, "Ask for --gpus=%.0f, or let the program use all of them.",
			    f->gpus - f->gpus_idle);
	else if (idle)
		strbuf_addstr(&d.advice,
			      "Ask for no GPU, or check that the program was built to use "
			      "one (CUDA_VISIBLE_DEVICES).");
	else
		strbuf_addstr(&d.advice, "Feed them faster: more processes that load data, larger "
					 "batches.");
	add(to, FINDING_GPU, idle ? FINDING_WARNING : FINDING_NOTE, &d);
}

static void rule_books(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double residue = f->books_total - f->books_itemised;

	if (!(f->books_total >= LIMIT(BOOKS_CPU) && residue >= LIMIT(BOOKS) * f->books_total))
		return;
	strbuf_addf(&d.title, "%.0f %% of the CPU time is not itemised",
		    percent(residue / f->books_total));
	text_add_duration(&d.evidence, f->books_itemised);
	strbuf_addstr(&d.evidence, " of ");
	text_add_duration(&d.evidence, f->books_total);
	strbuf_addstr(&d.evidence, " of CPU belong to processes that are known.");
	strbuf_addstr(&d.advice, "Let `plimsoll check` say what is missing; static programs and "
				 "killed ones need the kernel's help (taskstats).");
	add(to, FINDING_BOOKS, FINDING_NOTE, &d);
}

/* ---- what is left --------------------------------------------------------------------------- */

/* Every job has a verdict on what took its time, and be it that nothing stands out. */
static void rule_rest(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	for (size_t i = 0; i < to->count; i++)
		if (to->list[i].kind != FINDING_BOOKS &&
		    !(to->list[i].kind == FINDING_KILLED && to->list[i].weight == FINDING_NOTE) &&
		    !(to->list[i].kind == FINDING_FAILED && to->list[i].weight == FINDING_NOTE))
			return;
	if (!(f->duration > 0) || isnan(f->cpu)) {
		strbuf_addstr(&d.title, "too little is known to say what bounded it");
		strbuf_addstr(&d.evidence, isnan(f->cpu) ? "No CPU time was recorded or sampled."
							 : "Its duration is not known.");
		strbuf_addstr(&d.advice, "Record the next one with `plimsoll run --sample 1s`.");
		add(to, FINDING_BOOKS, FINDING_NOTE, &d);
		return;
	}
	bool mostly = busy(f) >= LIMIT(IDLE) * (f->cores > 0 ? f->cores : 1);
	strbuf_addstr(&d.title, mostly ? "computing took most of the time, nothing stands out"
				       : "it mostly waited, and not for the machine");
	number(&d.evidence, busy(f));
	if (f->cores > 0)
		strbuf_addf(&d.evidence, " of %.0f core%s busy on average", f->cores,
			    f->cores < 2 ? " was" : "s were");
	else
		strbuf_addstr(&d.evidence, " cores were busy on average");
	add_top(f, &d.evidence);
	strbuf_addstr(&d.evidence, ".");
	if (mostly)
		strbuf_addstr(&d.advice,
			      "Nothing needs a change; `plimsoll tree JOB` shows where the "
			      "time went.");
	else
		strbuf_addstr(&d.advice,
			      "Look at the gaps in its time line for what it slept or waited "
			      "for: other jobs, the network, a person.");
	add(to, mostly ? FINDING_CPU : FINDING_IDLE, FINDING_NOTE, &d);
}

/* In the order in which findings of the same weight are told. */
static void (*const rules[])(const struct finding_figures *f, struct findings *to) = {
	rule_oom,   rule_killed,      rule_failed,  rule_io,           rule_memory, rule_waiting,
	rule_ranks, rule_hosts,       rule_network, rule_gpu,          rule_idle,   rule_short,
	rule_cpu,   rule_small_calls, rule_system,  rule_spare_memory, rule_books,  rule_rest,
};

void findings_find(struct findings *to, const struct finding_figures *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		rules[i](f, to);
	/* few: an insertion keeps the order within a weight */
	for (size_t i = 1; i < to->count; i++) {
		struct finding one = to->list[i];
		size_t at = i;

		for (; at && to->list[at - 1].weight < one.weight; at--)
			to->list[at] = to->list[at - 1];
		to->list[at] = one;
	}
}
