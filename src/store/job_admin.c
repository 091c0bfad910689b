/* Jobs that are in a store; see job_admin.h. */
#include "store/job_admin.h"

#include <errno.h>
#include <string.h>

#include "core/text/text.h"

/* Jobs removed in one transaction: others get their turn in between. */
#define RETIRE_AT_ONCE 20

int store_delete_job(struct store *s, int64_t job)
{
	static const char *const by_key[] = {
		"DELETE FROM process WHERE id BETWEEN $1 AND $2",
		"DELETE FROM tree WHERE id BETWEEN $1 AND $2",
		"DELETE FROM string WHERE id BETWEEN $1 AND $2",
		"DELETE FROM thread WHERE process BETWEEN $1 AND $2",
		"DELETE FROM event WHERE process BETWEEN $1 AND $2",
	};
	static const char *const by_job[] = {
		"DELETE FROM job_meta WHERE job = $1",
		"DELETE FROM job_tag WHERE job = $1",
		"DELETE FROM job_annotation WHERE job = $1",
		"DELETE FROM job_analysis WHERE job = $1",
		"DELETE FROM job_host WHERE job = $1",
		"DELETE FROM job_sum WHERE job = $1",
		"DELETE FROM job_warning WHERE job = $1",
		"DELETE FROM job_proc_tag WHERE job = $1",
		"DELETE FROM job_profile WHERE job = $1",
		"DELETE FROM sample_metric WHERE job = $1",
		"DELETE FROM sample_entity WHERE job = $1",
		"DELETE FROM sample_series WHERE job = $1",
		"DELETE FROM sample_tick WHERE job = $1",
		"DELETE FROM sample_chunk WHERE job = $1",
		"DELETE FROM sample_absence WHERE job = $1",
		"DELETE FROM job WHERE no = $1",
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(by_key) && r == 0; i++) {
		_cleanup_stmt_ struct stmt *st = stmt_prepare(s, by_key[i]);

		if (!st)
			return -EIO;
		stmt_int(st, 1, store_key(job, 0));
		stmt_int(st, 2, store_key(job, UINT32_MAX));
		r = stmt_run(st);
	}
	for (size_t i = 0; i < ARRAY_SIZE(by_job) && r == 0; i++) {
		_cleanup_stmt_ struct stmt *st = stmt_prepare(s, by_job[i]);

		if (!st)
			return -EIO;
		stmt_int(st, 1, job);
		r = stmt_run(st);
	}
	return r;
}

/* ---- notes and tags ------------------------------------------------------------------------- */

static int forget(struct store *s, const char *sql, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(s, sql);

	if (!st)
		return -EIO;
	stmt_int(st, 1, job);
	return stmt_run(st);
}

static int load_pairs(struct store *s, const char *sql, int64_t job, bool json, struct value **ret)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(s, sql);
	int r;

	*ret = value_new(VALUE_DICT);
	if (!st)
		return -EIO;
	stmt_int(st, 1, job);
	while ((r = stmt_step(st)) == 1) {
		_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT, list = STRBUF_INIT;
		_cleanup_value_ struct value *parsed = NULL;
		const char *text = stmt_get_str(st, 1);

		/* JSON is an object or a list, an annotation any value */
		strbuf_addf(&list, "[%s]", text);
		if (json && value_from_json(list.buf, list.len, &parsed, &ignored) == 0 &&
		    parsed->kind == VALUE_LIST && parsed->list.count == 1)
			value_set(*ret, stmt_get_str(st, 0), value_ref(parsed->list.items[0]));
		else
			value_set(*ret, stmt_get_str(st, 0), value_str(text));
	}
	return r;
}

int store_load_notes(struct store *s, int64_t job, struct value **ret_tags,
		     struct value **ret_annotations)
{
	int r = load_pairs(s, "SELECT key, value FROM job_tag WHERE job = $1 ORDER BY key", job,
			   false, ret_tags);

	*ret_annotations = NULL;
	return r < 0 ? r
		     : load_pairs(
			       s,
			       "SELECT key, value FROM job_annotation WHERE job = $1 ORDER BY key",
			       job, true, ret_annotations);
}

/* One row of a table (job, key, value), whether the key is there or not. */
static int put_pair(struct store *s, const char *const sql[2], int64_t job, const char *key,
		    const struct strbuf *value)
{
	_cleanup_stmt_ struct stmt *away = stmt_prepare(s, sql[0]);
	_cleanup_stmt_ struct stmt *put = stmt_prepare(s, sql[1]);

	if (!away || !put)
		return -EIO;
	stmt_int(away, 1, job);
	stmt_str(away, 2, key);
	int r = stmt_run(away);
	if (r < 0)
		return r;
	stmt_int(put, 1, job);
	stmt_str(put, 2, key);
	stmt_text(put, 3, value->buf, value->len);
	return stmt_run(put);
}

