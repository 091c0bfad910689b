/*
 * What bounded a job, from its figures: a list of findings, the heaviest first, each with evidence
 * and one change to make. Pure functions; absent figures are NAN and lead to no finding.
 */
#ifndef PL_ANALYSIS_FINDINGS_H
#define PL_ANALYSIS_FINDINGS_H

#include <stdint.h>

#include "core/strbuf.h"

enum finding_kind {
	FINDING_CPU,    /* computing bounded it */
	FINDING_MEMORY, /* close to its limit, paging, swapping */
	FINDING_IO,     /* storage */
	FINDING_NETWORK,
	FINDING_WAITING,   /* runnable but not run, or throttled */
	FINDING_IDLE,      /* cores that had nothing to do */
	FINDING_IMBALANCE, /* of ranks, hosts */
	FINDING_FAILED,    /* ended with an error */
	FINDING_KILLED,    /* by a signal */
	FINDING_OOM,       /* out of memory */
	FINDING_SHORT,     /* very many very short processes */
	FINDING_GPU,       /* GPUs that had nothing to do */
	FINDING_BOOKS,     /* what is not itemised */
};

enum finding_weight { FINDING_NOTE, FINDING_WARNING, FINDING_SEVERE };

struct finding {
	enum finding_kind kind;
	enum finding_weight weight;
	char *title;    /* one phrase: "4 of 8 cores had nothing to do" */
	char *evidence; /* one sentence with the figures */
	char *advice;   /* one concrete change */
};

struct findings {
	struct finding *list;
	size_t count, cap;
};
void findings_release(struct findings *f);
const char *finding_kind_name(enum finding_kind kind);
const char *finding_weight_name(enum finding_weight weight);

#endif
