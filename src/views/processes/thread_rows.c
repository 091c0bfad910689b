/*
 * Threads of a job, in batches of consecutive processes; see process_list.h. The store has no
 * thread rows for a process with one thread: the process is that thread.
 */
#include <errno.h>
#include <string.h>

#include "store/ingest/ingest.h"
#include "store/ingest/merge_streamed.h"
#include "views/processes/process_list.h"
#include "views/stream_table.h"

#define BATCH 1024

/* Columns of the statement; the metrics follow. */
enum { COL_PROCESS, COL_PID, COL_N, COL_START, COL_DURATION, COL_SINGLE, COL_EXENAME, COL_METRICS };

static void write_json(struct proc_output *w, struct stmt *st)
{
	struct json_writer *j = &w->json.j;
	int64_t process = stmt_get_int(st, COL_PROCESS);
	size_t n;
	const char *exe = stmt_get_text(st, COL_EXENAME, &n);

	json_begin_object(j, NULL);
	json_i64(j, "process", process);
	json_known(j, "pid", stmt_get_optional(st, COL_PID));
	json_i64(j, "n", stmt_get_int(st, COL_N));
	if (exe)
		json_text(j, "exename", exe, n);
	proc_output_json(w, st);
	json_known(j, "duration", stmt_get_optional(st, COL_DURATION));
	json_known(j, "cpu_time", proc_output_cpu(w, st));
	counters_json(&w->counters, (uint32_t)(process & UINT32_MAX),
		      stmt_get_int(st, COL_SINGLE) ? 0 : (uint32_t)stmt_get_int(st, COL_N), j);
	json_end_object(j);
	json_rows_next(&w->json);
}

static void write_csv(struct proc_output *w, struct stmt *st)
{
	struct stream_table *g = &w->table;

	stream_table_number(g, stmt_get_int(st, COL_PROCESS));
	stream_table_number(g, stmt_get_optional(st, COL_PID));
	stream_table_number(g, stmt_get_int(st, COL_N));
	proc_output_text(w, st, COL_EXENAME);
	proc_output_cells(w, st);
	stream_table_row(g, 0);
}

static void write_table(struct proc_output *w, struct stmt *st)
{
	struct stream_table *g = &w->table;

	stream_table_number(g, stmt_get_optional(st, COL_PID));
	stream_table_number(g, stmt_get_optional(st, w->column[METRIC_TID]));
	stream_table_time_ms(g, stmt_get_optional(st, COL_START));
	stream_table_us(g, stmt_get_optional(st, COL_DURATION));
	stream_table_us(g, stmt_get_optional(st, w->column[METRIC_USERTIME]));
	stream_table_us(g, stmt_get_optional(st, w->column[METRIC_SYSTEMTIME]));
	stream_table_count(g, stmt_get_optional(st, w->column[METRIC_VOL_CTXSW]));
	stream_table_count(g, stmt_get_optional(st, w->column[METRIC_INVOL_CTXSW]));
	proc_output_text(w, st, COL_EXENAME);
	stream_table_row(g, 0);
}

/* A column of the thread, or of the process that is its own only thread. */
static void add_column(struct strbuf *sql, const char *thread, const char *process)
{
	strbuf_addf(sql, ", CASE WHEN t.n IS NULL THEN p.%s ELSE t.%s END", process, thread);
}

static int prepare(struct proc_output *w, int64_t pid)
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

static void bind_range(const struct proc_output *w, struct stmt *st, uint32_t first, uint32_t last)
{
	stmt_int(st, 1, store_key(w->job, 0));
	stmt_int(st, 2, store_key(w->job, first));
	stmt_int(st, 3, store_key(w->job, last));
}

static int write_batch(struct proc_output *w, int64_t pid, uint32_t first, uint32_t last)
{
	if (w->events)
		bind_range(w, w->events, first, last);
	bind_range(w, w->rows, first, last);
	if (pid >= 0)
		stmt_int(w->rows, 4, pid);
	return proc_output_batch(w);
}

static size_t csv_columns(const struct proc_output *w, struct terminal_table_column *out)
{
	static const char *const front[] = {"process", "pid", "n", "exename"};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(front); i++)
		out[n++].name = front[i];
	return n + proc_output_columns(w, out + n);
}

int threads_print(struct store *s, int64_t job, int64_t pid, const struct proc_page *page,
		  enum proc_form form, FILE *f, size_t *ret_rows)
{
	static const struct terminal_table_column columns[] = {
		{"PID", COLUMN_RIGHT},   {"TID", COLUMN_RIGHT},         {"START", 0},
		{"DURATION", COLUMN_US}, {"USER", COLUMN_US},           {"SYSTEM", COLUMN_US},
		{"WAITS", COLUMN_RIGHT}, {"PREEMPTIONS", COLUMN_RIGHT}, {"PROGRAM", COLUMN_CUT},
	};
	struct terminal_table_column csv[METRIC_ID_END + 8] = {{NULL, 0}};
	struct proc_output w = {.store = s,
				.job = job,
				.form = form,
				.page = *page,
				.paged = true,
				.start = COL_START,
				.duration = COL_DURATION,
				.write = {[PROC_JSON] = write_json,
					  [PROC_CSV] = write_csv,
					  [PROC_TABLE] = write_table}};
	int64_t count = 0;
	int r = prepare(&w, pid);

	if (r >= 0)
		r = store_number_of(s, "SELECT " STORE_RECORDED " FROM job j WHERE j.no = $1",
				    &count, db_int(job));
	r = r == -ENODATA ? 0 : r;
	proc_output_begin(&w, columns, ARRAY_SIZE(columns), csv, csv_columns(&w, csv), f);
	for (int64_t at = 1; at <= count && r >= 0 && !proc_output_full(&w); at += BATCH)
		r = write_batch(&w, pid, (uint32_t)at, (uint32_t)at + BATCH - 1);
	*ret_rows = w.count;
	return proc_output_end(&w, r);
}
