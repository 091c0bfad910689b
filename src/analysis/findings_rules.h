/* What the files of rules share; see findings.h. */
#ifndef PL_ANALYSIS_FINDINGS_RULES_H
#define PL_ANALYSIS_FINDINGS_RULES_H

#include "analysis/findings.h"

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)
/* The title of a job that kept its cores busy. */
#define FINDING_BOUND "computing bounded it"
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

/* Whole numbers as they are, others with the digits that tell something. */
void finding_number(struct strbuf *out, double v);
/* 12345 as "12,345". */
void finding_count(struct strbuf *out, double v);
/* "1 process", "2 processes" */
void finding_processes(struct strbuf *out, double v);
/* A size that Slurm takes, at least what is asked for: whole GiB, or MiB below 4 GiB. */
void finding_memory(struct strbuf *out, double bytes);
double finding_up(double v);
static inline double percent(double part)
{
	return part * 100;
}
/* CPUs busy on average, NAN where not known. */
double finding_busy(const struct finding_figures *f);
/* "2 of 4 cores were busy on average"; "; a.out used 90 % of it" where that is known. */
void finding_add_busy(const struct finding_figures *f, struct strbuf *out);
void finding_add_top(const struct finding_figures *f, struct strbuf *out);
/* Threads that ran or were ready to run, on average; NAN where waiting for a core is not known. */
double finding_runnable(const struct finding_figures *f);
/* Did tasks wait so long that the job took longer for it? */
bool finding_felt(const struct finding_figures *f, double waited);
/* The command that shows where it waited. */
void finding_add_where(const struct finding_figures *f, struct strbuf *out);
/* Tasks (ranks) that share the cores, which -c counts for each; at least 1. */
double finding_tasks(const struct finding_figures *f);
/* Its id, as commands take it. */
const char *finding_job(const struct finding_figures *f);
/* It has ended, and well: what it used is what it needs. */
bool finding_whole(const struct finding_figures *f);
/* " (-c 4)", or " (-c 2 for each of 4 ranks)": so many cores in all, rounded up. */
void finding_cores(struct strbuf *out, const struct finding_figures *f, double cores);
bool finding_out_of_memory(const struct finding_figures *f);

void rule_oom(const struct finding_figures *f, struct findings *to);
void rule_killed(const struct finding_figures *f, struct findings *to);
void rule_failed(const struct finding_figures *f, struct findings *to);
void rule_cpu(const struct finding_figures *f, struct findings *to);
void rule_system(const struct finding_figures *f, struct findings *to);
void rule_idle(const struct finding_figures *f, struct findings *to);
void rule_waiting(const struct finding_figures *f, struct findings *to);
void rule_io(const struct finding_figures *f, struct findings *to);
void rule_small_calls(const struct finding_figures *f, struct findings *to);
void rule_network(const struct finding_figures *f, struct findings *to);
void rule_memory(const struct finding_figures *f, struct findings *to);
void rule_spare_memory(const struct finding_figures *f, struct findings *to);
void rule_ranks(const struct finding_figures *f, struct findings *to);
void rule_hosts(const struct finding_figures *f, struct findings *to);
void rule_short(const struct finding_figures *f, struct findings *to);
void rule_gpu(const struct finding_figures *f, struct findings *to);
void rule_books(const struct finding_figures *f, struct findings *to);

#endif
