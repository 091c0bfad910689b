/* Runs of the same thing over time, with the times at which a metric changed its level. */
#pragma once

#include "analysis/comparison/change_points.h"
#include "store/analysis/run_figures.h"

struct history {
	const struct figure_metric *metric;
	size_t count; /* of runs that have a value, in the order of time */
	size_t absent;
	int64_t *times; /* us, start of the runs */
	double *values;
	const char **jobs;
	struct change_point *changes;
	size_t change_count;
};

struct histories {
	struct figure_metrics metrics;
	struct run_figures figures;
	struct history *v; /* by metric */
	size_t count;
	size_t runs, failed;     /* failed: left out */
	const char *fingerprint; /* what the runs are; NULL: they were named */
	struct change_options how;
};
void histories_release(struct histories *h);
#define _cleanup_histories_ _cleanup_(histories_release)

/* Loads the metrics of jobs, which are in the order of time, and looks for changes. 0 or a negative
 * errno, with *why. */
int histories_make(struct histories *h, struct store *s, const int64_t *jobs,
		   const char *const *labels, size_t count, const char *const *names,
		   size_t name_count, struct strbuf *why);

/* Levels and changes for people; with a small chart on a terminal. */
int histories_table(const struct histories *h, FILE *f);
/* Every run. */
int histories_csv(const struct histories *h, FILE *f);
int histories_json(const struct histories *h, FILE *f);
/* A picture with one chart per metric; the suffix of the path says the format. */
int histories_plot(const struct histories *h, const char *path, struct strbuf *why);
