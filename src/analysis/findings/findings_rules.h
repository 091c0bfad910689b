/* Shared by the files of rules; see findings.h. */
#pragma once

#include "analysis/findings/findings.h"

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)
#define LIMIT(id) (finding_limits[LIMIT_##id].value)

/* A finding that is being written. */
struct draft {
	struct strbuf title, details, advice, command;
	struct finding_evidence *evidence;
	size_t evidence_count, evidence_cap;
	double share, saving;
};
#define DRAFT_INIT                                                                              \
	{                                                                                       \
		.title = STRBUF_INIT, .details = STRBUF_INIT, .advice = STRBUF_INIT,            \
		.command = STRBUF_INIT, .share = __builtin_nan(""), .saving = __builtin_nan("") \
	}
void draft_release(struct draft *d);
#define _cleanup_draft_ _cleanup_(draft_release)

/* Takes the content of the draft. */
void finding_add(struct findings *to, enum finding_id id, enum finding_weight weight,
		 struct draft *d);
/* Adds evidence, if it is known. metric and unit are constants; where may be NULL. */
void evidence(struct draft *d, const char *metric, double value, const char *unit,
	      const char *where);
/* The same for a part of core time. */
void evidence_part(struct draft *d, const struct finding_figures *f, enum core_part part);

/*
 * Adds a sentence. %s is a text; all others are doubles: %T a duration in s, %B bytes, %N a number
 * with the digits that matter, %W a whole number, %C a count with commas, %P "2 processes", %% a
 * share as "20 %", %M a size that Slurm's --mem takes.
 */
void say(struct strbuf *out, const char *format, ...);
/* Rounded up to a whole number. */
double finding_up(double v);
/* CPUs busy on average, NAN where not known. */
double finding_busy(const struct finding_figures *f);
/* Threads that ran or were ready to run, on average; NAN where the wait for a core is unknown. */
double finding_wanted(const struct finding_figures *f);
/* "2 of 4 cores were busy on average"; "; a.out used 90 % of it" where that is known. */
void finding_add_busy(const struct finding_figures *f, struct strbuf *out);
void finding_add_top(const struct finding_figures *f, struct strbuf *out);
/* Tasks (ranks) that share the cores; -c is per task. At least 1. */
double finding_tasks(const struct finding_figures *f);
/* Its id, for commands. */
const char *finding_job(const struct finding_figures *f);
/* It completed without error, and all of it was recorded: what it used is what it needs. */
bool finding_whole(const struct finding_figures *f);
/* The advice for one that is not whole. */
void finding_add_incomplete(const struct finding_figures *f, struct strbuf *out);
/* " (-c 4)", or " (-c 2 for each of 4 ranks)": so many cores in all, rounded up. */
void finding_cores(struct strbuf *out, const struct finding_figures *f, double cores);
/* Its threads did the same amount of work, one at a time, while the others waited in one futex: a
 * reader-writer lock or the lock of an interpreter, which the kernel cannot tell from a condition.
 */
bool finding_takes_turns(const struct finding_figures *f);
/* The same for processes, which wait for a semaphore: the lock of Python's multiprocessing. Who
 * reads from a shared queue has it, too, while it waits in a pipe: then the queue is empty. */
bool finding_processes_take_turns(const struct finding_figures *f);
/* Most of what it read from storage it had read before: its files do not fit below its memory
 * limit. */
bool finding_thrashes(const struct finding_figures *f);
/* Did it ask for GPUs, compute on some, or wait for one? Others may belong to somebody else. */
bool finding_uses_gpus(const struct finding_figures *f);
/* Of a saving what GPUs that worked meanwhile leave: faster cores would have waited for them. */
double finding_beside_gpus(const struct finding_figures *f, double saving);
bool finding_out_of_memory(const struct finding_figures *f);
/* Threads at work or held up, on average, at least 1 or the part of a core that it has: what a part
 * of core time is a share of. */
double finding_active(const struct finding_figures *f);
/* s of the duration that a part of the core time took, of threads that were at work. */
double finding_lost(const struct finding_figures *f, double core_seconds);
/* `plimsoll run --sample 1s -- COMMAND` as the command of a draft. */
void finding_add_run(const struct finding_figures *f, struct strbuf *out);

/* A cause with its share and saving; false where it took too little time to be told. */
bool finding_begin(const struct finding_figures *f, struct draft *d, double core_seconds,
		   double saving);
/* " in step 2" where it is known. */
void finding_add_step(struct strbuf *out, const char *step);
/* "model, step 2", for evidence; NULL: nothing is known. Freed by the caller. */
char *finding_place(const char *name, const char *step);
/* Is there a finding of this kind that took a large part of the time? */
bool finding_has_main(const struct finding_figures *f, const struct findings *to,
		      enum finding_id id);
enum finding_weight finding_weight_of(const struct finding_figures *f, double saving);

typedef void finding_rule(const struct finding_figures *f, struct findings *to);
finding_rule rule_oom, rule_time_limit, rule_crashed, rule_killed, rule_failed, rule_neighbour,
	rule_quota, rule_affinity, rule_oversubscribed, rule_lock, rule_timer, rule_network_wait,
	rule_process_wait, rule_chain, rule_storage, rule_small_io, rule_metadata, rule_page_faults,
	rule_short, rule_imbalance, rule_serial, rule_network, rule_memory_bandwidth, rule_gpu,
	rule_memory, rule_growth, rule_compute, rule_unmeasured, rule_accounting;
