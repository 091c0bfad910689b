/*
 * Processes, written in batches: each reads its rows and counters by a list of keys, in whatever
 * order the store likes, and writes them in the order wanted. See process_list.h.
 */
#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "core/value.h"
#include "jobs/tags.h"
#include "store/ingest/ingest.h"
#include "views/process_list.h"
#include "views/stream_table.h"

/* Engines take 64 parameters: the keys, and key 0 of the job. */
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

struct writing {
	struct store *store;
	int64_t job;
	enum proc_form form;
	struct stmt *rows, *events;
	struct counters counters;
	struct json_rows json;
	struct stream_table grid;
	/* place of each metric in the statement, 0: not there */
	int column[METRIC_ID_END];
};

/* ---- texts ---------------------------------------------------------------------------------- */

void add_command(struct strbuf *out, const char *exe, size_t exe_size, const char *args,
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

void json_metric(struct jsonw *j, enum metric_id id, struct stmt *st, int column)
{
	const struct metric *m = metric_by_id(id);

	if (stmt_is_null(st, column))
		return;
	jsonw_i64(j, m->name, stmt_get_int(st, column));
}

/* The argument vector with a NUL behind each: as it was kept, else put together from the name and
 * the arguments, which were only left out where that gives the same. */
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

/* "argv_b64" has the exact bytes where one is not UTF-8. */
static void json_argv(struct stmt *st, struct jsonw *j)
{
	_cleanup_strbuf_ struct strbuf argv = STRBUF_INIT;

	if (!make_argv(st, &argv))
		return;
	const char *end = argv.buf + argv.len;
	jsonw_begin_array(j, "argv");
	for (const char *p = argv.buf; p < end; p += strlen(p) + 1)
		jsonw_text(j, NULL, p, strlen(p));
	jsonw_end_array(j);
	if (utf8_valid(argv.buf, argv.len))
		return;
	jsonw_begin_array(j, "argv_b64");
	for (const char *p = argv.buf; p < end; p += strlen(p) + 1) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		text_add_base64(&text, p, strlen(p));
		jsonw_text(j, NULL, text.buf, text.len);
	}
	jsonw_end_array(j);
}

static const char *ended_name(int64_t state)
{
	static const char *const names[] = {"exit", "signal", "exec", "running"};
	size_t i = (size_t)(state & 15);

	return i < ARRAY_SIZE(names) ? names[i] : "unknown";
}

static const char *source_name(int64_t state)
{
	static const char *const names[] = {"preload", "reaped", "taskstats", "cn_proc"};
	size_t i = (size_t)(state >> 4 & 15);

	return i < ARRAY_SIZE(names) ? names[i] : "cn_proc";
}

static int text_column(enum metric_id id)
{
	switch (id) {
	case METRIC_HOSTNAME:
		return COL_HOST;
	case METRIC_EXENAME:
		return COL_EXENAME;
	case METRIC_PATH:
		return COL_PATH;
	case METRIC_ARGS:
		return COL_ARGS;
	case METRIC_TAGS:
		return COL_TAGS;
	default:
		return 0;
	}
}

static int64_t sum_of(int64_t a, int64_t b)
{
	return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a + b;
}

