/* The stored jobs that a command works on; see job_selection.h. */
#include "context/job_selection.h"

#include <errno.h>
#include <stdlib.h>

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

static bool has(const struct job_selection *js, int64_t no)
{
	for (size_t i = 0; i < js->count; i++)
		if (js->v[i].no == no)
			return true;
	return false;
}

/* Adds what a statement gives: no, jobid, start. */
static int add_rows(struct job_selection *js, struct store *s, struct stmt *st)
{
	int r = st ? 1 : -EIO;

	while (r > 0 && (r = stmt_step(st)) == 1) {
		_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;
		int64_t no = stmt_get_int(st, 0);

		if (has(js, no))
			continue;
		if (job_label(s, no, stmt_get_str(st, 1), &label) < 0)
			return -EIO;
		GROW(js->v, js->count, js->cap);
		js->v[js->count++] = (struct selected_job){
			.no = no, .label = xstrdup(label.buf), .start_us = stmt_get_int(st, 2)};
		r = 1;
	}
	return r;
}

/* One of several jobs with the same id (ID@START), or all jobs of an id or a name. */
static int add_word(struct job_selection *js, struct store *s, char *const *word,
		    struct strbuf *why)
{
	struct job_ids ids = {0};
	int64_t no;

	if (strchr(*word, '@') && job_find_id(s, *word, &no, why) == 0) {
		_cleanup_stmt_ struct stmt *st = store_query(
			s, "SELECT no, jobid, start_us FROM job WHERE no = $1", db_int(no));
		return add_rows(js, s, st);
	}
	strbuf_reset(why);
	int r = job_ids_find(&ids, s, word, 1, why);
	for (size_t i = 0; i < ids.count && r >= 0; i++) {
		_cleanup_stmt_ struct stmt *st =
			store_query(s, "SELECT no, jobid, start_us FROM job WHERE jobid = $1",
				    db_str(ids.v[i]));
		r = add_rows(js, s, st);
	}
	job_ids_release(&ids);
	return r;
}

int job_selection_find(struct job_selection *js, struct store *s, char *const *words, size_t count,
		       const char *where, struct strbuf *why)
{
	int r = 0;

	if (where) {
		strbuf_addf(why, "filters are not available here");
		return -ENOENT;
	}
	for (size_t i = 0; i < count && r >= 0; i++)
		r = add_word(js, s, &words[i], why);
	if (js->count)
		qsort(js->v, js->count, sizeof(*js->v), by_start);
	if (r < 0 && !why->len)
		strbuf_addf(why, "%s", store_error(s));
	return r;
}
