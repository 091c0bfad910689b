/*
 * Processes and threads as tables. The SQL views would look up five texts per row; here rows have
 * the numbers of texts, and each text is looked up once. Processes are read in ranges of numbers: a
 * database with one connection holds all remaining rows in memory while another statement runs.
 */
#include <errno.h>
#include <string.h>

#include "store/ingest/ingest.h"
#include "store/ingest/merge_streamed.h"
#include "views/export/export_internal.h"

#define RANGE 4096        /* processes that one execution of the statement reads */
#define AHEAD 1024        /* texts */
#define CACHED (4u << 20) /* bytes of texts */
#define SKIPPED_MAX 64u   /* texts that are skipped rather than restarting the statement */

/* Texts of the job by number. New ones come in order of their numbers: one statement reads ahead;
 * older ones are looked up. */
struct strings {
	struct stmt *ahead, *one;
	uint32_t at, end; /* the last number that came, and where the statement ends; end 0: none */
	struct string_table cache;
};

struct source_column {
	size_t column; /* of the table */
	int from;      /* of the statement */
};

struct table_rows {
	const struct plan_column *plan;
	size_t plan_count;
	struct stmt *rows, *events;
	struct strings strings;
	struct source_column *ints, *times, *texts, *words;
	size_t int_count, time_count, text_count, word_count;
	size_t event_first;
	int64_t next, last; /* numbers of processes */
	bool open;          /* the statement has rows left */
	/* the event that comes next */
	bool has_event;
	int64_t event_process, event_thread, event_value;
	size_t event_column;
	struct string_table event_columns; /* number of the name, and place in choice.events */
	size_t *event_places;
	size_t event_place_count, event_place_cap;
};

/* ---- columns --------------------------------------------------------------------------------- */

static bool in_plan(const struct plan_column *plan, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(plan[i].name, name))
			return true;
	return false;
}

static void choose_plan(enum table_table table, const struct plan_column **ret, size_t *ret_count,
			const enum metric_id **ret_metrics, size_t *ret_metric_count)
{
	bool threads = table == TABLE_THREADS;

	*ret = threads ? table_thread_plan : table_process_plan;
	*ret_count = threads ? table_thread_plan_count : table_process_plan_count;
	*ret_metrics = threads ? ingest_thread_metrics : ingest_process_metrics;
	*ret_metric_count = threads ? ingest_thread_metric_count : ingest_process_metric_count;
}

void table_rows_columns(struct table_columns *c, const struct table_choice *choice)
{
	const struct plan_column *plan;
	const enum metric_id *ids;
	size_t count, id_count;

	choose_plan(choice->table, &plan, &count, &ids, &id_count);
	for (size_t i = 0; i < count; i++)
		table_columns_add(c, plan[i].name, plan[i].from, plan[i].help);
	for (size_t i = 0; i < id_count; i++)
		if (!in_plan(plan, count, metric_by_id(ids[i])->name))
			table_columns_add(c, metric_by_id(ids[i])->name, PLAN_INT, NULL);
	for (size_t i = 0; choice->events && i < choice->events->count; i++) {
		char *name = xasprintf("event.%s", choice->events->names[i]);

		table_columns_add(c, table_columns_name(c, name), PLAN_EVENT,
				  "how often the event was counted");
	}
}

/* ---- the statement --------------------------------------------------------------------------- */

static void add_source(struct source_column **list, size_t *count, size_t column, int from)
{
	*list = xreallocarray(*list, *count + 1, sizeof(**list));
	(*list)[(*count)++] = (struct source_column){column, from};
}

static void add_expression(struct table_rows *r, struct strbuf *sql, int *from, size_t column,
			   enum plan_from kind, const char *expression)
{
	strbuf_addf(sql, ", %s", expression);
	if (kind == PLAN_INT)
		add_source(&r->ints, &r->int_count, column, *from);
	else if (kind == PLAN_TIME)
		add_source(&r->times, &r->time_count, column, *from);
	else if (kind == PLAN_STRING)
		add_source(&r->texts, &r->text_count, column, *from);
	else
		add_source(&r->words, &r->word_count, column, *from);
	(*from)++;
}

static void add_metric(struct table_rows *r, struct strbuf *sql, int *from, size_t column,
		       const char *name, bool threads)
{
	_cleanup_strbuf_ struct strbuf e = STRBUF_INIT;

	if (threads)
		strbuf_addf(&e, "CASE WHEN h.n IS NULL THEN p.%s ELSE h.%s END", name, name);
	else
		strbuf_addf(&e, "p.%s", name);
	add_expression(r, sql, from, column, PLAN_INT, e.buf);
}

