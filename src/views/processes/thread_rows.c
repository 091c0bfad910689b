/*
 * Threads of a job, in batches of neighbouring processes; see process_list.h. A process that had
 * one thread has no rows of threads in the store: it is that thread.
 */
#include <errno.h>
#include <string.h>

#include "store/ingest/ingest.h"
#include "store/ingest/merge_streamed.h"
#include "views/process_list.h"
#include "views/stream_table.h"

#define BATCH 1024

/* Columns of the statement; the metrics follow. */
enum { COL_PROCESS, COL_PID, COL_N, COL_START, COL_DURATION, COL_SINGLE, COL_EXENAME, COL_METRICS };

struct writing {
	struct store *store;
	int64_t job;
	enum proc_form form;
	struct stmt *rows, *events;
	struct counters counters;
	struct json_rows json;
	struct stream_table grid;
	int column[METRIC_ID_END]; /* 0: not there */
	size_t count;              /* rows written */
};

static int64_t sum_of(int64_t a, int64_t b)
{
	return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a + b;
}

static int64_t cpu_time(const struct writing *w, struct stmt *st)
{
	return sum_of(stmt_get_optional(st, w->column[METRIC_USERTIME]),
		      stmt_get_optional(st, w->column[METRIC_SYSTEMTIME]));
}

static void write_json(struct writing *w, struct stmt *st)
{
	struct jsonw *j = &w->json.j;
	int64_t process = stmt_get_int(st, COL_PROCESS), start = stmt_get_optional(st, COL_START);
	int64_t duration = stmt_get_optional(st, COL_DURATION), cpu = cpu_time(w, st);
	size_t n;
	const char *exe = stmt_get_text(st, COL_EXENAME, &n);

	jsonw_begin_object(j, NULL);
	jsonw_i64(j, "process", process);
	if (!stmt_is_null(st, COL_PID))
		jsonw_i64(j, "pid", stmt_get_int(st, COL_PID));
	jsonw_i64(j, "n", stmt_get_int(st, COL_N));
	if (exe)
		jsonw_text(j, "exename", exe, n);
	for (size_t i = 0; i < metric_count; i++) {
		enum metric_id id = metrics[i].id;

		if (id == METRIC_START && start != UNKNOWN)
			json_time(j, "start", start);
		else if (id == METRIC_END && sum_of(start, duration) != UNKNOWN)
			json_time(j, "end", sum_of(start, duration));
		else if (w->column[id])
			json_metric(j, id, st, w->column[id]);
	}
	if (duration != UNKNOWN)
		jsonw_i64(j, "duration", duration);
	if (cpu != UNKNOWN)
		jsonw_i64(j, "cpu_time", cpu);
	counters_json(&w->counters, (uint32_t)(process & UINT32_MAX),
		      stmt_get_int(st, COL_SINGLE) ? 0 : (uint32_t)stmt_get_int(st, COL_N), j);
	jsonw_end_object(j);
	json_rows_next(&w->json);
}

static void write_csv(struct writing *w, struct stmt *st)
{
	struct stream_table *g = &w->grid;
	int64_t start = stmt_get_optional(st, COL_START);
	int64_t duration = stmt_get_optional(st, COL_DURATION);
	size_t n;
	const char *exe = stmt_get_text(st, COL_EXENAME, &n);

	stream_table_number(g, stmt_get_int(st, COL_PROCESS));
	stream_table_number(g, stmt_get_optional(st, COL_PID));
	stream_table_number(g, stmt_get_int(st, COL_N));
	stream_table_text(g, exe ? exe : "", n);
	for (size_t i = 0; i < metric_count; i++) {
		enum metric_id id = metrics[i].id;

		if (id == METRIC_START)
			stream_table_time(g, start);
		else if (id == METRIC_END)
			stream_table_time(g, sum_of(start, duration));
		else if (w->column[id])
			stream_table_number(g, stmt_get_optional(st, w->column[id]));
	}
	stream_table_number(g, duration);
	stream_table_number(g, cpu_time(w, st));
	stream_table_row(g, 0);
}

static void write_table(struct writing *w, struct stmt *st)
{
	struct stream_table *g = &w->grid;
	size_t n;
	const char *exe = stmt_get_text(st, COL_EXENAME, &n);

	stream_table_number(g, stmt_get_optional(st, COL_PID));
	stream_table_number(g, stmt_get_optional(st, w->column[METRIC_TID]));
	stream_table_time_ms(g, stmt_get_optional(st, COL_START));
	stream_table_us(g, stmt_get_optional(st, COL_DURATION));
	stream_table_us(g, stmt_get_optional(st, w->column[METRIC_USERTIME]));
	stream_table_us(g, stmt_get_optional(st, w->column[METRIC_SYSTEMTIME]));
	stream_table_count(g, stmt_get_optional(st, w->column[METRIC_VOL_CTXSW]));
	stream_table_count(g, stmt_get_optional(st, w->column[METRIC_INVOL_CTXSW]));
	stream_table_text(g, exe ? exe : "", n);
	stream_table_row(g, 0);
}

/* A column of the thread, or of the process that is its own only thread. */
static void add_column(struct strbuf *sql, const char *thread, const char *process)
{
	strbuf_addf(sql, ", CASE WHEN t.n IS NULL THEN p.%s ELSE t.%s END", process, thread);
}

