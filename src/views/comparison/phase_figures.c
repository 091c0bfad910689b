/*
 * Figures of phases for comparisons; see run_comparison.h. They are those of the operations that
 * phases are (views/operations/operation_phases.h), but a duration is the time in which at least
 * one rank or thread was in the phase, so that it compares with the duration of the job.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "views/comparison/run_comparison.h"
#include "views/operations/operation_list.h"
#include "views/phases.h"

/* Between name and origin until all runs are loaded. No name has it: it would be escaped. */
#define APART '\x1f'

static double value_of(const struct operation *o, const char *metric)
{
	int number;

	if (!operation_metric_find(metric, &number))
		return NAN;
	const int64_t v = operation_value(o, number, OPERATION_UNION);
	return v == UNKNOWN || v < 0 ? NAN : (double)v;
}

static int load_run(struct run_figures *f, struct store *s, size_t run, int64_t job, bool *marked)
{
	const struct operation_query q = {.by = "phase", .whole = true};
	struct job_operations jo;
	int r = job_operations_load(&jo, s, job, "", &q);

	for (size_t i = 0; i < jo.operations.count && r >= 0; i++) {
		/* a tag that is named phase is an operation */
		if (!jo.names[i].phase)
			continue;
		_cleanup_free_ char *name = xasprintf("%s%c%s", jo.names[i].text + strlen("phase:"),
						      APART, jo.names[i].phase);
		struct figure_rows *row = run_figures_row(f, FIGURES_PHASE, name);

		row->present[run] = *marked = true;
		for (size_t m = 0; m < f->metrics->count; m++)
			row->v[m * f->runs + run] =
				value_of(&jo.operations.v[i], f->metrics->v[m].name);
	}
	job_operations_release(&jo);
	return r;
}

/* A phase that did not occur took no time, in a run that marks phases and where others know it. */
static void fill_zeros(const struct run_figures *f, const struct figure_rows *row,
		       const bool *marked)
{
	for (size_t m = 0; m < f->metrics->count; m++) {
		double *v = row->v + m * f->runs;
		bool known = false;

		for (size_t run = 0; run < f->runs; run++)
			known = known || isfinite(v[run]);
		for (size_t run = 0; run < f->runs && known; run++)
			if (!row->present[run] && marked[run])
				v[run] = 0;
	}
}

/* "NAME"; "NAME (origin)" if a script and a program, say, use the same name. */
static void name_row(struct figure_rows *row, bool with_origin)
{
	char *origin = strrchr(row->name, APART);

	*origin = 0;
	if (with_origin) {
		char *name = xasprintf("%s (%s)", row->name, origin + 1);

		free(row->name);
		row->name = name;
	}
}

static bool is_ambiguous(const struct run_figures *f, const struct figure_rows *row)
{
	const char *origin = strrchr(row->name, APART) + 1;

	for (size_t i = 0; i < ARRAY_SIZE(phase_origins); i++) {
		_cleanup_free_ char *other =
			xasprintf("%.*s%s", (int)(origin - row->name), row->name, phase_origins[i]);

		if (strcmp(origin, phase_origins[i]) != 0 &&
		    run_figures_has(f, FIGURES_PHASE, other))
			return true;
	}
	return false;
}

int phase_figures_load(struct run_figures *f, struct store *s, const int64_t *jobs)
{
	_cleanup_free_ bool *marked = xcalloc(f->runs + 1, sizeof(*marked));
	const size_t first = f->count;
	int r = 0;

	for (size_t i = 0; i < f->runs && r >= 0; i++)
		r = load_run(f, s, i, jobs[i], &marked[i]);
	_cleanup_free_ bool *ambiguous = xcalloc(f->count + 1, sizeof(*ambiguous));
	for (size_t i = first; i < f->count; i++)
		ambiguous[i] = is_ambiguous(f, &f->rows[i]);
	for (size_t i = first; i < f->count; i++) {
		fill_zeros(f, &f->rows[i], marked);
		name_row(&f->rows[i], ambiguous[i]);
	}
	return r < 0 ? r : 0;
}