static void make_statement(struct table_source *f, struct strbuf *sql)
{
	struct table_rows *r = f->rows;
	bool threads = f->choice.table == TABLE_THREADS;
	const enum metric_id *ids;
	size_t id_count, column;
	int from = 2;

	choose_plan(f->choice.table, &r->plan, &r->plan_count, &ids, &id_count);
	strbuf_addf(sql, "SELECT p.id, %s",
		    threads ? "CASE WHEN h.n IS NULL THEN 0 ELSE h.n END" : "0");
	for (column = 0; column < r->plan_count; column++)
		if (r->plan[column].sql)
			add_expression(r, sql, &from, column, r->plan[column].from,
				       r->plan[column].sql);
	for (size_t i = 0; i < id_count; i++)
		if (!in_plan(r->plan, r->plan_count, metric_by_id(ids[i])->name))
			add_metric(r, sql, &from, column++, metric_by_id(ids[i])->name, threads);
	r->event_first = column;
	strbuf_addstr(sql, threads ? " FROM process p LEFT JOIN thread h ON h.process = p.id "
				     "WHERE p.id BETWEEN $1 AND $2 AND "
				     "(h.n IS NOT NULL OR p.numtids <= 1) "
				     "ORDER BY p.id, h.n"
				   : " FROM process p JOIN tree t ON t.id = p.id "
				     "WHERE p.id BETWEEN $1 AND $2 ORDER BY p.id");
}

static int load_total(struct table_source *f)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		f->store,
		"SELECT (SELECT max(id) FROM process WHERE id BETWEEN $1 AND $2), " STORE_RECORDED
		", CASE WHEN j.format = '" STORE_FED
		"' THEN 0 ELSE j.num_threads END FROM job j WHERE j.no = $3",
		db_int(store_key(f->job, 0)), db_int(store_key(f->job, UINT32_MAX)),
		db_int(f->job));

	int r = stmt_step(st);
	if (r != 1)
		return r;
	f->rows->last = stmt_is_null(st, 0) ? 0 : stmt_get_int(st, 0) & UINT32_MAX;
	f->total = stmt_get_int(st, f->choice.table == TABLE_THREADS ? 2 : 1);
	return 0;
}

int table_rows_open(struct table_source *f)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;
	struct table_rows *r = f->rows = xcalloc(1, sizeof(*r));

	r->strings.cache = (struct string_table)STRING_TABLE_INIT;
	r->event_columns = (struct string_table)STRING_TABLE_INIT;
	r->next = 1;
	make_statement(f, &sql);
	r->rows = stmt_prepare(f->store, sql.buf);
	r->strings.ahead = stmt_prepare(
		f->store, "SELECT id, bytes FROM string WHERE id BETWEEN $1 AND $2 ORDER BY id");
	r->strings.one = stmt_prepare(f->store, "SELECT bytes FROM string WHERE id = $1");
	if (f->choice.events && f->choice.events->count)
		r->events = stmt_prepare(f->store,
					 f->choice.table == TABLE_THREADS
						 ? "SELECT process, thread, name, value FROM event "
						   "WHERE process BETWEEN $1 AND $2 "
						   "ORDER BY process, thread"
						 : "SELECT process, thread, name, value FROM event "
						   "WHERE process BETWEEN $1 AND $2 AND thread = 0 "
						   "ORDER BY process, thread");
	if (!r->rows || !r->strings.ahead || !r->strings.one ||
	    (f->choice.events && f->choice.events->count && !r->events))
		return -EIO;
	return load_total(f);
}

void table_rows_free(struct table_rows *r)
{
	if (!r)
		return;
	stmt_finish_ptr(&r->rows);
	stmt_finish_ptr(&r->events);
	stmt_finish_ptr(&r->strings.ahead);
	stmt_finish_ptr(&r->strings.one);
	string_table_release(&r->strings.cache);
	string_table_release(&r->event_columns);
	free(r->event_places);
	free(r->ints);
	free(r->times);
	free(r->texts);
	free(r->words);
	free(r);
}

