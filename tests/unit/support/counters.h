/*
 * The source `counters` as a test opens it, on a pretend machine or on this one: its values, what
 * is absent and why, and the list of the job's processes.
 */
#pragma once

#include "unit.h"

#include <errno.h>
#include <math.h>

#include "sources/counters/counters.h"

struct machine {
	char *root, *groups;
	struct counters_ops ops;
	struct source_context ctx;
	struct job_processes watch;
	struct sample_set set;
	struct strbuf why;
	void *state;
};

static inline void machine_release(struct machine *m)
{
	counters_close(m->state);
	sample_release(&m->set);
	strbuf_release(&m->why);
	for (size_t i = 0; i < m->watch.group_count; i++)
		free(m->watch.groups[i].path);
	free(m->watch.groups);
	free(m->watch.list);
	if (m->root)
		scratch_remove(m->root);
	free(m->groups);
	free(m);
}

static inline int by_pid(const void *a, const void *b)
{
	return ((const struct job_process *)a)->pid - ((const struct job_process *)b)->pid;
}

/* Puts a process into the list of the job. */
static inline void watch_add(struct job_processes *w, int pid, int ppid, uint64_t starttime)
{
	GROW(w->list, w->count, w->cap);
	w->list[w->count++] =
		(struct job_process){.pid = pid, .ppid = ppid, .starttime = starttime};
	qsort(w->list, w->count, sizeof(*w->list), by_pid);
}

/* One that the job's end is told by. */
static inline void watch_add_main(struct job_processes *w, int pid, int ppid, uint64_t starttime)
{
	watch_add(w, pid, ppid, starttime);
	for (size_t i = 0; i < w->count; i++)
		w->list[i].main |= w->list[i].pid == pid;
}

static inline int metric_of(const struct sample_set *s, const char *name)
{
	for (size_t i = 0; i < s->metric_count; i++)
		if (!strcmp(s->metrics[i].name, name))
			return (int)i;
	return -1;
}

/* The value of a metric in the row of this kind; NAN when it is absent. */
static inline double row_value(const struct sample_set *s, enum entity_kind kind, const char *name)
{
	int m = metric_of(s, name);

	if (m < 0)
		fail_msg("there is no metric %s", name);
	for (size_t i = 0; i < s->row_count; i++)
		if (s->entities[s->rows[i].entity].kind == kind && s->rows[i].present >> m & 1)
			return sample_value(s, i, (unsigned)m);
	return NAN;
}

static inline double value(const struct machine *m, const char *name)
{
	return row_value(&m->set, ENTITY_JOB, name);
}

static inline const char *absence(const struct machine *m, const char *name)
{
	for (size_t i = 0; i < m->set.absence_count; i++)
		if ((int)m->set.absences[i].metric == metric_of(&m->set, name))
			return m->set.absences[i].reason;
	return "";
}

static inline char *fact(const struct machine *m, const char *key)
{
	const char *v;
	size_t n;

	for (size_t i = 0; i < m->set.entity_count; i++)
		if (m->set.entities[i].kind == ENTITY_JOB &&
		    entity_metadata(&m->set.entities[i], key, &v, &n))
			return xstrndup(v, n);
	return xstrdup("");
}

static inline void check_value(const struct machine *m, const char *name, double want)
{
	double got = value(m, name);

	if (!(fabs(got - want) <= 1e-6 * fabs(want) + 1e-9))
		fail_msg("%s is %.17g, want %.17g", name, got, want);
}

#define assert_absent(m, name) assert_true(isnan(value(m, name)))
#define assert_fact(m, key, want)                        \
	do {                                             \
		_cleanup_free_ char *got = fact(m, key); \
		assert_string_equal(got, want);          \
	} while (0)
