/* See export_write.h. */
#include "views/export/export_write.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "tables/atomic_output.h"

#define PROGRESS_AFTER_NS 1000000000u
#define PROGRESS_STEP_NS 200000000u

struct writing {
	const struct export_jobs *jobs;
	const struct export_request *q;
	const struct table_format *format;
	struct table_choice choice;
	struct table_columns columns;
	struct atomic_output place;
	struct table_file *file;
	struct export_result *result;
	struct strbuf *why;
	int64_t total;
	/* progress */
	bool shown;
	uint64_t begun, shown_at;
};

/* ---- signals: undo the unfinished file before we end ---------------------------------------- */

static volatile sig_atomic_t stopped;

static void note_signal(int number)
{
	stopped = number;
}

static void watch_signals(void (*handler)(int))
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct sigaction a = {.sa_handler = handler}, old;

		/* keep a signal ignored, as under nohup */
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaction(numbers[i], &a, NULL);
	}
}

/* ---- progress ------------------------------------------------------------------------------- */

static void show_progress(struct writing *w, bool end)
{
	uint64_t now = clock_boottime_ns();

	if (!w->q->progress || now - w->begun < PROGRESS_AFTER_NS ||
	    (!end && now - w->shown_at < PROGRESS_STEP_NS) || (end && !w->shown))
		return;
	w->shown_at = now;
	w->shown = !end;
	if (end)
		fputs("\r\033[K", stderr);
	else if (w->total > 0)
		fprintf(stderr, "\r\033[K%lld %%: %lld of %lld %s",
			(long long)(w->result->rows * 100 / w->total), (long long)w->result->rows,
			(long long)w->total, export_table_names[w->choice.table]);
	fflush(stderr);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static int store_failed(struct writing *w, const struct store *s, int error)
{
	strbuf_addstr(w->why, s->error.len ? store_error(s) : strerror(-error));
	return error;
}

static int write_rows(struct writing *w, struct table_source *source, struct store *s)
{
	struct table_batch b;
	int r;

	while ((r = table_source_next(source, &b)) == 1) {
		r = table_write(w->file, &b, w->why);
		if (r < 0)
			return r;
		if (stopped)
			return -EINTR;
		w->result->rows += (int64_t)b.rows;
		show_progress(w, false);
	}
	return r < 0 ? store_failed(w, s, r) : 0;
}

static int open_file(struct writing *w, const char *table, const char *jobid,
		     const struct table_hint *hints, int64_t rows, bool more)
{
	const struct table_options o = {.table = table,
					.codec = w->q->codec,
					.append = w->place.existed || more,
					.raw = w->q->raw,
					.hints = hints,
					.rows = rows,
					.key = jobid ? "jobid" : NULL,
					.key_text = jobid};

	return table_open(&w->file, w->format, w->place.path, w->columns.list, w->columns.count, &o,
			  w->why);
}

static int end_file(struct writing *w, int r)
{
	struct table_file *f = w->file;

	w->file = NULL;
	if (r >= 0)
		r = table_close(f, w->why);
	else
		table_abandon(f);
	/* success with a remark */
	if (r >= 0 && w->why->len)
		log_warn("%s", w->why->buf);
	if (r >= 0)
		strbuf_reset(w->why);
	return r;
}

static int write_job(struct writing *w, const struct export_job *j)
{
	_cleanup_(table_source_free_ptr) struct table_source *source = NULL;
	int r = table_source_open(&source, j->store, j->job, &w->choice);

	return r < 0 ? store_failed(w, j->store, r) : write_rows(w, source, j->store);
}

/* One table per job; a slash would start an HDF5 group. */
static char *table_name(const struct writing *w, const struct export_job *j)
{
	const char *what = export_table_names[w->choice.table];

	if (w->format->transactions)
		return xstrdup(what);
	char *name = xasprintf("%s_%s", what, j->jobid);
	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '_';
	return name;
}

static int write_job_table(struct writing *w, const struct export_job *j, bool more)
{
	_cleanup_(table_source_free_ptr) struct table_source *source = NULL;
	_cleanup_free_ char *table = table_name(w, j);
	struct table_hint *hints =
		w->format->hints ? xcalloc(w->columns.count + 1, sizeof(*hints)) : NULL;
	int r = table_source_open(&source, j->store, j->job, &w->choice);

	if (r >= 0 && hints)
		r = table_source_hints(source, hints);
	if (r < 0) {
		free(hints);
		return store_failed(w, j->store, r);
	}
	r = open_file(w, table, j->jobid, hints, table_source_total(source), more);
	if (r >= 0)
		r = end_file(w, write_rows(w, source, j->store));
	free(hints);
	return r;
}

static int write_all(struct writing *w)
{
	const struct export_jobs *jobs = w->jobs;
	int r = 0;

	if (w->format->database) {
		for (size_t i = 0; i < jobs->count && r >= 0; i++)
			r = write_job_table(w, &jobs->list[i], i > 0);
		return r;
	}
	r = open_file(w, export_table_names[w->choice.table], NULL, NULL, 0, false);
	if (r < 0)
		return r;
	for (size_t i = 0; i < jobs->count && r >= 0; i++)
		r = write_job(w, &jobs->list[i]);
	return end_file(w, r);
}

/* Counts the rows for the progress, and collects events, which are columns. */
static int survey(struct writing *w, struct table_events *events)
{
	bool rows = w->choice.table == TABLE_PROCESSES || w->choice.table == TABLE_THREADS;

	for (size_t i = 0; i < w->jobs->count; i++) {
		const struct export_job *j = &w->jobs->list[i];
		_cleanup_(table_source_free_ptr) struct table_source *source = NULL;
		int r = rows ? table_events_add(events, j->store, j->job) : 0;

		if (r >= 0 && w->q->progress)
			r = table_source_open(&source, j->store, j->job, &w->choice);
		if (r < 0)
			return store_failed(w, j->store, r);
		w->total += source ? table_source_total(source) : 0;
	}
	return 0;
}

int export_write(const struct export_jobs *jobs, const struct export_request *q,
		 struct export_result *ret, struct strbuf *why)
{
	struct table_events events = {0};
	struct writing w = {.jobs = jobs,
			    .q = q,
			    .format = q->format,
			    .choice = {.table = q->table, .series = q->series},
			    .result = ret,
			    .why = why,
			    .place = {.lock = -1},
			    .begun = clock_boottime_ns()};

	watch_signals(note_signal);
	int r = survey(&w, &events);
	w.choice.events = &events;
	table_columns_of(&w.columns, &w.choice);
	ret->columns = w.columns.count;
	if (r >= 0)
		r = atomic_output_begin(&w.place, q->format, q->path, why);
	if (r >= 0)
		r = write_all(&w);
	if (r >= 0)
		r = atomic_output_commit(&w.place, why);
	atomic_output_cancel(&w.place);
	show_progress(&w, true);
	watch_signals(SIG_DFL);
	/* a signal that came after the end has nothing to undo */
	if (stopped && r < 0)
		(void)raise(stopped);
	table_columns_release(&w.columns);
	table_events_release(&events);
	return r;
}
