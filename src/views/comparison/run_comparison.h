/* Two sets of stored runs, compared metric by metric (analysis/comparison/compare.h), and how that
 * is shown.
 */
#pragma once

#include "analysis/comparison/compare.h"
#include "store/analysis/run_figures.h"

/* A difference below this share of the whole job does not matter in a part of it. */
#define PART_OF_JOB 0.01

struct comparison_label {
	enum figure_group group;
	const char *name; /* of the executable, operation or phase; NULL: the job */
	const struct figure_metric *metric;
};

struct run_comparison {
	double alpha, min_effect; /* 0.05 is 5 % */
	size_t a_count, b_count;
	struct figure_metrics metrics;
	struct run_figures figures; /* runs of a, then of b */
	struct comparison *rows;
	struct comparison_label *labels; /* of the rows */
	size_t count, cap;
	enum verdict verdict;
	/* for the head of the output; may be NULL */
	const char *a_name, *b_name;
	size_t a_failed, b_failed;    /* runs that were left out */
	const char *const *run_names; /* of a, then of b */
	const char *fingerprint;      /* by which the baseline was found */
};
void run_comparison_release(struct run_comparison *c);
#define _cleanup_run_comparison_ _cleanup_(run_comparison_release)

/* The metrics that count unless others are chosen. */
extern const char *const comparison_metrics[];
extern const size_t comparison_metric_count;

/* Loads the figures of the jobs (a_count of set a, then b_count of the baseline) and compares them.
 * groups: bits of enum figure_group beside whole jobs. 0 or a negative errno, with *why. */
int run_comparison_make(struct run_comparison *c, struct store *s, const int64_t *jobs,
			const char *const *names, size_t name_count, unsigned groups,
			struct strbuf *why);

/* Adds the phases of the runs to their figures. */
int phase_figures_load(struct run_figures *f, struct store *s, const int64_t *jobs);

/* The smallest difference of a metric that matters, whatever its share. */
double comparison_floor(enum metric_unit unit);

/* For people: a table, then the verdict. where: figures by executable and phase of the same runs,
 * to say where a metric of the job became worse; NULL: none. */
int run_comparison_table(const struct run_comparison *c, const struct run_figures *where, FILE *f);
int run_comparison_csv(const struct run_comparison *c, FILE *f);
int run_comparison_json(const struct run_comparison *c, FILE *f);
/* One line per finding: worse rows, then inconclusive ones that decide. */
int run_comparison_findings(const struct run_comparison *c, FILE *f);
/* "worse: duration +12 % (+10 % to +14 %)"; one line without a newline. */
void run_comparison_verdict(const struct run_comparison *c, struct strbuf *out);

/* A table of the medians of one set, for a single command. */
int run_summary_table(const struct run_comparison *c, FILE *f);
int run_summary_json(const struct run_comparison *c, FILE *f);
int run_summary_csv(const struct run_comparison *c, FILE *f);

/* "+12.3 %"; nothing if unknown. */
void comparison_add_percent(struct strbuf *out, double share);
/* "12.3 MiB" in the unit of the metric. */
void comparison_add_value(struct strbuf *out, const struct figure_metric *m, double v, bool human);
