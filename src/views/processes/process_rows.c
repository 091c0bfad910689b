/* Processes, read and written in batches by lists of keys, in the order of the selection; see
 * process_list.h. */
#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "core/value.h"
#include "records/accounting.h"
#include "store/ingest/ingest.h"
#include "views/processes/process_list.h"
#include "views/stream_table.h"

/* Parameters: the keys, and key 0 of the job. */
#define BATCH 63
#define BASE "$64"

/* Columns of the statement; the metrics follow. */
enum {
	COL_ID,
	COL_HOST,
	COL_EXENAME,
	COL_PATH,
	COL_ARGS,
	COL_ARGV,
	COL_TAGS,
	COL_STATE,
	COL_START,
	COL_DURATION,
	COL_PARENT_PID,
	COL_DEPTH,
	COL_CHILDREN,
	COL_DESCENDANTS,
	COL_INCLUSIVE,
	COL_EXCLUSIVE,
	COL_METRICS
};

/* ---- texts ---------------------------------------------------------------------------------- */

/* A command line as a person would type it, from its two parts. */
static void add_command(struct strbuf *out, const char *exe, size_t exe_size, const char *args,
			size_t args_size)
{
	if (exe)
		strbuf_add(out, exe, exe_size);
	else
		strbuf_addstr(out, "?");
	if (args_size) {
		strbuf_addch(out, ' ');
		strbuf_add(out, args, args_size);
	}
}

/* The argument vector with a NUL behind each: as stored, else made of the name and the arguments.
 * The store leaves it out only where that gives the same. */
static bool make_argv(struct stmt *st, struct strbuf *out)
{
	size_t argv_size, exe_size, args_size;
	const char *argv = stmt_get_text(st, COL_ARGV, &argv_size);
	const char *exe = stmt_get_text(st, COL_EXENAME, &exe_size);
	const char *args = stmt_get_text(st, COL_ARGS, &args_size);

	if (argv) {
		strbuf_add(out, argv, argv_size);
		if (argv_size && argv[argv_size - 1])
			strbuf_addch(out, 0);
		return true;
	}
	if (!exe)
		return false;
	strbuf_add(out, exe, exe_size);
	strbuf_addch(out, 0);
	for (size_t i = 0; i < args_size; i++)
		strbuf_addch(out, args[i] == ' ' ? 0 : args[i]);
	if (args_size)
		strbuf_addch(out, 0);
	return true;
}

/* "argv_b64" has the exact bytes of arguments that are not UTF-8. */
static void json_argv(struct stmt *st, struct json_writer *j)
{
	_cleanup_strbuf_ struct strbuf argv = STRBUF_INIT;

	if (!make_argv(st, &argv))
		return;
	const char *end = argv.buf + argv.len;
	json_begin_array(j, "argv");
	for (const char *p = argv.buf; p < end; p += strlen(p) + 1)
		json_text(j, NULL, p, strlen(p));
	json_end_array(j);
	if (utf8_valid(argv.buf, argv.len))
		return;
	json_begin_array(j, "argv_b64");
	for (const char *p = argv.buf; p < end; p += strlen(p) + 1) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		text_add_base64(&text, p, strlen(p));
		json_text(j, NULL, text.buf, text.len);
	}
	json_end_array(j);
}

/* Unknown numbers of later versions have the last word. */
static const char *ended_name(struct ingest_state s)
{
	return ended_words[s.ended < ENDED_UNKNOWN ? s.ended : ENDED_UNKNOWN];
}

static const char *source_name(struct ingest_state s)
{
	return source_words[s.source < BY_CNPROC ? s.source : BY_CNPROC];
}

/* Metrics that are texts; 0: not one of them. */
static const int text_column[METRIC_ID_END] = {
	[METRIC_HOSTNAME] = COL_HOST, [METRIC_EXENAME] = COL_EXENAME, [METRIC_PATH] = COL_PATH,
	[METRIC_ARGS] = COL_ARGS,     [METRIC_TAGS] = COL_TAGS,
};

/* Numbers that are not metrics. */
static const struct {
	const char *name;
	int column;
} tree_numbers[] = {
	{"inclusive_cpu_time", COL_INCLUSIVE},
	{"exclusive_time", COL_EXCLUSIVE},
	{"parent", COL_PARENT_PID},
	{"depth", COL_DEPTH},
	{"children", COL_CHILDREN},
	{"descendants", COL_DESCENDANTS},
};

/* ---- JSON ----------------------------------------------------------------------------------- */

