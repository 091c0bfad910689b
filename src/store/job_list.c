/* Pages of jobs; see job_list.h. */
#include "store/job_list.h"

#include <errno.h>
#include <string.h>

#include "store/job_list_internal.h"

/* So many jobs are counted for the total of a first page. */
#define TOTAL_MAX 5000

struct paging {
	struct list_plan plan;
	const struct job_list_query *query;
	struct job_page *page;
	const char *key; /* to sort by, without "-"; NULL: the start */
	bool descending, text;
	bool has_cursor;
	struct list_cursor from; /* where the page begins */
	struct list_cursor last; /* its last row */
	bool more;
};

void job_page_release(struct job_page *p)
{
	free(p->jobs);
	free(p->next);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Rows of a number and the value to sort by. unknown: the value is not known. */
static int take_rows(struct paging *g, const struct sql *q, bool unknown)
{
	_cleanup_stmt_ struct stmt *st = sql_prepare(q, g->plan.s);
	struct job_page *page = g->page;
	int r;

	while ((r = stmt_step(st)) == 1) {
		if (page->count == g->query->limit) {
			g->more = true;
			return 0;
		}
		page->jobs[page->count++] = stmt_get_int(st, 0);
		list_cursor_release(&g->last);
		g->last = (struct list_cursor){.unknown = unknown,
					       .is_text = g->text && !unknown,
					       .job = stmt_get_int(st, 0)};
		if (g->last.is_text)
			g->last.text = stmt_get_copy(st, 1);
		else if (!unknown)
			g->last.number = stmt_get_int(st, 1);
	}
	return r;
}

static int64_t rows_wanted(const struct paging *g)
{
	return (int64_t)(g->query->limit - g->page->count) + 1;
}

static const char *direction(const struct paging *g)
{
	return g->descending ? " DESC" : "";
}

/* Only rows behind the cursor; known: their value is. */
static void add_cursor(struct sql *q, const struct paging *g, const char *value, const char *number,
		       bool known)
{
	const char *behind = g->descending ? "<" : ">";

	if (!g->has_cursor)
		return;
	if (!known) {
		if (!g->from.unknown)
			return;
		strbuf_addf(&q->text, " AND %s %s ", number, behind);
		sql_int(q, g->from.job);
		return;
	}
	strbuf_addf(&q->text, " AND (%s, %s) %s (", value, number, behind);
	if (g->from.is_text)
		sql_text(q, g->from.text);
	else
		sql_int(q, g->from.number);
	sql_put(q, ", ?)", db_int(g->from.job));
}

static void add_order(struct sql *q, const struct paging *g, const char *value, const char *number)
{
	strbuf_addf(&q->text, " ORDER BY %s%s, %s%s", value, direction(g), number, direction(g));
	sql_put(q, " LIMIT ?", db_int(rows_wanted(g)));
}

/* ---- in the order of the start -----------------------------------------------------------------
 */

static void add_known(struct sql *q, const struct paging *g, const struct list_term *t)
{
	list_add_bounds(q, &g->plan, t);
	add_cursor(q, g, list_start(t), list_number(t), true);
}

/* The list whose jobs are read one after the other. */
static const struct list_term *driver(const struct list_plan *p)
{
	const struct list_term *t = p->shortest;

	/* many words, and many jobs of each: most jobs have one */
	return t->source == LIST_WORDS && !t->words && t->count > p->list_short ? &p->all : t;
}

static void add_list(struct sql *q, const struct paging *g, const struct list_term *t, size_t word,
		     bool distinct)
{
	strbuf_addf(&q->text, "SELECT %s%s AS job, %s AS start_us", distinct ? "DISTINCT " : "",
		    list_number(t), list_start(t));
	list_add_source(q, &g->plan, t, word, list_needs_job(&g->plan, t));
}

/* The first of each word, of which the first are wanted: each word has a list in order. */
static void add_words_in_turn(struct sql *q, const struct paging *g, const struct list_term *t)
{
	sql_add(q, "SELECT DISTINCT job, start_us FROM (");
	for (size_t i = 0; i < t->word_count; i++) {
		sql_add(q, i ? " UNION ALL SELECT * FROM (" : "SELECT * FROM (");
		add_list(q, g, t, i, false);
		add_known(q, g, t);
		list_add_conditions(q, &g->plan, t);
		add_order(q, g, list_start(t), list_number(t));
		strbuf_addf(&q->text, ") w%zu", i);
	}
	sql_add(q, ") words");
	add_order(q, g, "start_us", "job");
}

static void add_one_list(struct sql *q, const struct paging *g, const struct list_term *t)
{
	bool distinct = t->source == LIST_WORDS && t->word_count != 1;

	if (distinct && t->count > g->plan.list_short) {
		add_words_in_turn(q, g, t);
		return;
	}
	add_list(q, g, t, distinct ? t->word_count : 0, distinct);
	add_known(q, g, t);
	list_add_conditions(q, &g->plan, t);
	add_order(q, g, list_start(t), list_number(t));
}

/* All conditions have a list in order, and all lists are long. */
static bool can_merge(const struct list_plan *p)
{
	if (p->rest || p->term_count < 2 || p->shortest->count <= p->list_short)
		return false;
	for (size_t i = 0; i < p->term_count; i++)
		if (!list_ordered(&p->terms[i]))
			return false;
	return true;
}

/* SQLite reads the parts of INTERSECT side by side, PostgreSQL those of a merge join. */
static void add_merged(struct sql *q, const struct paging *g, bool sqlite)
{
	const struct list_plan *p = &g->plan;

	if (!sqlite)
		sql_add(q, "SELECT t0.job, t0.start_us FROM ");
	for (size_t i = 0; i < p->term_count; i++) {
		const struct list_term *t = &p->terms[i];

		sql_add(q, !i ? (sqlite ? "" : "(") : sqlite ? " INTERSECT " : " JOIN (");
		strbuf_addf(&q->text, "SELECT %s AS job, %s AS start_us", list_number(t),
			    list_start(t));
		list_add_source(q, p, t, 0, false);
		add_known(q, g, t);
		if (sqlite)
			continue;
		strbuf_addf(&q->text, ") t%zu", i);
		if (i)
			strbuf_addf(&q->text,
				    " ON t%zu.start_us = t0.start_us AND t%zu.job = t0.job", i, i);
	}
	add_order(q, g, sqlite ? "2" : "t0.start_us", sqlite ? "1" : "t0.job");
}

static int merge(struct paging *g)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	struct store *s = g->plan.s;
	bool sqlite = !s->engine->concurrent;

	add_merged(&q, g, sqlite);
	if (sqlite)
		return take_rows(g, &q, false);
	/* a guess that is too low would make it read one list at random */
	int r = store_exec(s, "SET enable_nestloop = off; SET enable_hashjoin = off");
	if (r == 0)
		r = take_rows(g, &q, false);
	int back = store_exec(s, "RESET enable_nestloop; RESET enable_hashjoin");
	return r < 0 ? r : back;
}

