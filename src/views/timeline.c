/* Processes over time; see timeline.h. */
#include "views/timeline.h"

#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "views/stream_table.h"

#define SLICES 20
#define BAR_MAX 60
#define NAMED 5 /* processes that are listed */

void timeline_release(struct timeline *t)
{
	free(t->steps);
	free(t->jobid);
	phase_list_release(&t->phases);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int load_job(struct timeline *t, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT j.jobid, j.start_us, j.end_us, j.duration_us, j.num_procs, "
		"nullif(j.peak_procs, 0), nullif(j.peak_threads, 0), j.processes FROM job j WHERE j.no = $1",
		db_int(job));

	int r = stmt_step(st);
	if (r < 0)
		return r;
	t->jobid = xstrdup(r == 1 ? stmt_get_str(st, 0) : "");
	t->start = stmt_get_optional(st, 1);
	t->end = stmt_get_optional(st, 2);
	t->duration = stmt_get_optional(st, 3);
	t->images = stmt_get_int(st, 4);
	t->processes = stmt_get_int(st, 7);
	t->peak_procs = stmt_get_optional(st, 5);
	t->peak_threads = stmt_get_threads(st, 6);
	return 0;
}

int timeline_load(struct timeline *t, struct store *s, int64_t job)
{
	*t = (struct timeline){0};
	int r = load_job(t, s, job);
	if (r < 0)
		return r;
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT time_us, processes, threads FROM job_profile "
			    "WHERE job = $1 ORDER BY n",
			    db_int(job));
	while ((r = stmt_step(st)) == 1) {
		GROW(t->steps, t->count, t->cap);
		t->steps[t->count++] = (struct timeline_step){
			stmt_get_int(st, 0), stmt_get_int(st, 1),
			t->peak_threads == UNKNOWN ? UNKNOWN : stmt_get_int(st, 2)};
	}
	return r < 0 ? r : phase_list_load(&t->phases, s, job);
}

/* ---- slices --------------------------------------------------------------------------------- */

/* The processes in one of several parts of equal length. */
struct slice {
	int64_t begin; /* us */
	int64_t most;
	double mean;
};

struct slices {
	struct slice v[SLICES];
	size_t count;
	int64_t begin;
	double width; /* us */
};

static size_t slice_at(const struct slices *l, int64_t time)
{
	double at = (double)(time - l->begin) / l->width;

	return at <= 0 ? 0 : at >= (double)l->count ? l->count - 1 : (size_t)at;
}

/* Adds a process to the means of the slices in which it ran. */
static void add_process(struct slices *l, int64_t start, int64_t end)
{
	size_t last = slice_at(l, end);

	for (size_t i = slice_at(l, start); i <= last; i++) {
		double left = (double)i * l->width, right = left + l->width;
		double from = (double)(start - l->begin), to = (double)(end - l->begin);

		from = from > left ? from : left;
		to = to < right ? to : right;
		if (to > from)
			l->v[i].mean += (to - from) / l->width;
	}
}

/* Means are computed from the processes. The maximum comes from the profile, whose steps are merged
 * to the larger number where there are many: a step counts in the slice in which it begins. */
static int make_slices(const struct timeline *t, struct store *s, int64_t job, struct slices *l)
{
	int64_t end = t->steps[t->count - 1].time;
	_cleanup_sql_ struct sql q = SQL_INIT;
	int r;

	*l = (struct slices){.begin = t->steps[0].time};
	l->count = end > l->begin ? SLICES : 1;
	l->width = end > l->begin ? (double)(end - l->begin) / SLICES : 1;
	sql_add(&q, "SELECT p.start, p.start + p.duration FROM process p WHERE ");
	sql_job_range(&q, "p.id", job);
	sql_add(&q, " AND p.start IS NOT NULL AND p.duration IS NOT NULL");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1)
		add_process(l, stmt_get_int(st, 0), stmt_get_int(st, 1));
	for (size_t i = 0; i < t->count; i++) {
		struct slice *to = &l->v[slice_at(l, t->steps[i].time)];

		if (t->steps[i].processes > to->most)
			to->most = t->steps[i].processes;
	}
	for (size_t i = 0; i < l->count; i++) {
		int64_t least = (int64_t)(l->v[i].mean + 0.9999);

		l->v[i].begin = l->begin + (int64_t)(l->width * (double)i);
		l->v[i].most = l->v[i].most > least ? l->v[i].most : least;
	}
	return r;
}

/* ---- for people ----------------------------------------------------------------------------- */

static void add_bar(struct strbuf *out, const struct slice *s, int64_t peak, size_t room)
{
	bool utf8 = text_is_utf8();
	double scale = peak > 0 ? (double)room / (double)peak : 0;
	size_t full = (size_t)(s->mean * scale + 0.5), most = (size_t)((double)s->most * scale);

	for (size_t i = 0; i < full && i < room; i++)
		strbuf_addstr(out, utf8 ? "█" : "#");
	for (size_t i = full; i < most && i < room; i++)
		strbuf_addstr(out, utf8 ? "░" : "-");
}

