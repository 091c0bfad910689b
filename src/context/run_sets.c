/* The sets of runs of a comparison; see run_sets.h. */
#include "context/run_sets.h"

#include <errno.h>
#include <string.h>

#include "store/query.h"

#define NAMED_MAX 3 /* jobs that a message names */

void run_sets_release(struct run_sets *r)
{
	for (size_t i = 0; i < r->a_count + r->b_count; i++)
		free(r->labels[i]);
	free(r->labels);
	free(r->jobs);
	fingerprint_release(&r->fingerprint);
	strbuf_release(&r->description);
	strbuf_release(&r->warnings);
	*r = (struct run_sets)RUN_SETS_INIT;
}

static void add_run(struct run_sets *r, int64_t no, const char *label, bool baseline)
{
	const size_t n = r->a_count + r->b_count;

	if (n >= r->cap) {
		r->cap = r->cap ? 2 * r->cap : 64;
		r->jobs = xreallocarray(r->jobs, r->cap, sizeof(*r->jobs));
		r->labels = xreallocarray(r->labels, r->cap, sizeof(*r->labels));
	}
	r->jobs[n] = no;
	r->labels[n] = xstrdup(label);
	if (baseline)
		r->b_count++;
	else
		r->a_count++;
}

/* Did it fail? A job whose end is unknown did not. */
static int has_failed(struct store *s, int64_t no)
{
	int64_t failed = 0;
	int r = store_number_of(
		s,
		"SELECT count(*) FROM job WHERE no = $1 AND exitcode IS NOT NULL AND exitcode <> 0",
		&failed, db_int(no));

	return r < 0 ? r : failed > 0;
}

/* A store that failed: its message. */
static int store_problem(struct store *s, int r, struct strbuf *why)
{
	if (r < 0 && !why->len)
		strbuf_addstr(why, s->error.len ? store_error(s) : strerror(-r));
	return r;
}

static int add_selected(struct run_sets *r, struct store *s, const struct job_selection *js,
			const struct run_sets_request *q, bool baseline)
{
	for (size_t i = 0; i < js->count; i++) {
		int failed = q->with_failed ? 0 : has_failed(s, js->v[i].no);

		if (failed < 0)
			return failed;
		if (!failed)
			add_run(r, js->v[i].no, js->v[i].label, baseline);
		else if (baseline)
			r->b_failed++;
		else
			r->a_failed++;
	}
	return 0;
}

static int find_overlap(const struct run_sets *r, struct strbuf *why)
{
	for (size_t i = 0; i < r->a_count; i++)
		for (size_t j = 0; j < r->b_count; j++)
			if (r->jobs[i] == r->jobs[r->a_count + j])
				return strbuf_fail(
					why, -EEXIST,
					"job %s is in both sets; a run can only be in one of them",
					r->labels[i]);
	return 0;
}

/* ---- by fingerprint ------------------------------------------------------------------------- */

static int add_found(struct run_sets *r, struct store *s, const struct run_sets_request *q,
		     int64_t before_us, bool baseline)
{
	_cleanup_free_ int64_t *found = NULL;
	const struct fingerprint_search search = {.ignore_tags = q->ignore_tags,
						  .before_us = before_us,
						  .limit = q->baseline_last,
						  .with_failed = q->with_failed};
	const int64_t n = fingerprint_find(s, &r->fingerprint, &search, &found,
					   baseline ? &r->b_failed : &r->a_failed);

	if (n < 0)
		return (int)n;
	fingerprint_text(&r->description, &r->fingerprint);
	for (int64_t i = 0; i < n; i++) {
		_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;
		_cleanup_free_ char *id = job_id_of(s, found[i]);

		if (!id || job_label(s, found[i], id, &label) < 0)
			return -EIO;
		add_run(r, found[i], label.buf, baseline);
	}
	return 0;
}

static int find_baseline(struct run_sets *r, struct store *s, const struct job_selection *js,
			 const struct run_sets_request *q, struct strbuf *why)
{
	r->by_fingerprint = true;
	if (!r->fingerprint.command)
		return strbuf_fail(
			why, -ENOENT,
			"job %s has no process records, so its baseline cannot be found; "
			"name the runs of the baseline behind --",
			r->labels[0]);
	int e = add_found(r, s, q, js->v[0].start_us, true);
	if (e < 0 || r->b_count)
		return e;
	strbuf_addstr(why, "there are no earlier runs like these in the store: ");
	strbuf_addstr(why, r->description.buf);
	strbuf_addstr(why, r->b_failed ? "; all of them failed, --with-failed takes them"
				       : "; name the runs of the baseline behind --");
	return -ENOENT;
}