static int start_known(struct paging *g)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	if (can_merge(&g->plan))
		return merge(g);
	add_one_list(&q, g, driver(&g->plan));
	return take_rows(g, &q, false);
}

static int start_unknown(struct paging *g)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	const struct list_term *t = driver(&g->plan);

	add_list(&q, g, t, t->word_count, t->source == LIST_WORDS);
	strbuf_addf(&q.text, list_of_jobs(t) ? " AND %s IS NULL" : " AND %s = 0", list_start(t));
	add_cursor(&q, g, NULL, list_number(t), false);
	list_add_conditions(&q, &g->plan, t);
	add_order(&q, g, list_start(t), list_number(t));
	return take_rows(g, &q, true);
}

/* ---- in the order of a key ------------------------------------------------------------------- */

static int by_key(struct paging *g, bool known)
{
	_cleanup_sql_ struct sql q = SQL_INIT, value = SQL_INIT;
	struct list_plan *p = &g->plan;
	const struct list_term *t = driver(p);
	bool distinct = t->source == LIST_WORDS && t->word_count != 1;

	strbuf_addf(&q.text, "SELECT job, value FROM (SELECT %sj.no AS job, %s",
		    distinct ? "DISTINCT " : "", g->text ? "substr(" : "");
	filter_add_order(&q, p->where, p->s->engine, g->key);
	if (g->text) /* a cursor has all that is compared */
		sql_add(&q, ", 1, " LIST_TEXT_MAX ")");
	sql_add(&q, " AS value");
	list_add_source(&q, p, t, distinct ? t->word_count : 0, true);
	if (p->bounded)
		list_add_bounds(&q, p, t);
	list_add_conditions(&q, p, t);
	sql_add(&q, known ? ") l WHERE value IS NOT NULL" : ") l WHERE value IS NULL");
	add_cursor(&q, g, "value", "job", known);
	add_order(&q, g, "value", "job");
	return take_rows(g, &q, !known);
}

