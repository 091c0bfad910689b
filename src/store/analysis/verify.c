/* See verify.h. Each check is a row of verify_checks. */
#include "store/analysis/verify.h"

#include <math.h>

#include "core/text/text.h"
#include "store/ingest/ingest.h"
#include "store/ingest/merge_streamed.h"
#include "store/job_metadata.h"
#include "store/sql.h"

/* CPU time that is not accounted for, of the total: exits alone leave 1 or 2 %. */
#define ACCOUNTING_SHARE 0.05
#define ACCOUNTING_LEAST_US 10000
/* Clocks of hosts differ, and old tools have times in seconds. */
#define OUTSIDE_US 60000000
/* More than any finite number of type double; also compares less than NaN on PostgreSQL. */
#define DOUBLE_MAX "1.7976931348623157e308"

static void add_part(struct strbuf *out, const char *fmt, ...) PL_PRINTF(2, 3);
static void add_part(struct strbuf *out, const char *fmt, ...)
{
	va_list ap;

	if (out->len)
		strbuf_addstr(out, ", ");
	va_start(ap, fmt);
	strbuf_vaddf(out, fmt, ap);
	va_end(ap);
}

/* ---- times ---------------------------------------------------------------------------------- */

static void add_date(struct strbuf *out, const char *what, int64_t us)
{
	_cleanup_strbuf_ struct strbuf time = STRBUF_INIT;

	text_add_local_time(&time, us);
	if (time.len)
		add_part(out, "%s is %s", what, time.buf);
	else
		add_part(out, "%s is %lld us since 1970", what, (long long)us);
}

static int64_t check_dates(struct store *s, int64_t job, const struct verify_limits *l,
			   struct strbuf *out)
{
	static const char *const names[] = {"submit", "start", "end"};
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT submit_us, start_us, end_us FROM job WHERE no = $1", db_int(job));
	int64_t n = 0, processes = 0;
	int r = stmt_step(st);

	for (int i = 0; r == 1 && i < 3; i++) {
		int64_t us = stmt_is_null(st, i) ? l->earliest_us : stmt_get_int(st, i);

		if (us >= l->earliest_us && us <= l->latest_us)
			continue;
		add_date(out, names[i], us);
		n++;
	}
	if (r >= 0)
		r = store_number_of(s,
				    "SELECT count(*) FROM process WHERE id BETWEEN $1 AND $2 AND "
				    "(start < $3 OR start > $4)",
				    &processes, db_int(store_key(job, 0)),
				    db_int(store_key(job, UINT32_MAX)), db_int(l->earliest_us),
				    db_int(l->latest_us));
	if (r >= 0 && processes)
		add_part(out, "start of %lld %s", (long long)processes,
			 plural(processes, "image", "images"));
	return r < 0 ? r : n + processes;
}

static int64_t check_order(struct store *s, int64_t job, const struct verify_limits *l PL_UNUSED,
			   struct strbuf *out)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT start_us, end_us, submit_us, duration_us FROM job WHERE no = $1",
		db_int(job));
	int64_t n = 0;
	int r = stmt_step(st);

	if (r != 1)
		return r;
	bool start = !stmt_is_null(st, 0), end = !stmt_is_null(st, 1);
	if (start && end && stmt_get_int(st, 1) < stmt_get_int(st, 0)) {
		add_part(out, "the end is %.6f s before the start",
			 (double)(stmt_get_int(st, 0) - stmt_get_int(st, 1)) / 1e6);
		n++;
	}
	if (start && !stmt_is_null(st, 2) && stmt_get_int(st, 2) > stmt_get_int(st, 0)) {
		add_part(out, "it started %.6f s before it was submitted",
			 (double)(stmt_get_int(st, 2) - stmt_get_int(st, 0)) / 1e6);
		n++;
	}
	return n;
}

static int64_t check_outside(struct store *s, int64_t job, const struct verify_limits *l PL_UNUSED,
			     struct strbuf *out)
{
	int64_t n = 0;
	int r = store_number_of(
		s,
		"SELECT count(*) FROM process p JOIN job j ON j.no = $1 WHERE p.id BETWEEN $2 AND $3 "
		"AND j.end_us >= j.start_us AND (p.start < j.start_us - $4 OR p.start > j.end_us + $4)",
		&n, db_int(job), db_int(store_key(job, 0)), db_int(store_key(job, UINT32_MAX)),
		db_int(OUTSIDE_US));