int table_rows_rewind(struct table_source *f)
{
	struct table_rows *r = f->rows;

	stmt_reset(r->rows);
	stmt_reset(r->strings.ahead);
	if (r->events)
		stmt_reset(r->events);
	r->next = 1;
	r->open = r->has_event = false;
	r->strings.end = 0;
	return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Reads on to a number that is not far; 1: it is in the cache now. */
static int read_ahead(struct table_source *f, uint32_t number)
{
	struct strings *s = &f->rows->strings;
	int r;

	if (!s->end || number > s->end || number - s->at > SKIPPED_MAX) {
		stmt_reset(s->ahead);
		stmt_int(s->ahead, 1, store_key(f->job, number));
		s->end = number > UINT32_MAX - AHEAD ? UINT32_MAX : number + AHEAD;
		stmt_int(s->ahead, 2, store_key(f->job, s->end));
	}
	while ((r = stmt_step(s->ahead)) == 1) {
		size_t n;
		const char *text = stmt_get_text(s->ahead, 1, &n);

		s->at = (uint32_t)(stmt_get_int(s->ahead, 0) & UINT32_MAX);
		if (string_table_find_key(&s->cache, s->at) < 0)
			string_table_add_key(&s->cache, s->at, text ? text : "", n);
		if (s->at >= number)
			return s->at == number;
	}
	s->end = 0;
	return r;
}

static int look_up(struct table_source *f, uint32_t number)
{
	struct strings *s = &f->rows->strings;
	size_t n;

	stmt_int(s->one, 1, store_key(f->job, number));
	int r = stmt_step(s->one);
	if (r == 1) {
		const char *text = stmt_get_text(s->one, 0, &n);

		string_table_add_key(&s->cache, number, text ? text : "", n);
		stmt_reset(s->one);
	}
	return r;
}

/* 1: *ret; 0: there is no such text. */
static int string_of(struct table_source *f, uint32_t number, const char **ret, size_t *ret_n)
{
	struct strings *s = &f->rows->strings;
	int64_t at = string_table_find_key(&s->cache, number);

	if (at < 0) {
		if (s->cache.bytes.len > CACHED)
			string_table_reset(&s->cache);
		int r = number > s->at ? read_ahead(f, number) : look_up(f, number);
		if (r <= 0)
			return r;
		at = string_table_find_key(&s->cache, number);
	}
	*ret = string_table_get(&s->cache, (uint32_t)at, ret_n);
	return 1;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Which column the event with this name has; events that nobody asked for have none. */
static int column_of_event(struct table_source *f, uint32_t number, size_t *ret)
{
	const struct table_events *e = f->choice.events;
	struct table_rows *r = f->rows;
	int64_t at = string_table_find_key(&r->event_columns, number);
	const char *name;
	size_t n;

	if (at < 0) {
		int found = string_of(f, number, &name, &n);

		if (found < 0)
			return found;
		size_t i = 0;
		while (i < e->count &&
		       !(found && strlen(e->names[i]) == n && !memcmp(e->names[i], name, n)))
			i++;
		at = string_table_add_key(&r->event_columns, number, "", 0);
		GROW(r->event_places, r->event_place_count, r->event_place_cap);
		r->event_places[r->event_place_count++] = i;
	}
	*ret = r->event_places[at];
	return 0;
}

static int next_event(struct table_source *f)
{
	struct table_rows *r = f->rows;
	int step = stmt_step(r->events);

	r->has_event = step == 1;
	if (step != 1)
		return step;
	r->event_process = stmt_get_int(r->events, 0);
	r->event_thread = stmt_get_int(r->events, 1);
	r->event_value = stmt_get_int(r->events, 3);
	return column_of_event(f, (uint32_t)stmt_get_int(r->events, 2), &r->event_column);
}

/* The only thread of a process has the counts of the process. */
static int put_events(struct table_source *f, int64_t process, int64_t thread)
{
	struct table_rows *r = f->rows;
	int step = 0;

	for (size_t i = 0; i < f->choice.events->count; i++)
		table_builder_absent(&f->build, r->event_first + i);
	while (step >= 0 && r->has_event &&
	       (r->event_process < process ||
		(r->event_process == process && r->event_thread <= thread))) {
		size_t c = r->event_first + r->event_column;

		if (r->event_process == process && r->event_thread == thread &&
		    r->event_column < f->choice.events->count) {
			struct table_cells *cells = &f->build.cells[c];

			cells->absent_count -= cells->absent[f->build.rows];
			cells->absent[f->build.rows] = 0;
			table_builder_int(&f->build, c, r->event_value);
		}
		step = next_event(f);
	}
	return step < 0 ? step : 0;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int put_texts(struct table_source *f)
{
	struct table_rows *r = f->rows;
	struct table_builder *b = &f->build;

	for (size_t i = 0; i < r->text_count; i++) {
		const struct source_column *t = &r->texts[i];
		uint32_t number = (uint32_t)stmt_get_int(r->rows, t->from);
		const char *s = "";
		size_t n = 0;
		int found = 1;

		if (stmt_is_null(r->rows, t->from)) {
			table_builder_absent(b, t->column);
			continue;
		}
		if (table_builder_known(b, t->column, number))
			continue;
		found = string_of(f, number, &s, &n);
		if (found < 0)
			return found;
		if (found)
			table_builder_numbered(b, t->column, number, s, n);
		else
			table_builder_absent(b, t->column);
	}
	return 0;
}

static void put_words(struct table_source *f)
{
	struct table_rows *r = f->rows;
	struct table_builder *b = &f->build;

	for (size_t i = 0; i < r->word_count; i++) {
		const struct source_column *w = &r->words[i];
		const struct plan_column *p = &r->plan[w->column];
		uint64_t number = (uint64_t)stmt_get_int(r->rows, w->from);

		number = number < p->word_count ? number : p->word_count - 1;
		if (!table_builder_known(b, w->column, number))
			table_builder_numbered(b, w->column, number, p->words[number],
					       strlen(p->words[number]));
	}
}

/* NULL reads as 0: only then the type is checked. */
static void put_numbers(struct table_source *f)
{
	struct table_rows *r = f->rows;
	struct table_builder *b = &f->build;
	int64_t ns;

	for (size_t i = 0; i < r->int_count; i++) {
		int64_t v = stmt_get_int(r->rows, r->ints[i].from);

		if (v || !stmt_is_null(r->rows, r->ints[i].from))
			table_builder_int(b, r->ints[i].column, v);
		else
			table_builder_absent(b, r->ints[i].column);
	}
	for (size_t i = 0; i < r->time_count; i++) {
		int from = r->times[i].from;

		if (!stmt_is_null(r->rows, from) && table_time_ns(stmt_get_int(r->rows, from), &ns))
			table_builder_int(b, r->times[i].column, ns);
		else
			table_builder_absent(b, r->times[i].column);
	}
}

static void put_job(struct table_source *f)
{
	struct table_rows *r = f->rows;

	for (size_t c = 0; c < r->plan_count; c++) {
		if (r->plan[c].from == PLAN_JOB)
			table_builder_int(&f->build, c, f->job);
		else if (r->plan[c].from == PLAN_JOBID && !table_builder_known(&f->build, c, 0))
			table_builder_numbered(&f->build, c, 0, f->jobid, strlen(f->jobid));
	}
}

static int put_row(struct table_source *f)
{
	struct table_rows *r = f->rows;
	/* a single-threaded process: see table_thread_plan */
	int64_t process = stmt_get_int(r->rows, 0), thread = stmt_get_int(r->rows, 1);

	put_numbers(f);
	put_words(f);
	put_job(f);
	int e = put_texts(f);
	if (e >= 0 && r->events)
		e = put_events(f, process, thread);
	if (e >= 0)
		table_builder_row(&f->build);
	return e;
}

static int begin_range(struct table_source *f)
{
	struct table_rows *r = f->rows;
	int64_t first = r->next, last = r->next + RANGE - 1;

	stmt_int(r->rows, 1, store_key(f->job, (uint32_t)first));
	stmt_int(r->rows, 2, store_key(f->job, (uint32_t)(last < r->last ? last : r->last)));
	r->next += RANGE;
	r->open = true;
	if (!r->events)
		return 0;
	stmt_reset(r->events);
	stmt_int(r->events, 1, store_key(f->job, (uint32_t)first));
	stmt_int(r->events, 2, store_key(f->job, (uint32_t)(last < r->last ? last : r->last)));
	return next_event(f);
}

int table_rows_fill(struct table_source *f)
{
	struct table_rows *r = f->rows;
	int e = 0;

	while (e >= 0 && !table_builder_full(&f->build)) {
		if (!r->open) {
			if (r->next > r->last)
				return 0;
			e = begin_range(f);
			continue;
		}
		e = stmt_step(r->rows);
		if (e == 1)
			e = put_row(f);
		else
			r->open = false;
	}
	return e < 0 ? e : 0;
}