/* ---- pages ---------------------------------------------------------------------------------- */

/* Rows with a known value, then the others. */
static int fill(struct paging *g)
{
	int r = 0;

	if (!g->has_cursor || !g->from.unknown)
		r = g->key ? by_key(g, true) : start_known(g);
	if (r < 0 || g->more || (!g->key && g->plan.bounded))
		return r;
	return g->key ? by_key(g, false) : start_unknown(g);
}

static int count_matches(struct paging *g)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	const struct list_term *t = driver(&g->plan);

	strbuf_addf(&q.text, "SELECT count(DISTINCT %s)", list_number(t));
	list_add_source(&q, &g->plan, t, t->word_count == 1 ? 0 : t->word_count,
			list_needs_job(&g->plan, t));
	if (g->plan.bounded)
		list_add_bounds(&q, &g->plan, t);
	list_add_conditions(&q, &g->plan, t);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, g->plan.s);
	int r = stmt_step(st);
	if (r < 0)
		return r;
	g->page->has_total = r == 1;
	g->page->total = r == 1 ? stmt_get_int(st, 0) : 0;
	return 0;
}

/* Only where no more than some thousand jobs have to be looked at. */
static int find_total(struct paging *g)
{
	const struct list_plan *p = &g->plan;
	const struct list_term *t = p->shortest;

	if (g->has_cursor)
		return 0;
	if (!g->more || (!p->rest && p->term_count == 1 && t == p->terms && list_ordered(t) &&
			 t->count <= p->list_short)) {
		g->page->has_total = true;
		g->page->total = g->more ? t->count : (int64_t)g->page->count;
		return 0;
	}
	if (t->count <= TOTAL_MAX)
		return count_matches(g);
	/* SQLite counts pages */
	if (p->term_count || p->rest || p->bounded || p->s->engine->concurrent)
		return 0;
	g->page->has_total = true;
	return store_number(p->s, "SELECT count(*) FROM job", &g->page->total);
}

/* What to sort by, and where to begin. */
static int begin(struct paging *g, uint32_t *ret_mark, struct strbuf *why)
{
	const struct job_list_query *q = g->query;
	const char *order = q->order ? q->order : "-start";

	if (q->limit < 1 || q->limit > JOB_LIST_LIMIT_MAX)
		return strbuf_fail(why, -EINVAL, "a page has 1 to %d jobs", JOB_LIST_LIMIT_MAX);
	if (!filter_order_known(FILTER_JOBS, order, &g->text))
		return strbuf_fail(why, -EINVAL, "jobs cannot be sorted by '%s'",
				   order + (*order == '-'));
	g->descending = *order == '-';
	g->key = order + g->descending;
	if (!strcmp(g->key, "start"))
		g->key = NULL;
	*ret_mark = list_mark(q->where, order);
	if (!q->after)
		return 0;
	if (list_cursor_read(&g->from, q->after, *ret_mark) < 0 ||
	    (!g->from.unknown && g->from.is_text != g->text))
		return strbuf_fail(why, -EINVAL,
				   "this is not where a page of this list ended; begin with the "
				   "first page");
	g->has_cursor = true;
	return 0;
}

int job_list_page(struct store *s, const struct job_list_query *q, struct job_page *ret,
		  struct strbuf *why)
{
	struct paging g = {.query = q, .page = ret};
	uint32_t mark = 0;

	int r = begin(&g, &mark, why);
	if (r < 0)
		return r;
	ret->jobs = xcalloc(q->limit, sizeof(*ret->jobs));
	r = list_plan_begin(&g.plan, s, q->where, !g.key, q->list_short);
	if (r == 0)
		r = fill(&g);
	if (r == 0)
		r = find_total(&g);
	if (r == 0 && g.more)
		ret->next = list_cursor_write(&g.last, mark);
	list_plan_end(&g.plan);
	list_cursor_release(&g.from);
	list_cursor_release(&g.last);
	return r;
}