	if (r == 0 && n)
		add_part(out, "%lld %s started more than a minute before or after the job",
			 (long long)n, plural(n, "image", "images"));
	return r < 0 ? r : n;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* May a metric be below zero? Labels name things; exit codes of some systems are signed. */
static bool may_be_negative(const struct metric *m)
{
	return m->kind == KIND_LABEL && m->id != METRIC_PID && m->id != METRIC_PPID;
}

/* Counts negative values in the columns of the metrics, and of duration. */
static int64_t count_negative(struct store *s, int64_t job, const char *table, const char *key,
			      const enum metric_id *ids, size_t count, const char *row,
			      struct strbuf *out)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	int64_t total = 0;

	sql_add(&q, "SELECT count(CASE WHEN duration < 0 THEN 1 END)");
	for (size_t i = 0; i < count; i++)
		strbuf_addf(&q.text, ", count(CASE WHEN %s < 0 THEN 1 END)",
			    metric_by_id(ids[i])->name);
	strbuf_addf(&q.text, " FROM %s WHERE ", table);
	sql_job_range(&q, key, job);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	int r = stmt_step(st);
	for (size_t i = 0; r == 1 && i <= count; i++) {
		int64_t n = stmt_get_int(st, (int)i);

		if (!n || (i && may_be_negative(metric_by_id(ids[i - 1]))))
			continue;
		add_part(out, "%s of %lld %s%s", i ? metric_by_id(ids[i - 1])->name : "duration",
			 (long long)n, row, n == 1 ? "" : "s");
		total += n;
	}
	return r < 0 ? r : total;
}

static int64_t count_negative_job(struct store *s, int64_t job, struct strbuf *out)
{
	static const char *const names[] = {"duration",    "cpu_time",   "num_procs",
					    "num_threads", "peak_procs", "processes"};
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT duration_us, cpu_us, num_procs, num_threads, peak_procs, processes "
		"FROM job WHERE no = $1",
		db_int(job));
	int64_t n = 0;
	int r = stmt_step(st);

	for (int i = 0; r == 1 && i < (int)ARRAY_SIZE(names); i++)
		if (!stmt_is_null(st, i) && stmt_get_int(st, i) < 0) {
			add_part(out, "%s is %lld", names[i], (long long)stmt_get_int(st, i));
			n++;
		}
	_cleanup_stmt_ struct stmt *sums = store_query(
		s, "SELECT metric, sum FROM job_sum WHERE job = $1 AND sum < 0 ORDER BY metric",
		db_int(job));
	while (r >= 0 && (r = stmt_step(sums)) == 1) {
		add_part(out, "the sum of %s is %lld", stmt_get_str(sums, 0),
			 (long long)stmt_get_int(sums, 1));
		n++;
	}
	return r < 0 ? r : n;
}

static int64_t check_negative(struct store *s, int64_t job, const struct verify_limits *l PL_UNUSED,
			      struct strbuf *out)
{
	int64_t n = count_negative_job(s, job, out), more;

	if (n < 0)
		return n;
	more = count_negative(s, job, "process", "id", ingest_process_metrics,
			      ingest_process_metric_count, "image", out);
	if (more < 0)
		return more;
	n += more;
	more = count_negative(s, job, "thread", "process", ingest_thread_metrics,
			      ingest_thread_metric_count, "thread", out);
	return more < 0 ? more : n + more;
}

static int64_t check_finite(struct store *s, int64_t job, const struct verify_limits *l PL_UNUSED,
			    struct strbuf *out)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT m.name, count(*) FROM sample_series v JOIN sample_metric m ON m.job = v.job "
		"AND m.n = v.metric WHERE v.job = $1 AND (abs(v.mean) > " DOUBLE_MAX
		" OR abs(v.increase) > " DOUBLE_MAX " OR abs(m.scale) > " DOUBLE_MAX
		" OR m.divisor = 0) GROUP BY m.name ORDER BY m.name",
		db_int(job));
	int64_t n = 0;
	int r;

	while ((r = stmt_step(st)) == 1) {
		add_part(out, "%s of %lld series", stmt_get_str(st, 0),
			 (long long)stmt_get_int(st, 1));
		n += stmt_get_int(st, 1);
	}
	return r < 0 ? r : n;
}

/* ---- totals --------------------------------------------------------------------------------- */