/* Warns of runs that are not like the first one. */
static int compare_fingerprints(struct run_sets *r, struct store *s,
				const struct run_sets_request *q)
{
	size_t others = 0;
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;
	const char *first_difference = NULL;

	for (size_t i = 1; i < r->a_count + r->b_count; i++) {
		_cleanup_fingerprint_ struct fingerprint f = {0};

		/* those that were found by it have it */
		if (r->by_fingerprint && i >= r->a_count)
			break;
		int e = fingerprint_load(&f, s, r->jobs[i], q->ignore_tags);
		if (e < 0 && e != -ENOENT)
			return e;
		const char *what = fingerprint_difference(&r->fingerprint, &f);
		if (!what)
			continue;
		if (!first_difference)
			first_difference = what;
		if (others++ < NAMED_MAX)
			strbuf_addf(&names, "%s%s (%s)", others > 1 ? ", " : "", r->labels[i],
				    what);
	}
	if (others)
		strbuf_addf(&r->warnings,
			    "%zu of %zu runs %s from the first one, %s: %s%s; differences may come "
			    "from that\n",
			    others, r->a_count + r->b_count, plural(others, "differs", "differ"),
			    r->labels[0], names.buf, others > NAMED_MAX ? ", ..." : "");
	return 0;
}

static int no_runs(const struct run_sets *r, bool baseline, struct strbuf *why)
{
	const size_t failed = baseline ? r->b_failed : r->a_failed;

	if (failed)
		return strbuf_fail(why, -ENOENT,
				   "all %zu runs of the %s failed; --with-failed takes them",
				   failed, baseline ? "baseline" : "first set");
	return strbuf_fail(why, -ENOENT, "no runs in the %s match",
			   baseline ? "baseline" : "first set");
}

static int find_sets(struct run_sets *r, struct store *s, const struct run_sets_request *q,
		     struct job_selection *a, struct job_selection *b, struct strbuf *why)
{
	const bool automatic = !q->baseline_word_count && !q->baseline_where;
	int e = job_selection_find(a, s, q->words, q->word_count, q->where, why);

	if (e >= 0)
		e = add_selected(r, s, a, q, false);
	if (e >= 0 && !r->a_count)
		return no_runs(r, false, why);
	if (e >= 0)
		e = fingerprint_load(&r->fingerprint, s, r->jobs[0], q->ignore_tags);
	if (e == -ENOENT && !why->len)
		e = 0;
	if (e >= 0 && automatic)
		e = find_baseline(r, s, a, q, why);
	else if (e >= 0)
		e = job_selection_find(b, s, q->baseline_words, q->baseline_word_count,
				       q->baseline_where, why);
	if (e >= 0)
		e = add_selected(r, s, b, q, true);
	if (e >= 0 && !r->b_count)
		return no_runs(r, true, why);
	if (e >= 0)
		e = find_overlap(r, why);
	return e < 0 ? e : compare_fingerprints(r, s, q);
}

int run_sets_find(struct run_sets *r, struct store *s, const struct run_sets_request *q,
		  struct strbuf *why)
{
	_cleanup_job_selection_ struct job_selection a = {0}, b = {0};

	return store_problem(s, find_sets(r, s, q, &a, &b, why), why);
}

/* ---- history -------------------------------------------------------------------------------- */

static int find_history(struct run_sets *r, struct store *s, const struct run_sets_request *q,
			struct job_selection *js, struct strbuf *why)
{
	int e = job_selection_find(js, s, q->words, q->word_count, q->where, why);

	if (e < 0)
		return e;
	if (!js->count)
		return no_runs(r, false, why);
	/* several: these; one: all that are like it */
	const bool several = js->count > 1 || q->where;
	if (several)
		e = add_selected(r, s, js, q, false);
	if (e >= 0 && several && !r->a_count)
		return no_runs(r, false, why);
	if (e >= 0)
		e = fingerprint_load(&r->fingerprint, s, several ? r->jobs[0] : js->v[0].no,
				     q->ignore_tags);
	if (e == -ENOENT && !several)
		return strbuf_fail(
			why, e,
			"job %s has no process records, so runs like it cannot be found; "
			"name several jobs",
			js->v[0].label);
	if (e < 0 && e != -ENOENT)
		return e;
	if (several)
		return compare_fingerprints(r, s, q);
	r->by_fingerprint = true;
	e = add_found(r, s, q, INT64_MAX, false);
	return e >= 0 && !r->a_count ? no_runs(r, false, why) : e;
}

int run_sets_find_history(struct run_sets *r, struct store *s, const struct run_sets_request *q,
			  struct strbuf *why)
{
	_cleanup_job_selection_ struct job_selection js = {0};

	return store_problem(s, find_history(r, s, q, &js, why), why);
}
