/* Analyses and alerts of stored jobs; see job_analyses.h. */
#include "store/analysis/job_analyses.h"

#include "core/clock.h"
#include "store/ingest/merge_streamed.h"
#include "store/job_admin.h"

/* A transaction in which the job cannot disappear; *inner: it is the caller's. */
static int begin_with(struct store *s, int64_t job, bool *inner, struct strbuf *why)
{
	*inner = s->in_transaction;
	int r = *inner ? 0 : store_begin(s);

	if (r < 0)
		return strbuf_fail(why, r, "%s", store_error(s));
	r = store_lock_job(s, job);
	if (r == 0)
		return 0;
	strbuf_addstr(why, r == -ESTALE ? "the job was deleted" : store_error(s));
	if (!*inner)
		store_rollback(s);
	return r == -ESTALE ? -ENOENT : r;
}

static int end_with(struct store *s, int r, bool inner, struct strbuf *why)
{
	int e = inner ? r : store_end(s, r);

	if (e < 0 && !why->len)
		strbuf_addstr(why, store_error(s));
	return e;
}

/* ---- analyses ------------------------------------------------------------------------------- */

static int put(struct store *s, int64_t job, const char *key, const char *text, size_t n)
{
	int r = store_run(s, "DELETE FROM job_analysis WHERE job = $1 AND key = $2", db_int(job),
			  db_str(key));

	return r < 0 ? r
		     : store_run(s,
				 "INSERT INTO job_analysis (job, key, value) VALUES ($1, $2, $3)",
				 db_int(job), db_str(key), db_text(text, n));
}

static int check_size(struct store *s, int64_t job, struct strbuf *why)
{
	int64_t size = 0;
	int r = store_number_of(s,
				"SELECT CAST(coalesce(sum(length(key) + length(value)), 0) AS "
				"BIGINT) FROM job_analysis WHERE job = $1",
				&size, db_int(job));

	if (r == 0 && size > ANALYSES_MAX)
		return strbuf_fail(
			why, -E2BIG,
			"the analyses of a job have at most %d KiB, and these would have "
			"%lld; nothing was changed",
			ANALYSES_MAX / 1024, (long long)(size + 1023) / 1024);
	return r;
}

int analyses_set(struct store *s, int64_t job, const struct value *pairs, bool replace,
		 struct strbuf *why)
{
	bool inner;
	int r = begin_with(s, job, &inner, why);

	if (r < 0)
		return r;
	if (replace)
		r = store_run(s, "DELETE FROM job_analysis WHERE job = $1", db_int(job));
	for (size_t i = 0; i < value_pairs(pairs) && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;

		if (pair_texts(pairs, i, true, &key, &text))
			r = put(s, job, key.buf, text.buf, text.len);
	}
	if (r == 0)
		r = check_size(s, job, why);
	return end_with(s, r, inner, why);
}

int analyses_remove(struct store *s, int64_t job, const char *key, struct strbuf *why)
{
	_cleanup_stmt_ struct stmt *st =
		key ? store_query(s, "DELETE FROM job_analysis WHERE job = $1 AND key = $2",
				  db_int(job), db_str(key))
		    : store_query(s, "DELETE FROM job_analysis WHERE job = $1", db_int(job));
	int r = st ? stmt_run(st) : -EIO;

	if (r < 0)
		return strbuf_fail(why, r, "%s", store_error(s));
	if (!s->engine->changes(st))
		return strbuf_fail(why, -ENOENT, key ? "it has no analysis '%s'" : "it has none%s",
				   key ? key : "");
	return 0;
}

int analysis_is_done(struct store *s, int64_t job)
{
	int64_t n = 0;
	int r = store_number_of(s, "SELECT count(*) FROM job_analysis WHERE job = $1 AND key = $2",
				&n, db_int(job), db_str(ANALYSIS_OUTLIERS));

	return r < 0 ? r : n > 0;
}

/* ---- alerts --------------------------------------------------------------------------------- */

/* The features of the flagged values, each once. */
static void add_features(const struct value *outliers, struct strbuf *out)
{
	_cleanup_value_ struct value *names = value_new(VALUE_DICT);

	for (size_t i = 0; outliers && i < outliers->list.count; i++) {
		const char *name = value_get_str(outliers->list.items[i], "feature");

		if (name)
			value_set(names, name, value_bool(true));
	}
	value_sort(names);
	for (size_t i = 0; i < value_pairs(names); i++)
		strbuf_addf(out, "%s%s", i ? "," : "", value_key(names, i)->str.data);
}

