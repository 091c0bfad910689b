/* Shared by the files of rules; see findings.h. */
#pragma once

#include "analysis/findings/findings.h"

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)
/* The title of a job that kept its cores busy. */
#define FINDING_BOUND "the job was CPU-bound"
#define LIMIT(id) (finding_limits[LIMIT_##id].value)

/* A finding that is being written. */
struct draft {
	struct strbuf title, evidence, advice;
};
#define DRAFT_INIT                                    \
	{                                             \
		STRBUF_INIT, STRBUF_INIT, STRBUF_INIT \
	}
void draft_release(struct draft *d);
#define _cleanup_draft_ _cleanup_(draft_release)

void finding_add(struct findings *to, enum finding_kind kind, enum finding_weight weight,
		 struct draft *d);

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
/* "2 of 4 cores were busy on average"; "; a.out used 90 % of it" where that is known. */
void finding_add_busy(const struct finding_figures *f, struct strbuf *out);
void finding_add_top(const struct finding_figures *f, struct strbuf *out);
/* Threads that ran or were ready to run, on average; NAN where the wait for a core is unknown. */
double finding_runnable(const struct finding_figures *f);
/* Did tasks wait so long that the job took longer? */
bool finding_felt(const struct finding_figures *f, double waited);
/* The command that shows where it waited. */
void finding_add_where(const struct finding_figures *f, struct strbuf *out);
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
bool finding_out_of_memory(const struct finding_figures *f);

typedef void finding_rule(const struct finding_figures *f, struct findings *to);
finding_rule rule_oom, rule_killed, rule_failed, rule_cpu, rule_system, rule_idle, rule_waiting,
	rule_io, rule_small_calls, rule_network, rule_memory, rule_spare_memory, rule_ranks,
	rule_hosts, rule_short, rule_gpu, rule_accounting;