/* CPU time, end: what rows have beside what is stored. */
static int64_t cpu_time(const struct writing *w, struct stmt *st)
{
	return sum_of(stmt_get_optional(st, w->column[METRIC_USERTIME]),
		      stmt_get_optional(st, w->column[METRIC_SYSTEMTIME]));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_known(struct jsonw *j, const char *key, int64_t v)
{
	if (v != UNKNOWN)
		jsonw_i64(j, key, v);
}

static void json_tags(struct stmt *st, struct jsonw *j)
{
	_cleanup_value_ struct value *tags = tags_parse(stmt_get_str(st, COL_TAGS), NULL);

	value_to_json(tags, j, "tags");
}

/* Every metric under its name, in the order of the dictionary. */
static void json_dictionary(const struct writing *w, struct stmt *st, struct jsonw *j)
{
	int64_t start = stmt_get_optional(st, COL_START);
	int64_t end = sum_of(start, stmt_get_optional(st, COL_DURATION));

	for (size_t i = 0; i < metric_count; i++) {
		enum metric_id id = metrics[i].id;

		if (id == METRIC_TAGS) {
			json_tags(st, j);
		} else if (id == METRIC_START && start != UNKNOWN) {
			json_time(j, "start", start);
		} else if (id == METRIC_END && end != UNKNOWN) {
			json_time(j, "end", end);
		} else if (text_column(id)) {
			size_t n;
			const char *s = stmt_get_text(st, text_column(id), &n);

			if (s)
				jsonw_text(j, metrics[i].name, s, n);
		} else if (w->column[id]) {
			json_metric(j, id, st, w->column[id]);
		}
	}
}

static void write_json(struct writing *w, struct stmt *st)
{
	struct jsonw *j = &w->json.j;
	int64_t id = stmt_get_int(st, COL_ID), state = stmt_get_int(st, COL_STATE);

	jsonw_begin_object(j, NULL);
	jsonw_i64(j, "id", id);
	json_dictionary(w, st, j);
	json_argv(st, j);
	json_known(j, "duration", stmt_get_optional(st, COL_DURATION));
	json_known(j, "cpu_time", cpu_time(w, st));
	json_known(j, "inclusive_cpu_time", stmt_get_optional(st, COL_INCLUSIVE));
	json_known(j, "exclusive_time", stmt_get_optional(st, COL_EXCLUSIVE));
	json_known(j, "parent", stmt_get_optional(st, COL_PARENT_PID));
	json_known(j, "depth", stmt_get_optional(st, COL_DEPTH));
	json_known(j, "children", stmt_get_optional(st, COL_CHILDREN));
	json_known(j, "descendants", stmt_get_optional(st, COL_DESCENDANTS));
	jsonw_str(j, "ended", ended_name(state));
	jsonw_str(j, "source", source_name(state));
	jsonw_bool(j, "forked", state >> 8 & 1);
	if (state >> 9 & 1)
		jsonw_bool(j, "silenced", true);
	counters_json(&w->counters, (uint32_t)(id & UINT32_MAX), 0, j);
	jsonw_end_object(j);
	json_rows_next(&w->json);
}

/* ---- tables --------------------------------------------------------------------------------- */

static const struct terminal_table_column table_columns[] = {
	{"PID", COLUMN_RIGHT},      {"PARENT", COLUMN_RIGHT}, {"START", 0},
	{"DURATION", COLUMN_RIGHT}, {"CPU", COLUMN_RIGHT},    {"RSS", COLUMN_RIGHT},
	{"EXIT", COLUMN_RIGHT},     {"COMMAND", COLUMN_CUT},
};

static void grid_column(struct stream_table *g, struct stmt *st, int column)
{
	size_t n;
	const char *s = stmt_get_text(st, column, &n);

	stream_table_text(g, s ? s : "", n);
}

static void write_table(struct writing *w, struct stmt *st)
{
	_cleanup_strbuf_ struct strbuf command = STRBUF_INIT, end = STRBUF_INIT;
	struct stream_table *g = &w->grid;
	size_t exe_size, args_size;
	const char *exe = stmt_get_text(st, COL_EXENAME, &exe_size);
	const char *args = stmt_get_text(st, COL_ARGS, &args_size);
	int64_t code = stmt_get_optional(st, w->column[METRIC_EXITCODE]);
	int64_t signal = stmt_get_int(st, w->column[METRIC_EXITSIGNAL]);
	int64_t state = stmt_get_int(st, COL_STATE);

	add_command(&command, exe, exe_size, args, args_size);
	if (signal)
		strbuf_addf(&end, "sig %lld", (long long)signal);
	else if ((state & 15) > 1)
		strbuf_addstr(&end, ended_name(state));
	else if (code != UNKNOWN)
		add_number(&end, code);
	stream_table_number(g, stmt_get_optional(st, w->column[METRIC_PID]));
	stream_table_number(g, stmt_get_optional(st, COL_PARENT_PID));
	stream_table_time(g, stmt_get_optional(st, COL_START));
	stream_table_us(g, stmt_get_optional(st, COL_DURATION));
	stream_table_us(g, cpu_time(w, st));
	stream_table_kib(g, stmt_get_optional(st, w->column[METRIC_RSSMAX]));
	stream_table_text(g, end.buf, end.len);
	stream_table_text(g, command.buf, command.len);
	stream_table_row(g, signal || (code != UNKNOWN && code) ? 'r' : 0);
}

/* CSV has every metric, and then the rest. */
static const char *const csv_rest[] = {"duration",       "cpu_time",    "inclusive_cpu_time",
				       "exclusive_time", "parent",      "depth",
				       "children",       "descendants", "ended",
				       "source",         "forked"};

static bool in_csv(const struct writing *w, enum metric_id id)
{
	return text_column(id) || id == METRIC_START || id == METRIC_END || w->column[id];
}

static void write_csv(struct writing *w, struct stmt *st)
{
	struct stream_table *g = &w->grid;
	int64_t start = stmt_get_optional(st, COL_START), state = stmt_get_int(st, COL_STATE);
	int64_t duration = stmt_get_optional(st, COL_DURATION);

	stream_table_number(g, stmt_get_int(st, COL_ID));
	for (size_t i = 0; i < metric_count; i++) {
		enum metric_id id = metrics[i].id;

		if (!in_csv(w, id))
			continue;
		if (id == METRIC_START)
			stream_table_time(g, start);
		else if (id == METRIC_END)
			stream_table_time(g, sum_of(start, duration));
		else
			grid_column(g, st, text_column(id) ? text_column(id) : w->column[id]);
	}
	stream_table_number(g, duration);
	stream_table_number(g, cpu_time(w, st));
	stream_table_number(g, stmt_get_optional(st, COL_INCLUSIVE));
	stream_table_number(g, stmt_get_optional(st, COL_EXCLUSIVE));
	stream_table_number(g, stmt_get_optional(st, COL_PARENT_PID));
	stream_table_number(g, stmt_get_optional(st, COL_DEPTH));
	stream_table_number(g, stmt_get_optional(st, COL_CHILDREN));
	stream_table_number(g, stmt_get_optional(st, COL_DESCENDANTS));
	stream_table_str(g, ended_name(state));
	stream_table_str(g, source_name(state));
	stream_table_number(g, state >> 8 & 1);
	stream_table_row(g, 0);
}

/* ---- batches -------------------------------------------------------------------------------- */

/* The keys of a batch with their places, as a table that both engines call column1 and column2. */
static void add_keys(struct strbuf *sql)
{
	for (int i = 0; i < BATCH; i++)
		strbuf_addf(sql, "%s($%d, %d)", i ? ", " : " FROM (VALUES ", i + 1, i);
	strbuf_addstr(sql, ") AS w ");
}

static int prepare(struct writing *w)
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

/* A batch that is not full has keys of number 0, which no process has. */
static void bind_keys(const struct writing *w, struct stmt *st, const uint32_t *numbers, size_t n)
{
	for (size_t i = 0; i < BATCH; i++)
		stmt_int(st, (int)i + 1, store_key(w->job, i < n ? numbers[i] : 0));
	stmt_int(st, BATCH + 1, store_key(w->job, 0));
}

static int write_batch(struct writing *w, const uint32_t *numbers, size_t n)
{
	int r = 0;

	if (w->events) {
		bind_keys(w, w->events, numbers, n);
		r = counters_load(&w->counters, w->events);
	}
	bind_keys(w, w->rows, numbers, n);
	while (r >= 0 && (r = stmt_step(w->rows)) == 1) {
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
	size_t n = 0;

	out[n++].name = "id";
	for (size_t i = 0; i < metric_count; i++)
		if (in_csv(w, metrics[i].id))
			out[n++].name = metrics[i].name;
	for (size_t i = 0; i < ARRAY_SIZE(csv_rest); i++)
		out[n++].name = csv_rest[i];
	return n;
}

int proc_list_print(const struct proc_list *l, struct store *s, int64_t job, enum proc_form form,
		    FILE *f)
{
	struct terminal_table_column csv[METRIC_ID_END + ARRAY_SIZE(csv_rest) + 1] = {{NULL, 0}};
	struct writing w = {
		.store = s, .job = job, .form = form, .counters = {.texts = STRBUF_INIT}};
	int r = prepare(&w), written;

	if (form == PROC_JSON)
		json_rows_begin(&w.json, f);
	else if (form == PROC_CSV)
		stream_table_begin(&w.grid, csv, csv_columns(&w, csv), true, f);
	else
		stream_table_begin(&w.grid, table_columns, ARRAY_SIZE(table_columns), false, f);
	for (size_t at = 0; at < l->count && r >= 0; at += BATCH)
		r = write_batch(&w, l->numbers + at, l->count - at < BATCH ? l->count - at : BATCH);
	written = form == PROC_JSON ? json_rows_end(&w.json) : stream_table_end(&w.grid);
	stmt_finish_ptr(&w.rows);
	stmt_finish_ptr(&w.events);
	counters_release(&w.counters);
	return r < 0 ? r : written;
}