static int add_alert(struct store *s, int64_t job, const struct value *result)
{
	_cleanup_strbuf_ struct strbuf features = STRBUF_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	const struct value *outliers = value_get(result, "outliers");
	const char *model = value_get_str(result, "model");

	add_features(outliers, &features);
	value_to_json(outliers, &j, NULL);
	/* one of the same features is known already */
	int r = store_run(s,
			  "DELETE FROM job_alert WHERE job = $1 AND model = $2 AND features <> $3",
			  db_int(job), db_str(model ? model : ""), db_str(features.buf));
	return r < 0 ? r
		     : store_run(
			       s,
			       "INSERT INTO job_alert (job, model, found_us, outliers, features, "
			       "json) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (job, model) DO "
			       "UPDATE SET outliers = excluded.outliers, json = excluded.json",
			       db_int(job), db_str(model ? model : ""), db_int(clock_realtime_us()),
			       db_int(value_get_int(result, "count")), db_str(features.buf),
			       db_text(j.out.buf, j.out.len));
}

static bool is_flagged(const struct value *results, const char *model)
{
	for (size_t i = 0; i < results->list.count; i++) {
		const char *name = value_get_str(results->list.items[i], "model");

		if (!strcmp(name ? name : "", model) &&
		    value_get_int(results->list.items[i], "count") > 0)
			return true;
	}
	return false;
}

/* Alerts of models that no longer flag the job. */
static int drop_alerts(struct store *s, int64_t job, const struct value *results)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT model FROM job_alert WHERE job = $1", db_int(job));
	_cleanup_value_ struct value *gone = value_new(VALUE_LIST);
	int r;

	while ((r = stmt_step(st)) == 1)
		if (!is_flagged(results, stmt_get_str(st, 0)))
			value_append(gone, value_str(stmt_get_str(st, 0)));
	for (size_t i = 0; i < gone->list.count && r == 0; i++)
		r = store_run(s, "DELETE FROM job_alert WHERE job = $1 AND model = $2", db_int(job),
			      db_str(gone->list.items[i]->str.data));
	return r;
}

static int store_results(struct store *s, int64_t job, const struct value *results, bool first,
			 struct strbuf *why)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	bool inner;
	int r = begin_with(s, job, &inner, why);

	if (r < 0)
		return r;
	value_to_json(results, &j, NULL);
	if (first) {
		r = analysis_is_done(s, job);
		r = r > 0 ? -EEXIST : r;
	}
	if (r == 0)
		r = put(s, job, ANALYSIS_OUTLIERS, j.out.buf, j.out.len);
	if (r == 0)
		r = drop_alerts(s, job, results);
	for (size_t i = 0; i < results->list.count && r == 0; i++)
		if (value_get_int(results->list.items[i], "count") > 0)
			r = add_alert(s, job, results->list.items[i]);
	return end_with(s, r, inner, why);
}

int analysis_store(struct store *s, int64_t job, const struct value *results, struct strbuf *why)
{
	return store_results(s, job, results, false, why);
}

int analysis_store_first(struct store *s, int64_t job, const struct value *results,
			 struct strbuf *why)
{
	return store_results(s, job, results, true, why);
}

int alerts_move(struct store *s, int64_t from, int64_t to)
{
	return store_run(s, "UPDATE job_alert SET job = $1 WHERE job = $2", db_int(to),
			 db_int(from));
}

int64_t alerts_acknowledge(struct store *s, int64_t job, const char *model, const char *by,
			   const char *note)
{
#define ACKNOWLEDGE                                                                         \
	"UPDATE job_alert SET acknowledged_us = $1, acknowledged_by = $2, note = $3 WHERE " \
	"job = $4 AND acknowledged_us IS NULL"
	_cleanup_stmt_ struct stmt *st =
		model ? store_query(s, ACKNOWLEDGE " AND model = $5", db_int(clock_realtime_us()),
				    db_str(by), db_str(note), db_int(job), db_str(model))
		      : store_query(s, ACKNOWLEDGE, db_int(clock_realtime_us()), db_str(by),
				    db_str(note), db_int(job));
	int r = st ? stmt_run(st) : -EIO;

	return r < 0 ? r : s->engine->changes(st);
}
