/*
 * SQL of the job list. SQLite reads tables in the order that is written here and by the index that
 * is named; PostgreSQL decides by its statistics, but a condition with OFFSET 0 is asked for each
 * job and not turned into a join with all jobs that fulfil it.
 */
#include "store/ingest/merge_streamed.h"
#include "store/job_list_internal.h"

static bool is_sqlite(const struct list_plan *p)
{
	return !p->s->engine->concurrent;
}

const char *list_start(const struct list_term *t)
{
	return list_of_jobs(t) ? "j.start_us" : "d.start_us";
}

const char *list_number(const struct list_term *t)
{
	return list_of_jobs(t) ? "j.no" : "d.job";
}

/* ---- one list ------------------------------------------------------------------------------- */

static const char *const tables[] = {
	[LIST_HOST] = "job_host",
	[LIST_TAG] = "job_tag",
	[LIST_WORDS] = "job_word",
};
static const char *const indexes[] = {
	[LIST_ALL] = " INDEXED BY job_start",
	[LIST_USER] = " INDEXED BY job_user",
	[LIST_FAILED] = " INDEXED BY job_failed",
	[LIST_WITHOUT_STATUS] = " INDEXED BY job_without_status",
	[LIST_RUNNING] = " INDEXED BY job_streamed",
	[LIST_HOST] = " INDEXED BY job_host_start",
	[LIST_TAG] = " INDEXED BY job_tag_value",
	[LIST_WORDS] = " INDEXED BY job_word_start",
};

static void add_table(struct sql *q, const struct list_plan *p, const struct list_term *t,
		      bool with_job)
{
	if (list_of_jobs(t))
		sql_add(q, " FROM job j");
	else
		strbuf_addf(&q->text, " FROM %s d", tables[t->source]);
	/* views of a viewer have no indexes; a part of the table in another order is slower than
	 * all of it */
	bool named = is_sqlite(p) && p->indexed && !p->s->narrow;
	if (named && (t->source != LIST_ALL || p->by_start || p->bounded))
		sql_add(q, indexes[t->source]);
	if (with_job && !list_of_jobs(t))
		sql_add(q, is_sqlite(p) ? " CROSS JOIN job j ON j.no = d.job"
					: " JOIN job j ON j.no = d.job");
}

/* " = ..." of a list of jobs. */
static void add_job_condition(struct sql *q, const struct list_plan *p, const struct list_term *t)
{
	int64_t since = p->where->now_us - STORE_FED_QUIET_US;

	switch (t->source) {
	case LIST_USER:
		sql_put(q, "j.username = ?", db_str(t->value));
		break;
	case LIST_FAILED:
		sql_add(q, "j.exitcode <> 0");
		break;
	case LIST_WITHOUT_STATUS:
		sql_put(q,
			"j.exitcode IS NULL AND NOT (j.format = '" STORE_FED
			"' AND j.ingested_us > ?)",
			db_int(since));
		break;
	case LIST_RUNNING:
		sql_put(q, "j.format = '" STORE_FED "' AND j.ingested_us > ?", db_int(since));
		break;
	default:
		sql_add(q, "1 = 1");
	}
}

/* The same of a list in a table of its own. */
static void add_list_condition(struct sql *q, const struct list_term *t, size_t word)
{
	if (t->source == LIST_HOST)
		sql_put(q, "host = ?", db_str(t->value));
	else if (t->source == LIST_TAG)
		sql_put(q, "key = ? AND value = ?", db_str(t->key), db_str(t->value));
	else if (t->words && word < t->word_count)
		sql_put(q, "word = ?", db_str(t->words[word]));
	else
		sql_put(q, "word >= ? AND word < ?", db_str(t->word), db_str(t->behind));
}

void list_add_source(struct sql *q, const struct list_plan *p, const struct list_term *t,
		     size_t word, bool with_job)
{
	add_table(q, p, t, with_job);
	sql_add(q, " WHERE ");
	if (list_of_jobs(t))
		add_job_condition(q, p, t);
	else
		add_list_condition(q, t, word);
}

void list_add_bounds(struct sql *q, const struct list_plan *p, const struct list_term *t)
{
	bool jobs = list_of_jobs(t), from = p->from_us != INT64_MIN, to = p->to_us != INT64_MAX;

	/* of two lower limits SQLite may use the wrong one */
	if (from || !jobs) {
		strbuf_addf(&q->text, " AND %s >= ", list_start(t));
		sql_int(q, from && (jobs || p->from_us > 0) ? p->from_us : 1);
	} else if (!to) {
		strbuf_addf(&q->text, " AND %s IS NOT NULL", list_start(t));
	}
	if (to) {
		strbuf_addf(&q->text, " AND %s <= ", list_start(t));
		sql_int(q, p->to_us);
	}
}

/* ---- conditions -------------------------------------------------------------------------------
 */

/* Asks for one job whether it is in a list. */
static void add_probe(struct sql *q, const struct list_plan *p, const struct list_term *t,
		      const char *number)
{
	sql_add(q, " AND ");
	if (list_of_jobs(t)) {
		add_job_condition(q, p, t);
		return;
	}
	/* columns without an alias are those of the inner table */
	strbuf_addf(&q->text, "EXISTS (SELECT 1 FROM %s x WHERE x.job = %s AND ", tables[t->source],
		    number);
	add_list_condition(q, t, t->word_count);
	sql_add(q, is_sqlite(p) || p->summed ? ")" : " OFFSET 0)");
}

bool list_needs_job(const struct list_plan *p, const struct list_term *t)
{
	for (size_t i = 0; i < p->term_count; i++)
		if (&p->terms[i] != t && list_of_jobs(&p->terms[i]))
			return true;
	return p->rest;
}

void list_add_conditions(struct sql *q, const struct list_plan *p, const struct list_term *t)
{
	for (size_t i = 0; i < p->term_count; i++)
		if (&p->terms[i] != t)
			add_probe(q, p, &p->terms[i], list_number(t));
	if (!p->rest)
		return;
	sql_add(q, " AND ");
	filter_add_rest(q, p->where, p->s->engine);
}
