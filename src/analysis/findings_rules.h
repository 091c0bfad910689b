/* What the files of rules share; see findings.h. */
#ifndef PL_ANALYSIS_FINDINGS_RULES_H
#define PL_ANALYSIS_FINDINGS_RULES_H

#include "analysis/findings.h"

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)
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
