/* Copying the processes of a stored job to its successor; see job_parts.h. */
#include <errno.h>
#include <string.h>

#include "plimsoll/record.h" /* varints */
#include "store/ingest/ingest_write.h"
#include "store/ingest/job_parts.h"

struct part_rows {
	struct ingest *in;
	int64_t job;
	struct inventory *without;
	struct stmt *processes, *threads, *events;
	bool has_process, has_thread, has_event; /* the statement is at a row */
	struct row process, thread;
};

/* Columns before those of metrics. */
enum { P_ID, P_STATE, P_START, P_DURATION, P_TEXTS, P_METRICS = P_TEXTS + 6 };
enum { T_PROCESS, T_N, T_START, T_DURATION, T_METRICS };
enum { E_PROCESS, E_THREAD, E_NAME, E_VALUE, E_PERMILLE };

#define STRING(alias, column) \
	" LEFT JOIN string " alias " ON " alias ".id = (p.id >> 32) * 4294967296 + p." column

static struct stmt *select_rows(struct store *s, const char *front, const enum metric_id *ids,
				size_t n, const char *table, const char *rest, int64_t job)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

	strbuf_addf(&sql, "SELECT %s", front);
	for (size_t i = 0; i < n; i++)
		strbuf_addf(&sql, ", %s.%s", table, metric_by_id(ids[i])->name);
	strbuf_addf(&sql, " FROM %s", rest);
	return store_query(s, sql.buf, db_int(store_key(job, 0)),
			   db_int(store_key(job, UINT32_MAX)));
}

static int next(struct stmt *st, bool *has)
{
	int r = stmt_step(st);

	*has = r == 1;
	return r < 0 ? r : 0;
}

static void take_times(struct row *row, struct stmt *st, int start, int duration)
{
	if (stmt_is_null(st, start))
		return;
	uint64_t began = (uint64_t)stmt_get_int(st, start);
	row_set(row, METRIC_START, began);
	if (!stmt_is_null(st, duration))
		row_set(row, METRIC_END, began + (uint64_t)stmt_get_int(st, duration));
}

static void take_metrics(struct row *row, struct stmt *st, int first, const enum metric_id *ids,
			 size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!stmt_is_null(st, first + (int)i))
			row_set(row, ids[i], (uint64_t)stmt_get_int(st, first + (int)i));
}

static int next_process(struct part_rows *p)
{
	static const enum metric_id texts[] = {METRIC_HOSTNAME, METRIC_EXENAME, METRIC_PATH,
					       METRIC_ARGS,     METRIC_ARGV,    METRIC_TAGS};
	int r = next(p->processes, &p->has_process);

	row_clear(&p->process);
	if (r < 0 || !p->has_process)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		size_t n;
		const char *text = stmt_get_text(p->processes, P_TEXTS + (int)i, &n);

		if (text)
			row_set_text(&p->process, texts[i], text, n);
	}
	take_times(&p->process, p->processes, P_START, P_DURATION);
	take_metrics(&p->process, p->processes, P_METRICS, ingest_process_metrics,
		     ingest_process_metric_count);
	return 0;
}

/* The events of one thread, or of the process (0), in the format of records. */
static int take_events(struct part_rows *p, int64_t process, int64_t thread, struct row *row)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT, values = STRBUF_INIT;
	int r = 0;

	while (r == 0 && p->has_event && stmt_get_int(p->events, E_PROCESS) == process &&
	       stmt_get_int(p->events, E_THREAD) == thread) {
		bool scaled = !stmt_is_null(p->events, E_PERMILLE);
		unsigned char buf[3 * PL_VARINT_MAX], *end = buf;
		size_t n;
		const char *name = stmt_get_text(p->events, E_NAME, &n);

		if (names.len)
			strbuf_addch(&names, ',');
		strbuf_add(&names, name, n);
		end = pl_put_varint(end, PL_COUNTED | (scaled ? PL_COUNTED_SCALED : 0u));
		end = pl_put_varint(end, (uint64_t)stmt_get_int(p->events, E_VALUE));
		if (scaled)
			end = pl_put_varint(end, (uint64_t)stmt_get_int(p->events, E_PERMILLE));
		strbuf_add(&values, buf, (size_t)(end - buf));
		r = next(p->events, &p->has_event);
	}
	if (names.len) {
		row_set_text(row, METRIC_EVENTS, names.buf, names.len);
		row_set_text(row, METRIC_COUNTERS, values.buf, values.len);
	}
	return r;
}