bool pair_texts(const struct value *dict, size_t i, bool json, struct strbuf *key,
		struct strbuf *text)
{
	const struct value *k = value_key(dict, i), *v = value_at(dict, i);
	_cleanup_strbuf_ struct strbuf raw = STRBUF_INIT;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	if (k->kind != VALUE_STR)
		return false;
	text_add_printable(key, k->str.data, k->str.size);
	if (json) {
		value_to_json(v, &j, NULL);
		strbuf_add(text, j.out.buf, j.out.len);
	} else {
		value_to_text(v, &raw);
		text_add_printable(text, raw.buf, raw.len);
	}
	return true;
}

static int put_dict(struct store *s, const char *const sql[2], int64_t job,
		    const struct value *dict, bool json)
{
	int r = 0;

	for (size_t i = 0; i < value_pairs(dict) && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;

		if (!pair_texts(dict, i, json, &key, &text))
			continue;
		r = put_pair(s, sql, job, key.buf, &text);
	}
	return r;
}

static int change(struct store *s, const char *const sql[3], int64_t job, const struct value *dict,
		  bool json, bool replace)
{
	int r = store_begin(s);

	if (r == 0 && replace)
		r = forget(s, sql[2], job);
	if (r == 0)
		r = put_dict(s, sql, job, dict, json);
	if (r == 0)
		r = store_commit(s);
	if (r < 0)
		store_rollback(s);
	return r;
}

int store_annotate(struct store *s, int64_t job, const struct value *notes, bool replace)
{
	static const char *const sql[] = {
		"DELETE FROM job_annotation WHERE job = $1 AND key = $2",
		"INSERT INTO job_annotation (job, key, value) VALUES ($1, $2, $3)",
		"DELETE FROM job_annotation WHERE job = $1",
	};

	return change(s, sql, job, notes, true, replace);
}

int store_tag(struct store *s, int64_t job, const struct value *tags, bool replace)
{
	static const char *const sql[] = {
		"DELETE FROM job_tag WHERE job = $1 AND key = $2",
		"INSERT INTO job_tag (job, key, value) VALUES ($1, $2, $3)",
		"DELETE FROM job_tag WHERE job = $1",
	};

	return change(s, sql, job, tags, false, replace);
}

/* ---- time's up ------------------------------------------------------------------------------ */

struct old_job {
	int64_t no, end_us, bytes;
	char *jobid;
};

/* All jobs, the newest first. */
static int read_jobs(struct store *s, struct old_job **ret, size_t *ret_count)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT no, coalesce(end_us, ingested_us), "
		   "bytes + 190 * num_procs + 60 * num_threads + 10000, jobid FROM job "
		   "ORDER BY 2 DESC, 1 DESC");
	struct old_job *jobs = NULL;
	size_t count = 0, cap = 0;
	int r = st ? 0 : -EIO;

	while (st && (r = stmt_step(st)) == 1) {
		GROW(jobs, count, cap);
		jobs[count++] = (struct old_job){stmt_get_int(st, 0), stmt_get_int(st, 1),
						 stmt_get_int(st, 2), xstrdup(stmt_get_str(st, 3))};
	}
	*ret = jobs;
	*ret_count = count;
	return r < 0 ? r : 0;
}

/* Index of the first job, counted from the newest, that is over a limit: it and all older ones. */
static size_t first_over(const struct retire_limits *l, const struct old_job *jobs, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += (uint64_t)jobs[i].bytes;
		if ((l->before_us && jobs[i].end_us < l->before_us) || (l->keep && i >= l->keep) ||
		    (l->bytes && bytes > l->bytes))
			return i;
	}
	return count;
}

static int delete_some(struct store *s, const struct old_job *jobs, size_t from, size_t to)
{
	int r = store_begin(s);

	for (size_t i = to; i-- > from && r == 0;)
		r = store_delete_job(s, jobs[i].no);
	if (r == 0)
		r = store_commit(s);
	if (r < 0)
		store_rollback(s);
	return r;
}

int64_t store_retire(struct store *s, const struct retire_limits *limits, bool dry,
		     void (*tell)(void *user, const char *jobid, int64_t end_us), void *user)
{
	struct old_job *jobs = NULL;
	size_t count = 0;
	int64_t gone = 0;

	int r = read_jobs(s, &jobs, &count);
	size_t over = first_over(limits, jobs, count);
	for (size_t to = count; to > over && r == 0;) {
		size_t from = to - over > RETIRE_AT_ONCE ? to - RETIRE_AT_ONCE : over;

		for (size_t i = to; i-- > from;)
			tell(user, jobs[i].jobid, jobs[i].end_us);
		if (!dry)
			r = delete_some(s, jobs, from, to);
		gone += (int64_t)(to - from);
		to = from;
	}
	for (size_t i = 0; i < count; i++)
		free(jobs[i].jobid);
	free(jobs);
	return r < 0 ? r : gone;
}
