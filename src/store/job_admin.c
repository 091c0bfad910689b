/* Jobs that are in a store; see job_admin.h. */
#include <errno.h>

#include "store/job_admin.h"

#include "core/text/text.h"
#include "store/ingest/merge_streamed.h"

/* Jobs removed in one transaction, so that other writers get their turn in between. */
#define RETIRE_AT_ONCE 20

int store_delete_job(struct store *s, int64_t job)
{
	/* what others add to the job comes before this, or finds it gone */
	int r = s->engine->concurrent ? store_lock_job(s, job) : 0;

	r = r == -ESTALE ? 0 : r;
	for (const struct store_table *t = store_tables; t->name && r == 0; t++) {
		_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

		if (!t->job && !t->key)
			continue;
		strbuf_addf(&sql, "DELETE FROM %s WHERE %s BETWEEN $1 AND $2", t->name,
			    t->job ? t->job : t->key);
		r = store_run(s, sql.buf, db_int(t->job ? job : store_key(job, 0)),
			      db_int(t->job ? job : store_key(job, UINT32_MAX)));
	}
	return r;
}

/* ---- notes and tags ------------------------------------------------------------------------- */

static int load_pairs(struct store *s, const char *sql, int64_t job, bool json, struct value **ret)
{
	_cleanup_stmt_ struct stmt *st = store_query(s, sql, db_int(job));
	int r;

	*ret = value_new(VALUE_DICT);
	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT, list = STRBUF_INIT;
		_cleanup_value_ struct value *parsed = NULL;
		const char *text = stmt_get_str(st, 1);

		/* the parser takes only objects and lists, an annotation may be any value */
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

int store_load_analyses(struct store *s, int64_t job, struct value **ret)
{
	return load_pairs(s, "SELECT key, value FROM job_analysis WHERE job = $1 ORDER BY key", job,
			  true, ret);
}

bool pair_texts(const struct value *dict, size_t i, bool json, struct strbuf *key,
		struct strbuf *text)
{
	const struct value *k = value_key(dict, i), *v = value_at(dict, i);
	_cleanup_strbuf_ struct strbuf raw = STRBUF_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

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

/* Tags have the start of their job, by which lists sort. */
static const char put_tag[] = "INSERT INTO job_tag (job, key, value, start_us) VALUES ($1, $2, $3, "
			      "coalesce((SELECT start_us FROM job WHERE no = $1), 0))";

/* Replaces rows of a table (job, key, value). */
static int change(struct store *s, const char *table, int64_t job, const struct value *dict,
		  bool json, bool replace)
{
	_cleanup_free_ char *clear = xasprintf("DELETE FROM %s WHERE job = $1", table);
	_cleanup_free_ char *away = xasprintf("%s AND key = $2", clear);
	_cleanup_free_ char *put =
		json ? xasprintf("INSERT INTO %s (job, key, value) VALUES ($1, $2, $3)", table)
		     : xstrdup(put_tag);
	int r = store_begin(s);

	if (r == 0)
		r = store_lock_job(s, job);
	if (r == -ESTALE)
		r = store_fail(s, ENOENT, "the job is not in the store any more");
	if (r == 0 && replace)
		r = store_run(s, clear, db_int(job));
	for (size_t i = 0; i < value_pairs(dict) && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;

		if (!pair_texts(dict, i, json, &key, &text))
			continue;
		r = store_run(s, away, db_int(job), db_str(key.buf));
		if (r == 0)
			r = store_run(s, put, db_int(job), db_str(key.buf),
				      db_text(text.buf, text.len));
	}
	return store_end(s, r);
}

int store_annotate(struct store *s, int64_t job, const struct value *notes, bool replace)
{
	return change(s, "job_annotation", job, notes, true, replace);
}

int store_tag(struct store *s, int64_t job, const struct value *tags, bool replace)
{
	return change(s, "job_tag", job, tags, false, replace);
}

/* ---- retention ------------------------------------------------------------------------------ */

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

/* Index of the first job over a limit, counted from the newest; all older ones are, too. */
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
	return store_end(s, r);
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
