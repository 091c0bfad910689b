/* Jobs that were fed and are submitted; see merge_streamed.h. */
#include "store/ingest/merge_streamed.h"

#include <errno.h>
#include <string.h>

#include "store/identity.h"
#include "store/job_admin.h"
#include "tables/hdf5/hdf5_file.h"

/* All that a statement names: rows of a job's number, its user, and that of the one that is
 * submitted. */
static int64_t set_aside_found(struct store *s, struct stmt *found, const char *table)
{
	_cleanup_free_ char *sql = xasprintf("UPDATE %s SET jobid = jobid || '" STORE_ASIDE
					     "', nth = -no WHERE no = $1 AND nth >= 0",
					     table);
	_cleanup_free_ int64_t *list = NULL;
	size_t count = 0, cap = 0;
	int64_t done = 0;
	int r;

	while ((r = stmt_step(found)) == 1) {
		const char *fed = stmt_is_null(found, 1) ? NULL : stmt_get_str(found, 1);

		if (identity_users_differ(fed,
					  stmt_is_null(found, 2) ? NULL : stmt_get_str(found, 2)))
			continue;
		GROW(list, count, cap);
		list[count++] = stmt_get_int(found, 0);
	}
	_cleanup_stmt_ struct stmt *st = r < 0 || !count ? NULL : stmt_prepare(s, sql);
	if (count && !st)
		return r < 0 ? r : -EIO;
	for (size_t i = 0; i < count && r == 0; i++) {
		stmt_int(st, 1, list[i]);
		r = stmt_run(st);
		done += r == 0 ? st->store->engine->changes(st) : 0;
	}
	return r < 0 ? r : done;
}

int64_t store_set_aside(struct store *s, const char *jobid, const char *user, int64_t start_us,
			int64_t end_us)
{
	/* publishing does it: only then does it hold the lock */
	if (s->staged)
		return 0;
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT no, username, CAST($4 AS TEXT) FROM job WHERE jobid = $1 "
				"AND format = '" STORE_FED
				"' AND start_us <= $2 AND end_us >= $3 AND " STORE_USERS_AGREE(
					"username", "CAST($4 AS TEXT)"));
	if (!st)
		return -EIO;
	stmt_str(st, 1, jobid);
	stmt_str(st, 4, user);
	stmt_int(st, 2, end_us ? end_us + JOB_GAP_US : INT64_MAX);
	stmt_int(st, 3, start_us ? start_us - JOB_GAP_US : INT64_MIN);
	return set_aside_found(s, st, "job");
}

int store_set_aside_staged(struct store *s)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT o.no, o.username, t.username FROM main.job o JOIN temp.job t ON "
		   "t.jobid = o.jobid AND (t.end_us IS NULL OR o.start_us <= t.end_us "
		   "+ " JOB_GAP_SQL ") AND (t.start_us IS NULL OR o.end_us >= t.start_us "
		   "- " JOB_GAP_SQL ") WHERE o.format = '" STORE_FED
		   "' AND " STORE_USERS_AGREE("o.username", "t.username"));
	int64_t r = st ? set_aside_found(s, st, "main.job") : -EIO;

	return r < 0 ? (int)r : 0;
}

/* ---- what is there twice ----------------------------------------------------------------------
 */

#define SECOND_US 1000000 /* fixed rows of HDF5 files have whole seconds */
#define CURVES                                                                              \
	"(SELECT m.name AS metric, e.host AS host, e.kind AS kind, e.name AS entity, "      \
	"sum(s.count) AS readings, min(s.first_us) AS first_us, max(s.last_us) AS last_us " \
	"FROM sample_series s JOIN sample_metric m ON m.job = s.job AND m.n = s.metric "    \
	"JOIN sample_entity e ON e.job = s.job AND e.n = s.entity WHERE s.job "
#define GROUPED " GROUP BY m.name, e.host, e.kind, e.name)"

/* By hosts: in such files a job has the curves of its nodes, too, and copies of its own under
 * the names of fixed rows, which were not fed to it. */
