/*
 * Features of jobs, processes and threads; see features.h. SQL names columns by our own metric
 * table only, never by what a user wrote.
 */
#include "store/analysis/features.h"

#include <math.h>

#include "store/analysis/features_internal.h"
#include "store/ingest/ingest.h"
#include "store/sql.h"

/* ---- jobs ----------------------------------------------------------------------------------- */

/* A statement has at most 64 parameters. */
#define JOBS_AT_ONCE 60

struct job_rows {
	struct feature_table *t;
	const int64_t *jobs; /* of this batch, which begins at row `first` */
	size_t count, first;
};

static struct stmt *query_batch(const struct job_rows *b, struct store *s, const char *select,
				const char *column)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	sql_add(&q, select);
	for (size_t i = 0; i < b->count; i++) {
		sql_add(&q, i ? ", " : " WHERE ");
		if (i == 0) {
			sql_add(&q, column);
			sql_add(&q, " IN (");
		}
		sql_int(&q, b->jobs[i]);
	}
	sql_add(&q, ")");
	return sql_prepare(&q, s);
}

double stmt_get_feature(struct stmt *st, int i)
{
	return stmt_is_null(st, i) ? NAN : stmt_get_real(st, i);
}

/* In the rows of a job, which may be there twice: as reference and as what is compared with it. */
static void set_values(const struct job_rows *b, int64_t job, size_t column, double v)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->jobs[i] == job)
			b->t->columns[column].v[b->first + i] = v;
}

static int add_own(const struct job_rows *b, struct store *s, bool *found)
{
	static const char *const names[] = {"exitcode", "duration", "cpu_time", "num_procs",
					    "num_threads"};
	_cleanup_stmt_ struct stmt *st =
		query_batch(b, s,
			    "SELECT no, exitcode, duration_us, cpu_us, num_procs, num_threads "
			    "FROM job",
			    "no");
	size_t columns[ARRAY_SIZE(names)];
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		columns[i] = feature_table_column(b->t, names[i]);
	while ((r = stmt_step(st)) == 1) {
		int64_t job = stmt_get_int(st, 0);

		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			set_values(b, job, columns[i], stmt_get_feature(st, (int)i + 1));
		for (size_t i = 0; i < b->count; i++)
			found[b->first + i] |= b->jobs[i] == job;
	}
	return r;
}

static int add_sums(const struct job_rows *b, struct store *s)
{
	/* the threads of a job are counted by num_threads */
	_cleanup_stmt_ struct stmt *st =
		query_batch(b, s, "SELECT job, metric, sum FROM job_sum", "job");
	int r;

	while ((r = stmt_step(st)) == 1) {
		int64_t job = stmt_get_int(st, 0);
		const char *name = stmt_get_str(st, 1);

		if (strcmp(name, "numtids") != 0 && strcmp(name, "num_threads") != 0)
			set_values(b, job, feature_table_column(b->t, name),
				   stmt_get_feature(st, 2));
	}
	return r;
}

int features_of_jobs(struct feature_table *t, struct store *s, const int64_t *jobs, size_t count,
		     size_t *ret_gone)
{
	_cleanup_free_ bool *found = xcalloc(count + 1, sizeof(*found));
	int r = 0;

	for (size_t i = 0; i < count; i++)
		(void)feature_table_row(t, (int64_t)i, 0);
	for (size_t i = 0; i < count && r >= 0; i += JOBS_AT_ONCE) {
		struct job_rows b = {t, jobs + i, count - i, i};

		if (b.count > JOBS_AT_ONCE)
			b.count = JOBS_AT_ONCE;
		r = add_own(&b, s, found);
		if (r >= 0)
			r = add_sums(&b, s);
	}
	for (size_t i = 0; i < count && r >= 0; i++)
		if (!found[i]) {
			*ret_gone = i;
			return -ENOENT;
		}
	return r < 0 ? r : 0;
}

/* ---- processes and threads ------------------------------------------------------------------ */

bool feature_is_counted(enum metric_id id)
{
	const struct metric *m = metric_by_id(id);

	return m->kind != KIND_LABEL && id != METRIC_NUM_THREADS && id != METRIC_THREADS_BASIC;
}

static bool is_wanted(const char *name, const char *const *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(wanted[i], name))
			return true;
	return !wanted;
}

struct image_query {
	bool threads;
	const enum metric_id *metrics;
	size_t metric_count;
	const char *const *wanted;
	size_t wanted_count;
};

/* Adds a column. The store has no thread rows for a process with one thread: the process is that
 * thread. */
static void select_column(const struct image_query *iq, struct feature_table *t, struct sql *q,
			  const char *name, const char *process, const char *thread)
{
	if (!is_wanted(name, iq->wanted, iq->wanted_count))
		return;
	(void)feature_table_column(t, name);
	if (iq->threads)
		strbuf_addf(&q->text, ", CASE WHEN t.process IS NULL THEN %s ELSE %s END", process,
			    thread);
	else
		strbuf_addf(&q->text, ", %s", process);
}

static void select_columns(const struct image_query *iq, struct feature_table *t, struct sql *q)
{
	strbuf_addf(&q->text, "SELECT p.id, %s", iq->threads ? "t.n" : "0");
	select_column(iq, t, q, "duration", "p.duration", "t.duration");
	select_column(iq, t, q, "cpu_time", "p.usertime + p.systemtime",
		      "t.usertime + t.systemtime");
	for (size_t i = 0; i < iq->metric_count; i++) {
		const char *name = metric_by_id(iq->metrics[i])->name;
		char process[64], thread[64];

		snprintf(process, sizeof(process), "p.%s", name);
		snprintf(thread, sizeof(thread), "t.%s", name);
		if (feature_is_counted(iq->metrics[i]))
			select_column(iq, t, q, name, process, thread);
	}
	sql_add(q, iq->threads ? " FROM process p LEFT JOIN thread t ON t.process = p.id WHERE "
			       : " FROM process p WHERE ");
}

static int load_images(const struct image_query *iq, struct feature_table *t, struct store *s,
		       const int64_t *jobs, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		_cleanup_sql_ struct sql q = SQL_INIT;

		select_columns(iq, t, &q);
		sql_job_range(&q, "p.id", jobs[i]);
		sql_add(&q, iq->threads ? " ORDER BY p.id, t.n" : " ORDER BY p.id");
		_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
		while ((r = stmt_step(st)) == 1) {
			size_t row = feature_table_row(t, stmt_get_int(st, 0), 0);

			t->rows[row].part = stmt_get_int(st, 1);
			for (size_t c = 0; c < t->column_count; c++)
				t->columns[c].v[row] = stmt_get_feature(st, (int)c + 2);
		}
	}
	return r;
}

int features_of_processes(struct feature_table *t, struct store *s, const int64_t *jobs,
			  size_t count, const char *const *wanted, size_t wanted_count)
{
	const struct image_query q = {false, ingest_process_metrics, ingest_process_metric_count,
				      wanted, wanted_count};

	return load_images(&q, t, s, jobs, count);
}

int features_of_threads(struct feature_table *t, struct store *s, const int64_t *jobs, size_t count,
			const char *const *wanted, size_t wanted_count)
{
	const struct image_query q = {true, ingest_thread_metrics, ingest_thread_metric_count,
				      wanted, wanted_count};

	return load_images(&q, t, s, jobs, count);
}