static int print_chart(const struct timeline *t, struct store *s, int64_t job, FILE *f)
{
	size_t width = terminal_width(f);
	size_t room = !width || width > BAR_MAX + 41 ? BAR_MAX : width > 54 ? width - 41 : 13;
	struct slices l;
	int r = make_slices(t, s, job, &l);

	if (r < 0)
		return r;
	bool fractions = l.width < 1e6;
	fprintf(f, "%-*s  %6s  %5s\n", fractions ? 23 : 19, "FROM", "MEAN", "MAX");
	for (size_t i = 0; i < l.count; i++) {
		_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

		(fractions ? add_local_time_ms : text_add_local_time)(&line, l.v[i].begin);
		strbuf_addf(&line, "  %6.2f  %5lld  ", l.v[i].mean, (long long)l.v[i].most);
		add_bar(&line, &l.v[i], t->peak_procs, room);
		while (line.len && line.buf[line.len - 1] == ' ')
			strbuf_cut(&line, line.len - 1);
		fprintf(f, "%s\n", line.buf);
	}
	return 0;
}

static void print_head(const struct timeline *t, FILE *f)
{
	_cleanup_strbuf_ struct strbuf head = STRBUF_INIT;
	bool human = terminal_width(f) > 0;

	strbuf_addstr(&head, "job ");
	text_add_printable(&head, t->jobid, strlen(t->jobid));
	strbuf_addstr(&head, ": ");
	add_counted(&head, t->processes, "process", "processes", human);
	if (t->images != t->processes) {
		strbuf_addstr(&head, " (");
		add_counted(&head, t->images, "image)", "images)", human);
	}
	if (t->peak_procs != UNKNOWN) {
		add_peak(&head, t->peak_procs, human);
		if (t->peak_threads == UNKNOWN) {
			strbuf_addstr(&head, "; threads at once unknown");
		} else {
			strbuf_addstr(&head, "; at most ");
			add_counted(&head, t->peak_threads, "thread", "threads", human);
			strbuf_addstr(&head, " at once");
		}
	}
	if (t->duration != UNKNOWN) {
		strbuf_addstr(&head, "; took ");
		add_us(&head, t->duration, human);
		strbuf_addstr(&head, human ? "" : " us");
	}
	fprintf(f, "%s\n\n", head.buf);
}

static int print_processes(struct store *s, int64_t job, const char *order, enum proc_form form,
			   FILE *f)
{
	struct proc_filter filter = {.limit = NAMED, .order = order};
	_cleanup_(proc_list_release) struct proc_list l = {0};
	int r = proc_list_load(&l, s, job, &filter);

	return r < 0 ? r : proc_list_print(&l, s, form, f);
}

static int print_page(const struct timeline *t, struct store *s, int64_t job, FILE *f)
{
	print_head(t, f);
	int r = t->count ? print_chart(t, s, job, f) : 0;
	if (r < 0)
		return r;
	phase_bars_print(&t->phases, f);
	if (!t->count)
		return 0;
	fputs("\nlongest processes\n", f);
	r = print_processes(s, job, "-duration", PROC_TABLE, f);
	if (r < 0)
		return r;
	fputs("\nfirst processes\n", f);
	return print_processes(s, job, "start", PROC_TABLE, f);
}

/* ---- for programs --------------------------------------------------------------------------- */

static int print_json(const struct timeline *t, struct store *s, int64_t job, FILE *f)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_str(&j, "jobid", t->jobid);
	json_time(&j, "start", t->start);
	json_time(&j, "end", t->end);
	json_number(&j, "duration", t->duration);
	json_i64(&j, "processes", t->processes);
	json_i64(&j, "images", t->images);
	json_i64(&j, "num_procs", t->images);
	json_number(&j, "peak_processes", t->peak_procs);
	json_number(&j, "peak_threads", t->peak_threads);
	json_begin_array(&j, "profile");
	for (size_t i = 0; i < t->count; i++) {
		json_begin_object(&j, NULL);
		json_time(&j, "time", t->steps[i].time);
		json_i64(&j, "processes", t->steps[i].processes);
		json_number(&j, "threads", t->steps[i].threads);
		json_end_object(&j);
	}
	json_end_array(&j);
	_cleanup_free_ struct phase_stat *stats = NULL;
	size_t count = phase_stats(t->phases.v, t->phases.count, PHASE_BY_NAME, &stats);
	if (count)
		phase_stats_json(&t->phases, stats, count, PHASE_BY_NAME, &j, "phases");
	fwrite(j.out.buf, 1, j.out.len, f);
	/* lists of processes are streamed into the object */
	fputs(",\n\"longest\":", f);
	int r = print_processes(s, job, "-duration", PROC_JSON, f);
	if (r < 0)
		return r;
	fputs(",\"first\":", f);
	r = print_processes(s, job, "start", PROC_JSON, f);
	fputs("}\n", f);
	return r < 0 ? r : output_error(f);
}

static int print_csv(const struct timeline *t, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"time", 0}, {"processes", 0}, {"threads", 0}};
	struct stream_table g;

	stream_table_begin(&g, columns, ARRAY_SIZE(columns), true, f);
	for (size_t i = 0; i < t->count; i++) {
		stream_table_time(&g, t->steps[i].time);
		stream_table_number(&g, t->steps[i].processes);
		stream_table_number(&g, t->steps[i].threads);
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

int timeline_print(const struct timeline *t, struct store *s, int64_t job, enum proc_form form,
		   FILE *f)
{
	return form == PROC_JSON  ? print_json(t, s, job, f)
	       : form == PROC_CSV ? print_csv(t, f)
				  : print_page(t, s, job, f);
}
