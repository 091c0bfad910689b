/* The stored jobs that a command works on; see job_selection.h. */
#include "context/job_selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/query.h"

void job_selection_release(struct job_selection *js)
{
	for (size_t i = 0; i < js->count; i++)
		free(js->v[i].label);
	free(js->v);
	*js = (struct job_selection){0};
}

static int by_start(const void *a, const void *b)
{
	const struct selected_job *x = a, *y = b;

	if (x->start_us != y->start_us)
		return x->start_us < y->start_us ? -1 : 1;
	return x->no < y->no ? -1 : x->no > y->no;
}

/* Adds what a statement gives: no, jobid, start, whether other jobs have the same id. */
static int add_rows(struct job_selection *js, struct store *s, struct stmt *st)
{
	int r = st ? 1 : -EIO;

	while (r > 0 && (r = stmt_step(st)) == 1) {
		_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;
		_cleanup_free_ char *jobid = xstrdup(stmt_get_str(st, 1));
		int64_t no = stmt_get_int(st, 0);

		if (!stmt_get_int(st, 3))
			strbuf_addstr(&label, stmt_get_str(st, 1));
		else if (job_label(s, no, stmt_get_str(st, 1), &label) < 0)
			return -EIO;
		GROW(js->v, js->count, js->cap);
		js->v[js->count++] = (struct selected_job){
			.no = no, .label = xstrdup(label.buf), .start_us = stmt_get_int(st, 2)};
		r = 1;
	}
	return r;
}

#define COLUMNS                                                                             \
	"j.no, j.jobid, j.start_us, CASE WHEN EXISTS (SELECT 1 FROM job o WHERE o.jobid = " \
	"j.jobid AND o.no <> j.no) THEN 1 ELSE 0 END"

/* Adds the jobs that fulfil a condition on j and the filter. */
static int add_where(struct job_selection *js, struct store *s, struct filter *f,
		     const char *condition, struct db_value v)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	sql_add(&q, "SELECT " COLUMNS " FROM job j WHERE ");
	sql_put(&q, condition, v);
	if (!filter_is_empty(f)) {
		sql_add(&q, " AND ");
		filter_add_jobs(&q, f, s->engine);
	}
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	return add_rows(js, s, st);
}

/* One of several jobs with the same id (ID@START), or all jobs of an id or a name. */
static int add_word(struct job_selection *js, struct store *s, char *const *word, struct filter *f,
		    struct strbuf *why)
{
	struct job_ids ids = {0};
	int64_t no;

	if (strchr(*word, '@') && job_find_id(s, *word, &no, why) == 0)
		return add_where(js, s, f, "j.no = ?", db_int(no));
	strbuf_reset(why);
	int r = job_ids_find(&ids, s, word, 1, why);
	for (size_t i = 0; i < ids.count && r >= 0; i++)
		r = add_where(js, s, f, "j.jobid = ?", db_str(ids.v[i]));
	job_ids_release(&ids);
	return r;
}

/* Two words may name the same job. */
static void drop_repeated(struct job_selection *js)
{
	size_t kept = 0;

	for (size_t i = 0; i < js->count; i++) {
		if (kept && js->v[kept - 1].no == js->v[i].no)
			free(js->v[i].label);
		else
			js->v[kept++] = js->v[i];
	}
	js->count = kept;
}

int job_selection_find(struct job_selection *js, struct store *s, char *const *words, size_t count,
		       const char *where, struct strbuf *why)
{
	_cleanup_filter_ struct filter *f = filter_new(FILTER_JOBS);
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	int r = 0;

	if (where && filter_parse(f, where, &reason) < 0)
		return strbuf_fail(why, -EINVAL, "filter: %s", reason.buf);
	for (size_t i = 0; i < count && r >= 0; i++)
		r = add_word(js, s, &words[i], f, why);
	if (where && !count)
		r = add_where(js, s, f, "j.no > ?", db_int(0));
	if (js->count)
		qsort(js->v, js->count, sizeof(*js->v), by_start);
	drop_repeated(js);
	if (r < 0 && !why->len)
		strbuf_addf(why, "%s", store_error(s));
	return r;
}

/* ---- arrays --------------------------------------------------------------------------------- */

#define ARRAY_TASKS_MAX 100000

/* Slurm numbers tasks when they start: their ids follow that of the array. Ids are texts, and
 * numbers of the same length have the order of texts: a range for each length. */
static void add_id_ranges(struct strbuf *sql, uint64_t from)
{
	uint64_t end = from + ARRAY_TASKS_MAX, longer = 1;

	for (; from <= end; from = longer) {
		while (longer <= from)
			longer *= 10;
		uint64_t last = longer - 1 < end ? longer - 1 : end;

		strbuf_addf(sql,
			    "(j.jobid >= '%llu' AND j.jobid <= '%llu' AND length(j.jobid) = "
			    "length('%llu')) OR ",
			    (unsigned long long)from, (unsigned long long)last,
			    (unsigned long long)from);
	}
}

int job_selection_add_array(struct job_selection *js, struct store *s, const char *id)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	_cleanup_free_ char *task = xasprintf("%%\"array_job\":\"%s\"%%", id),
			    *named = xasprintf("%s_%%", id);
	size_t before = js->count;
	uint64_t number;

	if (strlen(id) > 18 || parse_u64(id, &number) < 0)
		return 0;
	strbuf_addstr(&sql,
		      "SELECT " COLUMNS " FROM job j JOIN job_meta m ON m.job = j.no WHERE (");
	add_id_ranges(&sql, number);
	strbuf_addf(&sql, "j.jobid LIKE $1) AND %sm.json%s LIKE $2", s->engine->text_before,
		    s->engine->text_after);
	_cleanup_stmt_ struct stmt *st = store_query(s, sql.buf, db_str(named), db_str(task));
	int r = add_rows(js, s, st);
	if (r < 0)
		return r;
	int found = (int)(js->count - before);
	if (js->count)
		qsort(js->v, js->count, sizeof(*js->v), by_start);
	drop_repeated(js);
	return found;
}
