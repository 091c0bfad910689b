/*
 * What runs cost, for comparisons: the metrics of whole jobs, of each executable in them, and of
 * each operation (processes with the same tags). More is worse for every one of these metrics.
 */
#pragma once

#include "core/hash_map.h"
#include "core/metrics/metric.h"
#include "store/store.h"

enum figure_group {
	FIGURES_JOB,
	FIGURES_EXECUTABLE,
	FIGURES_OPERATION,
	FIGURES_PHASE,
	FIGURE_GROUPS
};
extern const char *const figure_group_names[FIGURE_GROUPS]; /* "job", "executable", ... */

struct figure_metric {
	const char *name;
	enum metric_unit unit;
	const char *column; /* of process: an expression to add up; NULL: an event, of jobs only */
	bool highest;       /* the maximum counts, not the sum */
};

/* The metrics to load. Names of events are kept. */
struct figure_metrics {
	struct figure_metric *v;
	size_t count, cap;
	char **names;
	size_t name_count, name_cap;
};
void figure_metrics_release(struct figure_metrics *m);
#define _cleanup_figure_metrics_ _cleanup_(figure_metrics_release)
/* A metric by name, "all" for all that are known, or an event that one of the jobs has counted.
 * -ENOENT: there is none, explained in *why. */
int figure_metrics_add(struct figure_metrics *m, struct store *s, const char *name,
		       const int64_t *jobs, size_t count, struct strbuf *why);
/* Name i of the known metrics; NULL: no more. */
const char *figure_metric_name(size_t i);

/* One job, executable, operation or phase: its values by metric, then by run; NAN where there is
 * none. */
struct figure_rows {
	enum figure_group group;
	char *name;    /* of the executable; "key:value;..." of the operation; NULL: the job */
	bool *present; /* by run */
	double *v;     /* [metric * runs + run] */
};

struct run_figures {
	const struct figure_metrics *metrics;
	size_t runs;
	struct figure_rows *rows; /* the job first */
	size_t count, cap;
	struct hash_map by_name;
};
void run_figures_release(struct run_figures *f);
#define _cleanup_run_figures_ _cleanup_(run_figures_release)

/* The row of a part; a new one if there is none. */
struct figure_rows *run_figures_row(struct run_figures *f, enum figure_group group,
				    const char *name);
bool run_figures_has(const struct run_figures *f, enum figure_group group, const char *name);

/* Loads the figures of jobs, in their order; groups: bits 1 << FIGURES_... beside the jobs, without
 * phases. Where
 * an executable or operation did not run in a recorded job, its values are 0. */
int run_figures_load(struct run_figures *f, struct store *s, const int64_t *jobs, size_t count,
		     const struct figure_metrics *m, unsigned groups);