static const char compare_sql[] =
	"SELECT count(*), coalesce(sum(CASE WHEN known > 0 THEN 1 ELSE 0 END), 0), "
	"coalesce(sum(CASE WHEN known > 0 AND whole = known THEN 1 ELSE 0 END), 0) FROM (SELECT "
	"n.host AS host, count(f.readings) AS known, sum(CASE WHEN f.readings >= n.readings AND "
	"f.first_us <= n.first_us + $5 AND f.last_us >= n.last_us - $5 THEN 1 ELSE 0 END) AS whole "
	"FROM " CURVES "= $1" GROUPED " n LEFT JOIN " CURVES
	"IN (SELECT no FROM job WHERE jobid = $2 AND format = '" STORE_FED
	"' AND start_us <= $3 AND end_us >= $4)" GROUPED
	" f ON f.metric = n.metric AND f.host = n.host AND f.kind = n.kind AND f.entity = n.entity "
	"GROUP BY n.host) h";

int store_compare_fed(struct store *s, int64_t job, const char *jobid, int64_t start_us,
		      int64_t end_us)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(s, compare_sql);

	if (!st)
		return -EIO;
	stmt_int(st, 1, job);
	stmt_str(st, 2, jobid);
	stmt_int(st, 3, end_us + JOB_GAP_US);
	stmt_int(st, 4, start_us - JOB_GAP_US);
	stmt_int(st, 5, SECOND_US);
	int r = stmt_step(st);
	if (r != 1)
		return r < 0 ? r : -EIO;
	int64_t hosts = stmt_get_int(st, 0), known = stmt_get_int(st, 1),
		whole = stmt_get_int(st, 2);
	return !known ? 0 : whole == hosts ? -EEXIST : -ENOTUNIQ;
}

/* ---- moving -----------------------------------------------------------------------------------
 */

static int64_t last_number(struct store *s, const char *sql, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(s, sql);

	if (!st)
		return -EIO;
	stmt_int(st, 1, job);
	int r = stmt_step(st);
	return r == 1 ? stmt_get_int(st, 0) : r < 0 ? r : -EIO;
}

/* Every statement has the job that takes as $1, the one that gives as $2, and what is added to
 * numbers of metrics, entities and ticks behind them, as far as it has use for them. */
