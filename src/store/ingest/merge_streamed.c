/* Merging streamed and submitted jobs; see merge_streamed.h. */
#include "store/ingest/merge_streamed.h"

#include <errno.h>

#include "store/analysis/job_analyses.h"
#include "store/identity.h"
#include "store/job_admin.h"
#include "store/job_figures.h"

/* Renames the jobs of a statement, whose columns are number, user, and user of the submitted job.
 */
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
		r = stmt_run_with(st, db_int(list[i]));
		done += r == 0 ? st->store->engine->changes(st) : 0;
	}
	return r < 0 ? r : done;
}

int64_t store_set_aside(struct store *s, const char *jobid, const char *user, int64_t start_us,
			int64_t end_us)
{
	/* publishing does it, because only then it holds the lock */
	if (s->staged)
		return 0;
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT no, username, CAST($4 AS TEXT) FROM job WHERE jobid = $1 "
			    "AND format = '" STORE_FED
			    "' AND start_us <= $2 AND end_us >= $3 AND " STORE_USERS_AGREE(
				    "username", "CAST($4 AS TEXT)"),
			    db_str(jobid), db_int(end_us ? end_us + JOB_GAP_US : INT64_MAX),
			    db_int(start_us ? start_us - JOB_GAP_US : INT64_MIN), db_str(user));
	return st ? set_aside_found(s, st, "job") : -EIO;
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

/* ---- comparing -------------------------------------------------------------------- */

#define SECOND_US 1000000 /* fixed rows of HDF5 files have whole seconds */
#define SERIES_OF                                                                           \
	"(SELECT m.name AS metric, e.host AS host, e.kind AS kind, e.name AS entity, "      \
	"sum(s.count) AS readings, min(s.first_us) AS first_us, max(s.last_us) AS last_us " \
	"FROM sample_series s JOIN sample_metric m ON m.job = s.job AND m.n = s.metric "    \
	"JOIN sample_entity e ON e.job = s.job AND e.n = s.entity WHERE s.job "
#define GROUPED " GROUP BY m.name, e.host, e.kind, e.name)"

/* By host: in HDF5 files a job also has the series of its nodes, and copies of its own under the
 * names of fixed rows, which were not streamed. */
static const char compare_sql[] =
	"SELECT count(*), coalesce(sum(CASE WHEN known > 0 THEN 1 ELSE 0 END), 0), "
	"coalesce(sum(CASE WHEN known > 0 AND whole = known THEN 1 ELSE 0 END), 0) FROM (SELECT "
	"n.host AS host, count(f.readings) AS known, sum(CASE WHEN f.readings >= n.readings AND "
	"f.first_us <= n.first_us + $5 AND f.last_us >= n.last_us - $5 THEN 1 ELSE 0 END) AS whole "
	"FROM " SERIES_OF "= $1" GROUPED " n LEFT JOIN " SERIES_OF
	"IN (SELECT no FROM job WHERE jobid = $2 AND format = '" STORE_FED
	"' AND start_us <= $3 AND end_us >= $4)" GROUPED
	" f ON f.metric = n.metric AND f.host = n.host AND f.kind = n.kind AND f.entity = n.entity "
	"GROUP BY n.host) h";

int store_compare_fed(struct store *s, int64_t job, const char *jobid, int64_t start_us,
		      int64_t end_us)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, compare_sql, db_int(job), db_str(jobid), db_int(end_us + JOB_GAP_US),
			    db_int(start_us - JOB_GAP_US), db_int(SECOND_US));
	int r = st ? stmt_step(st) : -EIO;
	if (r != 1)
		return r < 0 ? r : -EIO;
	int64_t hosts = stmt_get_int(st, 0), known = stmt_get_int(st, 1),
		whole = stmt_get_int(st, 2);
	return !known ? 0 : whole == hosts ? -EEXIST : -ENOTUNIQ;
}

/* ---- moving --------------------------------------------------------------------------------- */

