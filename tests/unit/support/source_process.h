/*
 * The sources `process` and `process_memory` on a tree that the test writes: processes as their
 * files show them, the list of a job, values by their row and name.
 */
#pragma once

#include "tree.h"

#include "core/system/procparse.h"
#include "sources/source.h"

/* Later than any boot: begun after the source was opened. */
#define YOUNG 900000000000ull
#define TICK 10000

struct bench {
	char *root;
	struct job_processes watch;
	struct job_process list[64];
	struct source_context ctx;
	const struct source *source;
	struct sample_set set;
	void *state;
};

static inline void put_of(const struct bench *b, int pid, const char *name, const char *text)
{
	(void)b;
	putf("proc/%d/%s", text, pid, name);
}

/* One process as the files show it. */
struct shown {
	int pid, ppid;
	const char *comm;
	uint64_t start, utime, stime, cutime, cstime, minflt, cminflt, threads, rss;
	uint64_t oncpu, wchar;
	unsigned flags; /* of the kernel; 0: an ordinary one */
};

static inline void put_stat(const struct bench *b, const struct shown *p)
{
	_cleanup_free_ char *stat = xasprintf(
		"%d (%s) S %d 5 6 7 -1 %u %llu %llu 3 4 %llu %llu %llu %llu 20 0 %llu 0 %llu "
		"123456789 %llu 18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 5 0 0 7 0 0 1 2 3 4 5 6 "
		"7 0\n",
		p->pid, p->comm ? p->comm : "prog", p->ppid, p->flags ? p->flags : 4194304,
		(unsigned long long)p->minflt, (unsigned long long)p->cminflt,
		(unsigned long long)p->utime, (unsigned long long)p->stime,
		(unsigned long long)p->cutime, (unsigned long long)p->cstime,
		(unsigned long long)(p->threads ? p->threads : 1), (unsigned long long)p->start,
		(unsigned long long)p->rss);

	put_of(b, p->pid, "stat", stat);
}

static inline void put_process(const struct bench *b, const struct shown *p)
{
	_cleanup_free_ char *sched = xasprintf("%llu 2000 30\n", (unsigned long long)p->oncpu);
	_cleanup_free_ char *io = xasprintf(
		"rchar: 11\nwchar: %llu\nsyscr: 13\nsyscw: 14\nread_bytes: 15\nwrite_bytes: 16\n"
		"cancelled_write_bytes: 17\n",
		(unsigned long long)p->wchar);

	put_stat(b, p);
	put_of(b, p->pid, "io", io);
	put_of(b, p->pid, "schedstat", sched);
	put_of(b, p->pid, "cmdline", "prog\0--option");
}

static inline void remove_process(const struct bench *b, int pid)
{
	scratch_remove(xasprintf("%s/proc/%d", b->root, pid));
}

/* The job's processes from here on: pid, ppid, start of each. */
static inline void set_list(struct bench *b, size_t n, const struct shown *p)
{
	for (size_t i = 0; i < n; i++)
		b->list[i] = (struct job_process){.pid = p[i].pid,
						  .ppid = p[i].ppid,
						  .starttime = p[i].start,
						  .rank = (int)i - 1};
	b->watch.list = b->list;
	b->watch.count = n;
}

static inline int bench_setup(void **state)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	tree_setup(state);
	b->root = *state;
	put("proc/meminfo", "MemTotal:        1000000 kB\nMemFree: 5 kB\n");
	put("proc/sys/kernel/task_delayacct", "1\n");
	b->ctx = (struct source_context){.root = b->root, .watch = &b->watch};
	*state = b;
	return 0;
}

static inline void close_source(struct bench *b)
{
	if (b->state)
		b->source->close(b->state);
	b->state = NULL;
	sample_release(&b->set);
}

static inline int bench_teardown(void **state)
{
	struct bench *b = *state;

	close_source(b);
	scratch_remove(b->root);
	free(b);
	return 0;
}

static inline void open_source(struct bench *b, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	b->source = source_find(name);
	assert_non_null(b->source);
	assert_true(b->source->needs_job);
	sample_init(&b->set, b->source->metrics, b->source->metric_count);
	assert_int_equal(b->source->open(&b->ctx, &b->set, &b->state, &why), 0);
}

static inline void take_reading(struct bench *b)
{
	sample_begin(&b->set);
	assert_int_equal(b->source->read(b->state, &b->set), 0);
}

/* The row of an entity, or -1. */
static inline int row_of(const struct bench *b, enum entity_kind kind, const char *name)
{
	for (size_t i = 0; i < b->set.row_count; i++) {
		const struct entity *e = &b->set.entities[b->set.rows[i].entity];

		if (e->kind == kind && !strcmp(e->name, name))
			return (int)i;
	}
	return -1;
}

static inline bool value_of(const struct bench *b, int row, const char *metric, double *ret)
{
	*ret = 0;
	for (unsigned m = 0; m < b->set.metric_count; m++) {
		if (strcmp(b->set.metrics[m].name, metric) != 0)
			continue;
		if (row < 0 || !(b->set.rows[row].present >> m & 1))
			return false;
		*ret = sample_value(&b->set, (size_t)row, m);
		return true;
	}
	fail_msg("there is no metric '%s'", metric);
	return false;
}

static inline void check_value(const struct bench *b, int row, const char *metric, double want)
{
	double v;

	if (!value_of(b, row, metric, &v))
		fail_msg("%s is absent", metric);
	if (v != want)
		fail_msg("%s is %.17g, want %.17g", metric, v, want);
}

static inline void check_absent(const struct bench *b, int row, const char *metric)
{
	double v;

	if (value_of(b, row, metric, &v))
		fail_msg("%s is %.17g, want none", metric, v);
}

static inline void check_job(const struct bench *b, const char *metric, double want)
{
	int row = row_of(b, ENTITY_JOB, "job");

	assert_true(row >= 0);
	check_value(b, row, metric, want);
}

static inline void check_fact(const struct bench *b, int row, const char *key, const char *want)
{
	const struct entity *e = &b->set.entities[b->set.rows[row].entity];
	const char *text = "";
	size_t n = 0;

	if (!entity_metadata(e, key, &text, &n) || n != strlen(want) || memcmp(text, want, n) != 0)
		fail_msg("fact %s is '%.*s', want '%s'", key, (int)n, text, want);
}

static inline const char *reason_of(const struct bench *b, const char *metric)
{
	for (size_t i = 0; i < b->set.absence_count; i++)
		if (b->set.absences[i].metric < b->set.metric_count &&
		    !strcmp(b->set.metrics[b->set.absences[i].metric].name, metric))
			return b->set.absences[i].reason;
	return "";
}

static const struct shown first = {.pid = 40,
				   .ppid = 1,
				   .start = 5000,
				   .utime = 120,
				   .stime = 30,
				   .cutime = 1000,
				   .minflt = 500,
				   .cminflt = 900,
				   .rss = 25000,
				   .oncpu = 1500000000,
				   .wchar = 12};

#define with_bench(f) cmocka_unit_test_setup_teardown(f, bench_setup, bench_teardown)