static int move_rows(struct store *s, int64_t to, int64_t from, const int64_t add[3])
{
	static const struct {
		const char *sql;
		int places[3]; /* which of the additions are $3, $4, ...; 0: none */
	} moves[] = {
		{"UPDATE sample_metric SET job = $1, n = n + $3 WHERE job = $2", {1}},
		{"UPDATE sample_entity SET job = $1, n = n + $3 WHERE job = $2", {2}},
		{"UPDATE sample_tick SET job = $1, n = n + $3 WHERE job = $2", {3}},
		{"UPDATE sample_series SET job = $1, metric = metric + $3, entity = entity + $4 "
		 "WHERE job = $2",
		 {1, 2}},
		{"UPDATE sample_chunk SET job = $1, metric = metric + $3, entity = entity + $4, "
		 "tick = tick + $5 WHERE job = $2",
		 {1, 2, 3}},
		{"INSERT INTO sample_absence (job, host, metric, reason) SELECT CAST($1 AS BIGINT), host, metric, "
		 "reason FROM sample_absence WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		{"INSERT INTO job_host (job, host, num_procs) SELECT CAST($1 AS BIGINT), host, num_procs FROM "
		 "job_host WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		{"INSERT INTO job_sum (job, metric, sum, max) SELECT CAST($1 AS BIGINT), metric, sum, max FROM "
		 "job_sum WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		/* what people noted while it was fed */
		{"INSERT INTO job_tag (job, key, value) SELECT CAST($1 AS BIGINT), key, value FROM "
		 "job_tag WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		{"INSERT INTO job_annotation (job, key, value) SELECT CAST($1 AS BIGINT), key, value "
		 "FROM job_annotation WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		/* readings alone know nothing of processes: it stays the job that was fed */
		{"UPDATE job SET (format, source, username, cpu_us, num_procs, processes, num_threads) = "
		 "(SELECT o.format, o.source, coalesce(o.username, job.username), CASE WHEN o.cpu_us > 0 "
		 "THEN o.cpu_us ELSE job.cpu_us END, o.num_procs, o.processes, o.num_threads FROM job o "
		 "WHERE o.no = $2) WHERE no = $1 AND format = '" HDF5_JOBS_FORMAT "'",
		 {0}},
		{"UPDATE job SET bytes = bytes + coalesce((SELECT o.bytes FROM job o WHERE o.no = $2), "
		 "0) WHERE no = $1",
		 {0}},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(moves) && r == 0; i++) {
		_cleanup_stmt_ struct stmt *st = stmt_prepare(s, moves[i].sql);

		if (!st)
			return -EIO;
		stmt_int(st, 1, to);
		stmt_int(st, 2, from);
		for (int k = 0; k < 3 && moves[i].places[k]; k++)
			stmt_int(st, 3 + k, add[moves[i].places[k] - 1]);
		r = stmt_run(st);
	}
	return r == 0 ? store_delete_job(s, from) : r;
}

/* The one that gives is locked first: whoever feeds it waits, and then finds it gone. */
int store_lock_job(struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "UPDATE job SET ingested_us = ingested_us WHERE no = $1");

	if (!st)
		return -EIO;
	stmt_int(st, 1, job);
	int r = stmt_run(st);
	return r < 0 ? r : st->store->engine->changes(st) == 1 ? 0 : -ESTALE;
}

static int adopt_one(struct store *s, int64_t to, int64_t from)
{
	static const char *const last[3] = {
		"SELECT coalesce(max(n), 0) FROM sample_metric WHERE job = $1",
		"SELECT coalesce(max(n), 0) FROM sample_entity WHERE job = $1",
		"SELECT coalesce(max(n), 0) FROM sample_tick WHERE job = $1"};
	int64_t add[3];
	int r = store_begin(s);

	if (r == 0)
		r = store_lock_job(s, from);
	if (r == 0)
		r = store_lock_job(s, to);
	for (size_t i = 0; i < 3 && r == 0; i++) {
		add[i] = last_number(s, last[i], to);
		r = add[i] < 0 ? (int)add[i] : 0;
	}
	if (r == 0)
		r = move_rows(s, to, from, add);
	if (r == 0)
		r = store_commit(s);
	if (r < 0)
		store_rollback(s);
	return r;
}

/* Which gives to which, each once: to the one whose time is nearest. */
static int find_pairs(struct store *s, int64_t pairs[][2], int max)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT j.no, o.no, j.start_us, j.end_us, o.start_us, o.end_us, "
		   "o.username, j.username FROM job o JOIN "
		   "job j ON o.jobid = j.jobid || '" STORE_ASIDE "' WHERE o.format = '" STORE_FED
		   "' AND o.jobid LIKE '%" STORE_ASIDE "' AND j.format <> '" STORE_FED
		   "' AND " STORE_USERS_AGREE("o.username", "j.username") " ORDER BY o.no, j.no");
	int64_t nearest = 0;
	int count = 0, r;

	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		int64_t from = stmt_get_int(st, 1);
		bool again = count && pairs[count - 1][1] == from;
		int64_t gap = stmt_is_null(st, 2)
				      ? 0
				      : identity_gap_us(stmt_get_int(st, 2), stmt_get_int(st, 3),
							stmt_get_int(st, 4), stmt_get_int(st, 5));

		if (gap > JOB_GAP_US || (again && gap >= nearest) ||
		    identity_users_differ(stmt_is_null(st, 6) ? NULL : stmt_get_str(st, 6),
					  stmt_is_null(st, 7) ? NULL : stmt_get_str(st, 7)))
			continue;
		if (!again && count == max)
			break;
		count += !again;
		pairs[count - 1][0] = stmt_get_int(st, 0);
		pairs[count - 1][1] = from;
		nearest = gap;
	}
	return r < 0 ? r : count;
}

int store_merge_streamed(struct store *s)
{
	int64_t pairs[32][2];
	int count = find_pairs(s, pairs, ARRAY_SIZE(pairs)), r = 0;

	for (int i = 0; i < count && r == 0; i++) {
		r = adopt_one(s, pairs[i][0], pairs[i][1]);
		/* somebody else was faster */
		if (r == -ESTALE)
			r = 0;
	}
	return r < 0 ? r : count;
}