static void write_json(struct proc_output *w, struct stmt *st)
{
	struct json_writer *j = &w->json.j;
	struct ingest_state state = ingest_state_unpack(stmt_get_int(st, COL_STATE));
	int64_t id = stmt_get_int(st, COL_ID);

	json_begin_object(j, NULL);
	if (w->jobid)
		json_str(j, "jobid", w->jobid);
	json_i64(j, "id", id);
	proc_output_json(w, st);
	json_argv(st, j);
	json_known(j, "duration", stmt_get_optional(st, COL_DURATION));
	json_known(j, "cpu_time", proc_output_cpu(w, st));
	for (size_t i = 0; i < ARRAY_SIZE(tree_numbers); i++)
		json_known(j, tree_numbers[i].name, stmt_get_optional(st, tree_numbers[i].column));
	json_str(j, "ended", ended_name(state));
	json_str(j, "source", source_name(state));
	json_bool(j, "forked", state.forked);
	if (state.silenced)
		json_bool(j, "silenced", true);
	counters_json(&w->counters, (uint32_t)(id & UINT32_MAX), 0, j);
	json_end_object(j);
	json_rows_next(&w->json);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* The first is left out for the processes of one job. */
static const struct terminal_table_column table_columns[] = {
	{"JOBID", COLUMN_CUT}, {"PID", COLUMN_RIGHT},   {"PARENT", COLUMN_RIGHT},
	{"START", 0},          {"DURATION", COLUMN_US}, {"CPU", COLUMN_US},
	{"RSS", COLUMN_KIB},   {"EXIT", COLUMN_RIGHT},  {"COMMAND", COLUMN_CUT},
};

static void write_table(struct proc_output *w, struct stmt *st)
{
	_cleanup_strbuf_ struct strbuf command = STRBUF_INIT, end = STRBUF_INIT;
	struct stream_table *g = &w->table;
	size_t exe_size, args_size;
	const char *exe = stmt_get_text(st, COL_EXENAME, &exe_size);
	const char *args = stmt_get_text(st, COL_ARGS, &args_size);
	int64_t code = stmt_get_optional(st, w->column[METRIC_EXITCODE]);
	int64_t signal = stmt_get_int(st, w->column[METRIC_EXITSIGNAL]);
	struct ingest_state state = ingest_state_unpack(stmt_get_int(st, COL_STATE));

	add_command(&command, exe, exe_size, args, args_size);
	if (signal)
		strbuf_addf(&end, "sig %lld", (long long)signal);
	else if (state.ended > ENDED_SIGNAL)
		strbuf_addstr(&end, ended_name(state));
	else if (code != UNKNOWN)
		text_add_i64(&end, code);
	if (w->jobid)
		stream_table_str(g, w->jobid);
	stream_table_number(g, stmt_get_optional(st, w->column[METRIC_PID]));
	stream_table_number(g, stmt_get_optional(st, COL_PARENT_PID));
	stream_table_time(g, stmt_get_optional(st, COL_START));
	stream_table_us(g, stmt_get_optional(st, COL_DURATION));
	stream_table_us(g, proc_output_cpu(w, st));
	stream_table_kib(g, stmt_get_optional(st, w->column[METRIC_RSSMAX]));
	stream_table_text(g, end.buf, end.len);
	stream_table_text(g, command.buf, command.len);
	stream_table_row(g, signal || (code != UNKNOWN && code) ? 'r' : 0);
}

static void write_csv(struct proc_output *w, struct stmt *st)
{
	struct ingest_state state = ingest_state_unpack(stmt_get_int(st, COL_STATE));
	struct stream_table *g = &w->table;

	if (w->jobid)
		stream_table_str(g, w->jobid);
	stream_table_number(g, stmt_get_int(st, COL_ID));
	proc_output_cells(w, st);
	for (size_t i = 0; i < ARRAY_SIZE(tree_numbers); i++)
		stream_table_number(g, stmt_get_optional(st, tree_numbers[i].column));
	stream_table_str(g, ended_name(state));
	stream_table_str(g, source_name(state));
	stream_table_number(g, state.forked);
	stream_table_row(g, 0);
}

/* ---- batches -------------------------------------------------------------------------------- */

/* The keys of a batch with their places, as a table whose columns both databases call column1 and
 * column2. */
static void add_keys(struct strbuf *sql)
{
	for (int i = 0; i < BATCH; i++)
		strbuf_addf(sql, "%s($%d, %d)", i ? ", " : " FROM (VALUES ", i + 1, i);
	strbuf_addstr(sql, ") AS w ");
}

static int prepare(struct proc_output *w)
{
	_cleanup_strbuf_ struct strbuf rows = STRBUF_INIT, events = STRBUF_INIT;

	strbuf_addstr(&rows, "SELECT p.id, h.bytes, e.bytes, f.bytes, a.bytes, v.bytes, g.bytes, "
			     "p.state, p.start, p.duration, o.pid, t.depth, t.children, "
			     "t.last - t.first, t.inclusive_cpu, t.exclusive");
	for (size_t i = 0; i < ingest_process_metric_count; i++) {
		enum metric_id id = ingest_process_metrics[i];

		strbuf_addf(&rows, ", p.%s", metric_by_id(id)->name);
		w->column[id] = COL_METRICS + (int)i;
	}
	add_keys(&rows);
	strbuf_addstr(&rows, "JOIN process p ON p.id = w.column1 JOIN tree t ON t.id = p.id "
			     "LEFT JOIN process o ON o.id = " BASE " + t.parent "
			     "LEFT JOIN string h ON h.id = " BASE " + p.host "
			     "LEFT JOIN string e ON e.id = " BASE " + p.exename "
			     "LEFT JOIN string f ON f.id = " BASE " + p.path "
			     "LEFT JOIN string a ON a.id = " BASE " + p.args "
			     "LEFT JOIN string v ON v.id = " BASE " + p.argv "
			     "LEFT JOIN string g ON g.id = " BASE " + p.tags "
			     "ORDER BY w.column2");
	strbuf_addstr(&events, "SELECT v.process, v.thread, s.bytes, v.value");
	add_keys(&events);
	strbuf_addstr(&events, "JOIN event v ON v.process = w.column1 AND v.thread = 0 "
			       "JOIN string s ON s.id = " BASE " + v.name "
			       "ORDER BY v.process, v.thread, v.name");
	w->rows = stmt_prepare(w->store, rows.buf);
	w->events = w->form == PROC_JSON ? stmt_prepare(w->store, events.buf) : NULL;
	return w->rows && (w->events || w->form != PROC_JSON) ? 0 : -EIO;
}

/* An incomplete batch is filled with number 0, which no process has. */
static void bind_keys(const struct proc_output *w, struct stmt *st, const int64_t *ids, size_t n)
{
	for (size_t i = 0; i < BATCH; i++)
		stmt_int(st, (int)i + 1, i < n ? ids[i] : store_key(w->job, 0));
	stmt_int(st, BATCH + 1, store_key(w->job, 0));
}

/* Writes processes of one job. */
static int write_batch(struct proc_output *w, const int64_t *ids, size_t n)
{
	if (w->events)
		bind_keys(w, w->events, ids, n);
	bind_keys(w, w->rows, ids, n);
	return proc_output_batch(w);
}

static size_t csv_columns(const struct proc_output *w, struct terminal_table_column *out)
{
	size_t n = 0;

	if (w->jobid)
		out[n++].name = "jobid";
	out[n++].name = "id";
	n += proc_output_columns(w, out + n);
	for (size_t i = 0; i < ARRAY_SIZE(tree_numbers); i++)
		out[n++].name = tree_numbers[i].name;
	out[n++].name = "ended";
	out[n++].name = "source";
	out[n++].name = "forked";
	return n;
}

/* How many processes of the same job follow each other, up to a batch. */
static size_t same_job(const struct proc_list *l, size_t at)
{
	size_t n = 1;

	while (n < BATCH && at + n < l->count &&
	       l->ids[at + n] >> JOB_SHIFT == l->ids[at] >> JOB_SHIFT)
		n++;
	return n;
}

/* Changes to another job. */
static int use_job(struct proc_output *w, int64_t job)
{
	if (w->job == job)
		return 0;
	w->job = job;
	if (!w->jobid)
		return 0;
	_cleanup_free_ char *jobid = job_id_of(w->store, job);
	_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;
	int r = jobid ? job_label(w->store, job, jobid, &label) : 0;
	free(w->jobid);
	w->jobid = xstrdup(label.buf);
	return r;
}

static int print(const struct proc_list *l, struct store *s, bool jobs, enum proc_form form,
		 FILE *f)
{
	struct terminal_table_column csv[METRIC_ID_END + 16] = {{NULL, 0}};
	struct proc_output w = {.store = s,
				.form = form,
				.start = COL_START,
				.duration = COL_DURATION,
				.text = text_column,
				.jobid = jobs ? xstrdup("") : NULL,
				.write = {[PROC_JSON] = write_json,
					  [PROC_CSV] = write_csv,
					  [PROC_TABLE] = write_table}};
	int r = prepare(&w);

	proc_output_begin(&w, table_columns + !jobs, ARRAY_SIZE(table_columns) - !jobs, csv,
			  csv_columns(&w, csv), f);
	for (size_t at = 0, n; at < l->count && r >= 0; at += n) {
		n = same_job(l, at);
		r = use_job(&w, l->ids[at] >> JOB_SHIFT);
		if (r >= 0)
			r = write_batch(&w, l->ids + at, n);
	}
	r = proc_output_end(&w, r);
	free(w.jobid);
	return r;
}

int proc_list_print(const struct proc_list *l, struct store *s, enum proc_form form, FILE *f)
{
	return print(l, s, false, form, f);
}

int proc_list_print_jobs(const struct proc_list *l, struct store *s, enum proc_form form, FILE *f)
{
	return print(l, s, true, form, f);
}