/* In each statement $1 is the target job and $2 the source; $3 and so on are offsets of the numbers
 * of metrics, entities and ticks. */
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
		{"INSERT INTO job_host (job, host, num_procs, start_us) SELECT CAST($1 AS BIGINT), host, "
		 "num_procs, coalesce((SELECT j.start_us FROM job j WHERE j.no = $1), 0) FROM "
		 "job_host WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		{"INSERT INTO job_sum (job, metric, sum, max) SELECT CAST($1 AS BIGINT), metric, sum, max FROM "
		 "job_sum WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		/* tags and annotations from before */
		{"INSERT INTO job_tag (job, key, value, start_us) SELECT CAST($1 AS BIGINT), key, value, "
		 "coalesce((SELECT j.start_us FROM job j WHERE j.no = $1), 0) FROM "
		 "job_tag WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		{"INSERT INTO job_annotation (job, key, value) SELECT CAST($1 AS BIGINT), key, value "
		 "FROM job_annotation WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		{"INSERT INTO job_analysis (job, key, value) SELECT CAST($1 AS BIGINT), key, value "
		 "FROM job_analysis WHERE job = $2 ON CONFLICT DO NOTHING",
		 {0}},
		/* more data: to be analysed again */
		{"DELETE FROM job_analysis WHERE job IN ($1, $2) AND key = '" ANALYSIS_OUTLIERS "'",
		 {0}},
		/* a job from samples alone knows no processes: keeps what was streamed */
		{"UPDATE job SET (format, source, username, cpu_us, num_procs, processes, num_threads) = "
		 "(SELECT o.format, o.source, coalesce(o.username, job.username), CASE WHEN o.cpu_us > 0 "
		 "THEN o.cpu_us ELSE job.cpu_us END, o.num_procs, o.processes, o.num_threads FROM job o "
		 "WHERE o.no = $2) WHERE no = $1 AND format IN ('hdf5'"
#define ROW_LAYOUT(symbol) ", '" #symbol "'"
#include "samples/row_layouts.def"
#undef ROW_LAYOUT
		 ")",
		 {0}},
		{"UPDATE job SET bytes = bytes + coalesce((SELECT o.bytes FROM job o WHERE o.no = $2), "
		 "0) WHERE no = $1",
		 {0}},
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(moves) && r == 0; i++) {
		_cleanup_stmt_ struct stmt *st =
			store_query(s, moves[i].sql, db_int(to), db_int(from));

		if (!st)
			return -EIO;
		for (int k = 0; k < 3 && moves[i].places[k]; k++)
			stmt_int(st, 3 + k, add[moves[i].places[k] - 1]);
		r = stmt_run(st);
	}
	return r == 0 ? store_delete_job(s, from) : r;
}

/* The series that were moved may tell its energy. */
static int take_energy(struct store *s, int64_t job)
{
	int64_t energy = 0;
	bool known = false;
	int r = job_energy(s, job, &energy, &known);

	if (r < 0 || !known)
		return r;
	return store_run(s, "UPDATE job SET energy_mj = $1 WHERE no = $2", db_int(energy),
			 db_int(job));
}

/* The source is locked first: a collector that streams to it waits, and then finds it gone. */
int store_lock_job(struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "UPDATE job SET ingested_us = ingested_us WHERE no = $1", db_int(job));
	int r = st ? stmt_run(st) : -EIO;

	return r < 0 ? r : st->store->engine->changes(st) == 1 ? 0 : -ESTALE;
}

static int merge_one(struct store *s, int64_t to, int64_t from)
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
	for (size_t i = 0; i < 3 && r == 0; i++)
		r = store_number_of(s, last[i], &add[i], db_int(to));
	if (r == 0)
		r = move_rows(s, to, from, add);
	return store_end(s, r < 0 ? r : take_energy(s, to));
}

/* Pairs of target and source, with the target nearest in time. */
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
		r = merge_one(s, pairs[i][0], pairs[i][1]);
		/* another process was faster */
		if (r == -ESTALE)
			r = 0;
	}
	return r < 0 ? r : count;
}