static int64_t check_threads(struct store *s, int64_t job, const struct verify_limits *l PL_UNUSED,
			     struct strbuf *out)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT j.num_threads, " STORE_RECORDED " FROM job j WHERE j.no = $1",
		db_int(job));
	int r = stmt_step(st);

	if (r != 1)
		return r;
	int64_t threads = stmt_get_int(st, 0), images = stmt_get_int(st, 1);
	/* 0: the threads of this job are unknown */
	if (threads <= 0 || threads >= images)
		return 0;
	add_part(out, "%lld %s, but %lld %s", (long long)images, plural(images, "image", "images"),
		 (long long)threads, plural(threads, "thread", "threads"));
	return 1;
}

static int64_t check_accounting(struct store *s, int64_t job,
				const struct verify_limits *l PL_UNUSED, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	int r = jobmeta_load(s, job, &meta, &why);

	if (r < 0 && !why.len)
		return r;
	if (r < 0) {
		add_part(out, "the metadata cannot be read: %s", why.buf);
		return 1;
	}
	const struct value *books = r ? value_get(meta, "books") : NULL;
	const struct value *total = value_get(books, "cpu_total");
	const struct value *known = value_get(books, "cpu_itemised");
	if (!total || total->kind != VALUE_INT || !known || known->kind != VALUE_INT)
		return 0;
	int64_t left = total->integer - known->integer;
	if (llabs(left) <= ACCOUNTING_LEAST_US ||
	    (double)llabs(left) <= ACCOUNTING_SHARE * (double)total->integer)
		return 0;
	add_part(out, "%.6f s of CPU time are accounted for, of %.6f s in total",
		 (double)known->integer / 1e6, (double)total->integer / 1e6);
	return 1;
}

/* ---- identity ------------------------------------------------------------------------------- */

static int64_t check_processes(struct store *s, int64_t job,
			       const struct verify_limits *l PL_UNUSED, struct strbuf *out)
{
	int64_t n = 0;
	int r = store_number_of(
		s,
		"SELECT count(*) FROM (SELECT 1 FROM process WHERE id BETWEEN $1 AND $2 AND "
		"pid IS NOT NULL AND start IS NOT NULL GROUP BY host, pid, generation, start "
		"HAVING count(*) > 1) t",
		&n, db_int(store_key(job, 0)), db_int(store_key(job, UINT32_MAX)));

	if (r == 0 && n)
		add_part(out, "%lld process %s on the same host at the same time", (long long)n,
			 plural(n, "id occurs twice", "ids occur twice"));
	return r < 0 ? r : n;
}

static int64_t check_jobs(struct store *s, int64_t job, const struct verify_limits *l PL_UNUSED,
			  struct strbuf *out)
{
	int64_t n = 0;
	int r = store_number_of(
		s,
		"SELECT count(*) FROM job j JOIN job o ON o.jobid = j.jobid AND o.no <> j.no AND "
		"o.cluster = j.cluster WHERE j.no = $1 AND o.start_us <= j.end_us AND "
		"o.end_us >= j.start_us",
		&n, db_int(job));

	if (r == 0 && n)
		add_part(out, "%lld other %s of the same id and cluster ran at the same time",
			 (long long)n, plural(n, "job", "jobs"));
	return r < 0 ? r : n;
}

const struct verify_check verify_checks[] = {
	{"dates", "dates before 2019 (or --since) or in the future", check_dates},
	{"order", "an end before the start, or a start before the submission", check_order},
	{"outside", "processes that started more than a minute outside of the job's time",
	 check_outside},
	{"negative", "numbers below zero that cannot be", check_negative},
	{"not_finite", "sampled values that are infinite or not a number", check_finite},
	{"threads", "fewer threads than processes", check_threads},
	{"accounting", "CPU time of the processes that differs from the total by more than 5 %",
	 check_accounting},
	{"duplicate_processes", "process ids that occur twice on a host at the same time",
	 check_processes},
	{"duplicate_jobs", "jobs of the same id and cluster at the same time", check_jobs},
	{NULL, NULL, NULL},
};

int verify_job(struct store *s, int64_t job, const struct verify_limits *l,
	       void (*tell)(void *user, const struct verify_check *c, int64_t count,
			    const char *detail),
	       void *user)
{
	int failed = 0;

	for (const struct verify_check *c = verify_checks; c->name; c++) {
		_cleanup_strbuf_ struct strbuf detail = STRBUF_INIT;
		int64_t n = c->run(s, job, l, &detail);

		if (n < 0)
			return (int)n;
		if (!n)
			continue;
		failed++;
		tell(user, c, n, detail.buf);
	}
	return failed;
}
