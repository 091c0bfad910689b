/* An experiment: its groups, the jobs that stand out in them, its segments, what is missing and
 * what failed; analysis/explore.h computes it. */
#pragma once

#include "analysis/explore.h"
#include "store/analysis/experiment.h"

#define EXPLORE_WORDS_MAX 64
struct explore_words {
	const char *word[EXPLORE_WORDS_MAX];
	size_t count;
};

enum explore_exit { EXPLORE_ANY, EXPLORE_OK, EXPLORE_FAILED };

struct explore_options {
	struct experiment_query query;
	const int64_t *jobs; /* only these, by their numbers; NULL: all */
	size_t job_count;
	struct explore_words groups, segments; /* only jobs of any of these; none: all */
	enum explore_exit exit;
	const char *expected; /* segments that every group should have; NULL: those that any has */
	uint64_t limit;       /* groups to print */
};

struct explore_view {
	const struct explore_options *o;
	struct experiment data;
	struct explore_job *jobs;
	char **expected;
	size_t expected_count;
	struct explore e;
	size_t known; /* jobs that have the metric */
};

/* Reads and computes; release it in any case. -EINVAL: `expected` is not valid; other errors are
 * the store's. */
int explore_view_load(struct explore_view *v, struct store *s, const struct explore_options *o);
void explore_view_release(struct explore_view *v);
#define _cleanup_explore_view_ _cleanup_(explore_view_release)

/* How many groups are printed. */
size_t explore_view_groups(const struct explore_view *v);
/* 0 or a negative errno. */
int explore_print_text(struct explore_view *v, FILE *f);
int explore_print_json(struct explore_view *v, FILE *f);
/* One row per job, of all groups. */
int explore_print_csv(const struct explore_view *v, FILE *f);
/* One id per line, in the order of start times. */
int explore_print_ids(const struct explore_view *v, FILE *f);
