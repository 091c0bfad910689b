/*
 * What a filter and the lists of the store have in common: tests that everything must pass and that
 * the store has a list for, and how long these lists are.
 */
#include <errno.h>
#include <string.h>

#include "store/ingest/merge_streamed.h"
#include "store/job_list_internal.h"

/* ---- tests ---------------------------------------------------------------------------------- */

static struct list_term *add_term(struct list_plan *p, struct filter_node *test,
				  enum list_source source)
{
	if (p->term_count == TERMS_MAX)
		return NULL;
	struct list_term *t = &p->terms[p->term_count++];
	*t = (struct list_term){.source = source, .test = test};
	test->taken = true;
	return t;
}

static void take_words(struct list_plan *p, struct filter_node *test)
{
	struct job_words w;

	w.count = 0;
	job_words_add(&w, test->values[0].text);
	if (p->term_count + w.count > TERMS_MAX)
		return;
	for (size_t i = 0; i < w.count; i++) {
		struct list_term *t = add_term(p, test, LIST_WORDS);

		snprintf(t->word, sizeof(t->word), "%s", w.word[i]);
		snprintf(t->behind, sizeof(t->behind), "%s" JOB_WORD_LAST, w.word[i]);
	}
}

static void take_status(struct list_plan *p, struct filter_node *test)
{
	const char *text = test->values[0].text;

	/* most jobs are completed: there is no list of them */
	if (!strcmp(text, filter_statuses[STATUS_FAILED]))
		(void)add_term(p, test, LIST_FAILED);
	else if (!strcmp(text, filter_statuses[STATUS_RUNNING]))
		(void)add_term(p, test, LIST_RUNNING);
	else if (!strcmp(text, filter_statuses[STATUS_UNKNOWN]))
		(void)add_term(p, test, LIST_WITHOUT_STATUS);
}

static void take_text(struct list_plan *p, struct filter_node *test, enum list_source source)
{
	struct list_term *t = add_term(p, test, source);

	if (!t)
		return;
	t->key = test->name;
	t->value = test->values[0].text;
}

/* Limits of the start become those of the lists. */
static bool take_bound(struct list_plan *p, struct filter_node *test)
{
	bool start = !strcmp(test->key.name, "start"), after = !strcmp(test->key.name, "after");

	if ((!start && !after) || test->op == FILTER_KNOWN)
		return false;
	int64_t v = test->values[0].number;
	if (after || test->op == FILTER_AT_LEAST)
		p->from_us = v > p->from_us ? v : p->from_us;
	else if (test->op == FILTER_ABOVE)
		p->from_us = v >= p->from_us && v < INT64_MAX ? v + 1 : p->from_us;
	else if (test->op == FILTER_AT_MOST)
		p->to_us = v < p->to_us ? v : p->to_us;
	else
		p->to_us = v <= p->to_us && v > INT64_MIN ? v - 1 : p->to_us;
	p->bounded = test->taken = true;
	return true;
}

static void take_test(void *user, struct filter_node *test)
{
	struct list_plan *p = user;

	test->taken = false;
	if (!p->indexed || take_bound(p, test) || test->op != FILTER_IS || test->value_count != 1)
		return;
	if (test->key.type == FILTER_WORDS)
		take_words(p, test);
	else if (test->key.type == FILTER_STATUS)
		take_status(p, test);
	else if (test->key.type == FILTER_HOSTS)
		take_text(p, test, LIST_HOST);
	else if (test->key.type == FILTER_TAG)
		take_text(p, test, LIST_TAG);
	else if (!strcmp(test->key.name, "user"))
		take_text(p, test, LIST_USER);
}

static bool any_left(const struct filter_node *n)
{
	if (n->kind == FILTER_ALL_OF || (n->kind == FILTER_ANY_OF && n->count == 1)) {
		for (size_t i = 0; i < n->count; i++)
			if (any_left(n->children[i]))
				return true;
		return false;
	}
	return !(n->kind == FILTER_TEST && n->taken);
}

/* ---- lengths -------------------------------------------------------------------------------- */

/* Up to list_short + 1 rows within the limits of the start. */
static int count_rows(struct list_plan *p, struct list_term *t)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	int r;

	sql_add(&q, "SELECT count(*) FROM (SELECT 1");
	list_add_source(&q, p, t, t->word_count, false);
	/* words with the same beginning are not sorted, and a job may have several */
	if (p->bounded && (list_ordered(t) || t->source == LIST_RUNNING))
		list_add_bounds(&q, p, t);
	sql_put(&q, " LIMIT ?) t", db_int(p->list_short + 1));
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, p->s);
	r = stmt_step(st);
	t->count = r == 1 ? stmt_get_int(st, 0) : 0;
	return r < 0 ? r : 0;
}

/* The different words with the same beginning; *more: there are more than fit. */
static int find_words(struct list_plan *p, struct list_term *t)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(p->s, "SELECT min(word) FROM job_word WHERE word >= $1 AND word < $2");
	char from[JOB_WORD_BYTES + 2];
	int r = st ? 0 : -EIO;

	t->words = xcalloc(WORDS_IN_TURN, sizeof(*t->words));
	snprintf(from, sizeof(from), "%s", t->word);
	for (size_t i = 0; r >= 0 && i <= WORDS_IN_TURN; i++) {
		stmt_bind(st, db_str(from), db_str(t->behind));
		r = stmt_step(st);
		if (r < 0 || (r == 1 && stmt_is_null(st, 0)))
			break;
		if (i == WORDS_IN_TURN) {
			free(t->words);
			t->words = NULL;
			t->word_count = 0;
			break;
		}
		snprintf(t->words[i], sizeof(t->words[i]), "%s", stmt_get_str(st, 0));
		t->word_count = i + 1;
		/* the first that sorts behind it */
		snprintf(from, sizeof(from), "%s\001", t->words[i]);
		stmt_reset(st);
	}
	return r < 0 ? r : 0;
}

static int count_all(struct list_plan *p)
{
	int r = 0;

	for (size_t i = 0; i < p->term_count && r == 0; i++) {
		struct list_term *t = &p->terms[i];

		if (t->source == LIST_WORDS)
			r = find_words(p, t);
		if (r == 0)
			r = count_rows(p, t);
		if (!p->shortest || t->count < p->shortest->count)
			p->shortest = t;
	}
	p->all.count = p->list_short + 1;
	if (r == 0 && p->bounded)
		r = count_rows(p, &p->all);
	/* of two long ones a list is shorter than all jobs */
	if (!p->shortest || p->all.count < p->shortest->count)
		p->shortest = &p->all;
	return r;
}

int list_plan_begin(struct list_plan *p, struct store *s, struct filter *where, bool by_start,
		    int64_t list_short)
{
	*p = (struct list_plan){.s = s,
				.where = where,
				.from_us = INT64_MIN,
				.to_us = INT64_MAX,
				.indexed = s->schema >= SCHEMA_JOB_LIST,
				.by_start = by_start,
				.list_short = list_short ? list_short : LIST_SHORT};
	if (!where)
		p->where = p->own = filter_new(FILTER_JOBS);
	p->where->without_words = !p->indexed;
	filter_each_required(p->where, take_test, p);
	p->rest = any_left(p->where->root);
	return count_all(p);
}

void list_plan_end(struct list_plan *p)
{
	for (size_t i = 0; i < p->term_count; i++)
		free(p->terms[i].words);
	filter_free(p->own);
}
