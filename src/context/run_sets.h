/*
 * The two sets of runs of a comparison: words or filters for each, or for the second one earlier
 * runs with the same fingerprint (store/analysis/fingerprint.h).
 */
#pragma once

#include "context/job_selection.h"
#include "store/analysis/fingerprint.h"

struct run_sets_request {
	char *const *words, *const *baseline_words;
	size_t word_count, baseline_word_count;
	const char *where, *baseline_where; /* filters; NULL: none */
	bool with_failed;                   /* otherwise failed runs are left out */
	const char *ignore_tags;            /* of fingerprints, see fingerprint_load() */
	uint64_t baseline_last; /* at most so many runs that were found by fingerprint */
};

struct run_sets {
	int64_t *jobs; /* of set a, then of the baseline; each in the order of time */
	char **labels;
	size_t a_count, b_count, cap;
	size_t a_failed, b_failed;      /* left out */
	bool by_fingerprint;            /* the baseline was found so */
	struct fingerprint fingerprint; /* of the first run */
	struct strbuf description;      /* of the fingerprint, if runs were found by it */
	struct strbuf warnings;         /* lines */
};
#define RUN_SETS_INIT                                               \
	{                                                           \
		.description = STRBUF_INIT, .warnings = STRBUF_INIT \
	}
void run_sets_release(struct run_sets *r);
#define _cleanup_run_sets_ _cleanup_(run_sets_release)

/* 0, -ENOENT (no runs), -EEXIST (a run is in both sets) or another negative errno, with the reason
 * in *why. */
int run_sets_find(struct run_sets *r, struct store *s, const struct run_sets_request *q,
		  struct strbuf *why);
/* The runs of the fingerprint of one job, or those that are named; set a only. */
int run_sets_find_history(struct run_sets *r, struct store *s, const struct run_sets_request *q,
			  struct strbuf *why);