static int copy_threads(struct part_rows *p, int64_t id, uint64_t *rssmax)
{
	int r = 0;

	while (r == 0 && p->has_thread && stmt_get_int(p->threads, T_PROCESS) == id) {
		row_clear(&p->thread);
		take_times(&p->thread, p->threads, T_START, T_DURATION);
		take_metrics(&p->thread, p->threads, T_METRICS, ingest_thread_metrics,
			     ingest_thread_metric_count);
		*rssmax += row_get(&p->thread, METRIC_RSSMAX, 0);
		r = take_events(p, id, stmt_get_int(p->threads, T_N), &p->thread);
		if (r == 0)
			r = ingest_thread(p->in, &p->thread);
		if (r == 0)
			r = next(p->threads, &p->has_thread);
	}
	return r;
}

static bool is_left_out(struct part_rows *p, uint32_t file)
{
	bool out = false;

	for (size_t i = 0; file && i < p->without->count && !out; i++)
		out = p->without->files[i].rows == file;
	return out;
}

static int pass_process(struct part_rows *p)
{
	int64_t id = stmt_get_int(p->processes, P_ID);
	int r = 0;

	while (r == 0 && p->has_thread && stmt_get_int(p->threads, T_PROCESS) == id)
		r = next(p->threads, &p->has_thread);
	while (r == 0 && p->has_event && stmt_get_int(p->events, E_PROCESS) == id)
		r = next(p->events, &p->has_event);
	return r < 0 ? r : next_process(p);
}

static int copy_process(struct part_rows *p)
{
	int64_t id = stmt_get_int(p->processes, P_ID);
	struct ingest_state state = ingest_state_unpack(stmt_get_int(p->processes, P_STATE));
	uint64_t rssmax = 0;

	state.masked = true;
	if (is_left_out(p, state.file))
		return pass_process(p);
	int r = copy_threads(p, id, &rssmax);
	if (r == 0)
		r = take_events(p, id, 0, &p->process);
	if (r == 0)
		r = ingest_process(p->in, &p->process, state,
				   rssmax ? rssmax : row_get(&p->process, METRIC_RSSMAX, 0), 0);
	return r < 0 ? r : next_process(p);
}

int part_rows_open(struct part_rows **ret, struct ingest *in, int64_t job,
		   struct inventory *without)
{
	struct part_rows *p = *ret = xcalloc(1, sizeof(*p));
	struct store *s = in->store;

	p->in = in;
	p->job = job;
	p->without = without;
	row_init(&p->process);
	row_init(&p->thread);
	p->processes = select_rows(
		s,
		"p.id, p.state, p.start, p.duration, h.bytes, e.bytes, f.bytes, a.bytes, v.bytes, "
		"g.bytes",
		ingest_process_metrics, ingest_process_metric_count, "p",
		"process p" STRING("h", "host") STRING("e", "exename") STRING("f", "path")
			STRING("a", "args") STRING("v", "argv")
				STRING("g", "tags") " WHERE p.id BETWEEN $1 AND $2 ORDER BY p.id",
		job);
	p->threads = select_rows(
		s, "t.process, t.n, t.start, t.duration", ingest_thread_metrics,
		ingest_thread_metric_count, "t",
		"thread t WHERE t.process BETWEEN $1 AND $2 ORDER BY t.process, t.n", job);
	/* events of the process after those of its threads */
	p->events = select_rows(
		s, "v.process, v.thread, n.bytes, v.value, v.permille", NULL, 0, "v",
		"event v JOIN string n ON n.id = (v.process >> 32) * 4294967296 + v.name "
		"WHERE v.process BETWEEN $1 AND $2 "
		"ORDER BY v.process, CASE v.thread WHEN 0 THEN 1 ELSE 0 END, v.thread, v.name",
		job);
	if (!p->processes || !p->threads || !p->events)
		return -EIO;
	int r = next_process(p);
	if (r == 0)
		r = next(p->threads, &p->has_thread);
	return r < 0 ? r : next(p->events, &p->has_event);
}

void part_rows_close(struct part_rows *p)
{
	if (!p)
		return;
	stmt_finish_ptr(&p->processes);
	stmt_finish_ptr(&p->threads);
	stmt_finish_ptr(&p->events);
	row_release(&p->process);
	row_release(&p->thread);
	free(p);
}

static const char *host_of(const struct row *row)
{
	return row_has(row, METRIC_HOSTNAME) ? row->text[METRIC_HOSTNAME].buf : "";
}

/* The order of a job that was stored at once; for equal starts it does not depend on the order of
 * parts. */
static bool is_before(const struct row *a, const struct row *b)
{
	uint64_t x = row_get(a, METRIC_START, 0), y = row_get(b, METRIC_START, 0);

	if (x != y)
		return x < y;
	int host = strcmp(host_of(a), host_of(b));
	return host ? host < 0 : row_get(a, METRIC_PID, 0) < row_get(b, METRIC_PID, 0);
}

int part_rows_feed(struct part_rows *p, const struct row *before)
{
	int r = 0;

	while (p && r == 0 && p->has_process && (!before || is_before(&p->process, before)))
		r = copy_process(p);
	return r;
}