static int prepare(struct writing *w, int64_t pid)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	strbuf_addstr(&sql, "SELECT p.id, p.pid, CASE WHEN t.n IS NULL THEN 1 ELSE t.n END");
	add_column(&sql, "start", "start");
	add_column(&sql, "duration", "duration");
	strbuf_addstr(&sql, ", CASE WHEN t.n IS NULL THEN 1 ELSE 0 END, e.bytes");
	for (size_t i = 0; i < ingest_thread_metric_count; i++) {
		enum metric_id id = ingest_thread_metrics[i];
		const char *name = metric_by_id(id)->name;

		add_column(&sql, name, id == METRIC_TID ? "pid" : name);
		w->column[id] = COL_METRICS + (int)i;
	}
	strbuf_addstr(&sql, " FROM process p LEFT JOIN thread t ON t.process = p.id "
			    "LEFT JOIN string e ON e.id = $1 + p.exename "
			    "WHERE p.id BETWEEN $2 AND $3 "
			    "AND (t.n IS NOT NULL OR p.numtids <= 1)");
	if (pid >= 0)
		strbuf_addstr(&sql, " AND p.pid = $4");
	strbuf_addstr(&sql, " ORDER BY p.id, t.start, t.n");
	w->rows = stmt_prepare(w->store, sql.buf);
	if (w->form == PROC_JSON)
		w->events =
			stmt_prepare(w->store, "SELECT v.process, v.thread, s.bytes, v.value "
					       "FROM event v JOIN string s ON s.id = $1 + v.name "
					       "WHERE v.process BETWEEN $2 AND $3 "
					       "ORDER BY v.process, v.thread, v.name");
	return w->rows && (w->events || w->form != PROC_JSON) ? 0 : -EIO;
}

static void bind_range(const struct writing *w, struct stmt *st, uint32_t first, uint32_t last)
{
	stmt_int(st, 1, store_key(w->job, 0));
	stmt_int(st, 2, store_key(w->job, first));
	stmt_int(st, 3, store_key(w->job, last));
}

static int write_batch(struct writing *w, int64_t pid, uint32_t first, uint32_t last)
{
	int r = 0;

	if (w->events) {
		bind_range(w, w->events, first, last);
		r = counters_load(&w->counters, w->events);
	}
	bind_range(w, w->rows, first, last);
	if (pid >= 0)
		stmt_int(w->rows, 4, pid);
	while (r >= 0 && (r = stmt_step(w->rows)) == 1) {
		w->count++;
		if (w->form == PROC_JSON)
			write_json(w, w->rows);
		else if (w->form == PROC_CSV)
			write_csv(w, w->rows);
		else
			write_table(w, w->rows);
	}
	return r;
}

static size_t csv_columns(const struct writing *w, struct terminal_table_column *out)
{
	static const char *const front[] = {"process", "pid", "n", "exename"};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(front); i++)
		out[n++].name = front[i];
	for (size_t i = 0; i < metric_count; i++)
		if (metrics[i].id == METRIC_START || metrics[i].id == METRIC_END ||
		    w->column[metrics[i].id])
			out[n++].name = metrics[i].name;
	out[n++].name = "duration";
	out[n++].name = "cpu_time";
	return n;
}

static int process_count(struct store *s, int64_t job, int64_t *ret)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT " STORE_RECORDED " FROM job j WHERE j.no = $1");

	if (!st)
		return -EIO;
	stmt_int(st, 1, job);
	int r = stmt_step(st);
	*ret = r == 1 ? stmt_get_int(st, 0) : 0;
	return r < 0 ? r : 0;
}

int threads_print(struct store *s, int64_t job, int64_t pid, enum proc_form form, FILE *f,
		  size_t *ret_rows)
{
	static const struct terminal_table_column columns[] = {
		{"PID", COLUMN_RIGHT},      {"TID", COLUMN_RIGHT},         {"START", 0},
		{"DURATION", COLUMN_RIGHT}, {"USER", COLUMN_RIGHT},        {"SYSTEM", COLUMN_RIGHT},
		{"WAITS", COLUMN_RIGHT},    {"PREEMPTIONS", COLUMN_RIGHT}, {"PROGRAM", COLUMN_CUT},
	};
	struct terminal_table_column csv[METRIC_ID_END + 8] = {{NULL, 0}};
	struct writing w = {
		.store = s, .job = job, .form = form, .counters = {.texts = STRBUF_INIT}};
	int64_t count = 0;
	int r = prepare(&w, pid), written;

	if (r >= 0)
		r = process_count(s, job, &count);
	if (form == PROC_JSON)
		json_rows_begin(&w.json, f);
	else if (form == PROC_CSV)
		stream_table_begin(&w.grid, csv, csv_columns(&w, csv), true, f);
	else
		stream_table_begin(&w.grid, columns, ARRAY_SIZE(columns), false, f);
	for (int64_t at = 1; at <= count && r >= 0; at += BATCH)
		r = write_batch(&w, pid, (uint32_t)at, (uint32_t)at + BATCH - 1);
	written = form == PROC_JSON ? json_rows_end(&w.json) : stream_table_end(&w.grid);
	stmt_finish_ptr(&w.rows);
	stmt_finish_ptr(&w.events);
	counters_release(&w.counters);
	*ret_rows = w.count;
	return r < 0 ? r : written;
}
