/* One job; see job_show.h. */
#include "views/jobs/job_show.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/log.h"
#include "core/text/text.h"
#include "views/sheet.h"
#include "views/stream_table.h"

void jobshow_release(struct jobshow *j)
{
	for (size_t i = 0; i < j->sum_count; i++) {
		free(j->sums[i].name);
		free(j->sums[i].help);
	}
	for (size_t i = 0; i < j->warning_count; i++)
		free(j->warnings[i]);
	free(j->sums);
	free(j->warnings);
	job_details_release(&j->metadata);
	joblist_release(&j->list);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* In the order of the metric table, then events. */
static int by_dictionary(const void *a, const void *b)
{
	const struct job_sum *x = a, *y = b;

	if (!x->metric || !y->metric)
		return x->metric ? -1 : y->metric ? 1 : strcmp(x->name, y->name);
	return x->metric < y->metric ? -1 : x->metric > y->metric;
}

static int load_sums(struct jobshow *j, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT metric, sum, max, (SELECT min(unit) FROM sample_metric m "
			    "WHERE m.job = s.job AND m.name = s.metric), (SELECT min(help) FROM "
			    "sample_metric m WHERE m.job = s.job AND m.name = s.metric) "
			    "FROM job_sum s WHERE job = $1",
			    db_int(job));
	int r;

	while ((r = stmt_step(st)) == 1) {
		const char *name = stmt_get_str(st, 0);

		GROW(j->sums, j->sum_count, j->sum_cap);
		j->sums[j->sum_count++] = (struct job_sum){
			xstrdup(name),
			metric_by_name(name),
			stmt_get_int(st, 1),
			stmt_get_int(st, 2),
			stmt_is_null(st, 3) ? UNIT_COUNT : metric_unit_by_name(stmt_get_str(st, 3)),
			stmt_is_null(st, 4) ? NULL : xstrdup(stmt_get_str(st, 4))};
	}
	if (j->sum_count)
		qsort(j->sums, j->sum_count, sizeof(*j->sums), by_dictionary);
	return r;
}

static int load_warnings(struct jobshow *j, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT text FROM job_warning WHERE job = $1 ORDER BY n", db_int(job));
	int r;

	while ((r = stmt_step(st)) == 1) {
		GROW(j->warnings, j->warning_count, j->warning_cap);
		j->warnings[j->warning_count++] = xstrdup(stmt_get_str(st, 0));
	}
	return r;
}

int jobshow_load(struct jobshow *j, struct store *s, int64_t job)
{
	struct job_filter f = {.no = job, .limit = NO_LIMIT};

	*j = (struct jobshow){.list = JOBLIST_INIT};
	int r = joblist_load(&j->list, s, &f);
	if (r >= 0)
		r = load_sums(j, s, job);
	if (r >= 0)
		r = load_warnings(j, s, job);
	if (r >= 0)
		r = jobshow_load_io(j, s, job);
	if (r >= 0)
		job_details_load(&j->metadata, s, job);
	if (r >= 0 && !j->list.count) {
		/* since it was looked up */
		strbuf_reset(&s->error);
		strbuf_addstr(&s->error, "the job was deleted meanwhile");
		r = -ENOENT;
	}
	return r;
}

static const struct job_row *row_of(const struct jobshow *s)
{
	return &s->list.rows[0];
}

static bool is_peak(const struct job_sum *s)
{
	return s->metric && s->metric->agg == AGG_MAX;
}

/* A sum over all processes means nothing for figures that parents have of their children, or that
 * each process had at its end. */
static bool has_total(const struct job_sum *s)
{
	static const enum metric_id none[] = {METRIC_CMINFLT, METRIC_CMAJFLT, METRIC_CUTIME,
					      METRIC_CSTIME, METRIC_NUM_THREADS};

	for (size_t i = 0; s->metric && i < ARRAY_SIZE(none); i++)
		if (s->metric->id == none[i])
			return false;
	return !is_peak(s);
}

/* ---- JSON and CSV --------------------------------------------------------------------------- */

void jobshow_json_metadata(const struct jobshow *s, struct json_writer *j)
{
	json_str(j, "command", s->metadata.command);
	json_str(j, "array_task", s->metadata.task);
	json_str(j, "cut_off", s->metadata.cut_off);
	json_i64(j, "io_unknown", s->io_unknown);
}

int jobshow_print_json(const struct jobshow *s, FILE *f)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	j.pretty = true;
	json_begin_object(&j, NULL);
	joblist_json_front(&s->list, row_of(s), &j);
	jobshow_json_metadata(s, &j);
	json_begin_object(&j, "sums");
	for (size_t i = 0; i < s->sum_count; i++)
		json_i64(&j, s->sums[i].name, s->sums[i].sum);
	json_end_object(&j);
	json_begin_object(&j, "peaks");
	json_number(&j, "processes", row_of(s)->peak_procs);
	json_number(&j, "threads", row_of(s)->peak_threads);
	for (size_t i = 0; i < s->sum_count; i++)
		if (is_peak(&s->sums[i]))
			json_i64(&j, s->sums[i].name, s->sums[i].max);
	json_end_object(&j);
	json_strs(&j, "warnings", s->warnings, s->warning_count);
	joblist_json_back(&s->list, row_of(s), &j);
	json_end_object(&j);
	int r = json_write(&j, f);
	return r < 0 ? r : output_error(f);
}

static void csv_text(struct stream_table *g, const char *front, const char *name, const char *value)
{
	_cleanup_free_ char *key = xasprintf("%s%s", front, name);

	stream_table_str(g, key);
	stream_table_str(g, value);
	stream_table_row(g, 0);
}

static void csv_number(struct stream_table *g, const char *front, const char *name, int64_t v)
{
	_cleanup_free_ char *key = xasprintf("%s%s", front, name);

	stream_table_str(g, key);
	stream_table_number(g, v);
	stream_table_row(g, 0);
}

static void csv_time(struct stream_table *g, const char *name, int64_t v)
{
	stream_table_str(g, name);
	stream_table_time(g, v);
	stream_table_row(g, 0);
}

static void csv_entries(const struct jobshow *s, struct stream_table *g, const char *front,
			const struct job_entries *e)
{
	for (uint32_t i = e->first; i < e->first + e->count; i++) {
		const struct job_entry *t = &s->list.entries[i];

		if (t->value)
			csv_text(g, front, joblist_text(&s->list, t->key),
				 joblist_text(&s->list, t->value));
		else
			csv_number(g, front, joblist_text(&s->list, t->key), t->number);
	}
}

int jobshow_print_csv(const struct jobshow *s, FILE *f)
{
	static const struct terminal_table_column columns[] = {{"name", 0}, {"value", 0}};
	const struct job_row *r = row_of(s);
	struct stream_table g;

	stream_table_begin(&g, columns, ARRAY_SIZE(columns), true, f);
	csv_text(&g, "", "jobid", joblist_text(&s->list, r->jobid));
	csv_text(&g, "", "jobname", joblist_text(&s->list, r->jobname));
	csv_text(&g, "", "user", joblist_text(&s->list, r->user));
	csv_text(&g, "", "command", s->metadata.command);
	csv_time(&g, "start", r->start);
	csv_time(&g, "end", r->end);
	csv_time(&g, "submit", r->submit);
	csv_number(&g, "", "duration", r->duration);
	csv_number(&g, "", "cpu_time", r->cpu);
	csv_number(&g, "", "exitcode", r->exitcode);
	csv_number(&g, "", "processes", r->processes);
	csv_number(&g, "", "images", r->sampled ? UNKNOWN : r->images);
	csv_number(&g, "", "num_procs", r->sampled ? UNKNOWN : r->images);
	csv_number(&g, "", "num_threads", r->num_threads);
	csv_entries(s, &g, "host.", &r->hosts);
	csv_entries(s, &g, "tag.", &r->tags);
	csv_entries(s, &g, "annotation.", &r->annotations);
	for (size_t i = 0; i < s->sum_count; i++)
		if (!is_peak(&s->sums[i]))
			csv_number(&g, "sum.", s->sums[i].name, s->sums[i].sum);
	csv_number(&g, "peak.", "processes", r->peak_procs);
	csv_number(&g, "peak.", "threads", r->peak_threads);
	for (size_t i = 0; i < s->sum_count; i++)
		if (is_peak(&s->sums[i]))
			csv_number(&g, "peak.", s->sums[i].name, s->sums[i].max);
	for (size_t i = 0; i < s->warning_count; i++)
		csv_text(&g, "", "warning", s->warnings[i]);
	csv_text(&g, "", "format", joblist_text(&s->list, r->format));
	csv_text(&g, "", "source", joblist_text(&s->list, r->source));
	csv_time(&g, "ingested", r->ingested);
	return stream_table_end(&g);
}

/* ---- a page --------------------------------------------------------------------------------- */

#define LABEL 15 /* columns of the labels */

struct page {
	const struct jobshow *s;
	struct strbuf out;
	struct sheet sheet;
	bool human;
};

/* "12 s" or "12000000 us" */
static void add_time_span(const struct page *p, struct strbuf *out, int64_t us)
{
	add_us(out, us, p->human);
	if (!p->human)
		strbuf_addstr(out, " us");
}

const struct job_sum *jobshow_sum(const struct jobshow *s, const char *name)
{
	for (size_t i = 0; i < s->sum_count; i++)
		if (!strcmp(s->sums[i].name, name))
			return &s->sums[i];
	return NULL;
}

static int64_t cancelled(const struct jobshow *s)
{
	const struct job_sum *gone = jobshow_sum(s, "cancelled_write_bytes");

	return gone && gone->sum > 0 ? gone->sum : 0;
}

int64_t jobshow_stored(const struct jobshow *s)
{
	const struct job_sum *all = jobshow_sum(s, "write_bytes");

	if (!all || all->sum < 0)
		return UNKNOWN;
	return all->sum > cancelled(s) ? all->sum - cancelled(s) : 0;
}

bool jobshow_add_stored(struct strbuf *out, const struct jobshow *s, const char *words, bool human)
{
	int64_t stored = jobshow_stored(s);

	if (stored == UNKNOWN)
		return false;
	add_bytes(out, stored, human);
	strbuf_addstr(out, words);
	if (cancelled(s)) {
		strbuf_addstr(out, ", ");
		add_bytes(out, cancelled(s), human);
		strbuf_addstr(out, " deleted before reaching storage");
	}
	return true;
}

/* A sum with its unit; false where there is none. */
static bool add_sum(const struct jobshow *show, struct strbuf *out, bool human, const char *front,
		    const char *name, const char *back)
{
	const struct job_sum *s = jobshow_sum(show, name);

	if (!s || s->sum < 0)
		return false;
	strbuf_addstr(out, front);
	add_metric(out, s->metric, s->sum, human);
	if (!human && s->metric && *metric_unit_name(s->metric->unit))
		strbuf_addf(out, " %s", metric_unit_name(s->metric->unit));
	strbuf_addstr(out, back);
	return true;
}

void jobshow_add_waiting(struct strbuf *out, const struct jobshow *s, bool human)
{
	add_sum(s, out, human, "", "time_waiting", " for a CPU");
	add_sum(s, out, human, out->len ? ", " : "", "delayacct_blkio_time", " for storage");
}

static void page_head(struct page *p)
{
	const struct joblist *l = &p->s->list;
	const struct job_row *r = row_of(p->s);
	_cleanup_strbuf_ struct strbuf title = STRBUF_INIT;
	const char *name = joblist_text(l, r->jobname);

	strbuf_addstr(&title, "job ");
	text_add_printable(&title, joblist_text(l, r->jobid), strlen(joblist_text(l, r->jobid)));
	if (name) {
		strbuf_addstr(&title, "  ");
		text_add_printable(&title, name, strlen(name));
	}
	sheet_paint(&p->sheet, "1", title.buf);
	strbuf_addch(&p->out, '\n');
}

static void page_hosts(struct page *p)
{
	const struct joblist *l = &p->s->list;
	const struct job_entries *e = &row_of(p->s)->hosts;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (uint32_t i = e->first; i < e->first + e->count; i++) {
		strbuf_addf(&text, "%s%s", i > e->first ? ", " : "",
			    joblist_text(l, l->entries[i].key));
		if (e->count > 1 && !row_of(p->s)->sampled) {
			strbuf_addstr(&text, " (");
			add_counted(&text, l->entries[i].number, "image)", "images)", p->human);
		}
	}
	sheet_line(&p->sheet, e->count > 1 ? "hosts" : "host", text.buf);
}

static void page_times(struct page *p)
{
	const struct job_row *r = row_of(p->s);
	_cleanup_strbuf_ struct strbuf start = STRBUF_INIT, end = STRBUF_INIT, code = STRBUF_INIT,
				       state = STRBUF_INIT;

	text_add_local_time(&start, r->start);
	if (r->submit != UNKNOWN && r->start != UNKNOWN && r->start - r->submit >= 1000000) {
		strbuf_addstr(&start, ", waited ");
		add_time_span(p, &start, r->start - r->submit);
	}
	text_add_local_time(&end, r->end);
	if (r->duration != UNKNOWN) {
		strbuf_addstr(&end, ", took ");
		add_time_span(p, &end, r->duration);
	}
	sheet_line(&p->sheet, "start", start.buf);
	sheet_line(&p->sheet, "end", end.buf);
	if (r->open) {
		joblist_add_open(&state, r);
		sheet_line(&p->sheet, "state", state.buf);
	}
	if (r->exitcode == UNKNOWN) {
		sheet_line(&p->sheet, "exit", "unknown");
		return;
	}
	sheet_label(&p->sheet, "exit");
	strbuf_addf(&code, "%lld", (long long)r->exitcode);
	sheet_paint(&p->sheet, r->exitcode ? "1;31" : "32", code.buf);
	strbuf_addch(&p->out, '\n');
}

/* A job without records, as far as samples saw it. */
static void page_sampled(struct page *p)
{
	const struct job_row *r = row_of(p->s);
	_cleanup_strbuf_ struct strbuf work = STRBUF_INIT, cpu = STRBUF_INIT;

	add_count(&work, r->processes, p->human);
	strbuf_addstr(&work, r->processes == UNKNOWN
				     ? "unknown: neither sampled nor recorded"
				     : " seen by sampling, which misses short ones");
	sheet_line(&p->sheet, "processes", work.buf);
	if (r->cpu == UNKNOWN) {
		sheet_line(&p->sheet, "CPU", "unknown: neither sampled nor recorded");
		return;
	}
	add_time_span(p, &cpu, r->cpu);
	strbuf_addstr(&cpu, " while sampled");
	if (!isnan(joblist_busy(r, r->cpu)))
		strbuf_addf(&cpu, "; %.3g CPUs busy on average", joblist_busy(r, r->cpu));
	sheet_line(&p->sheet, "CPU", cpu.buf);
}

static void page_work(struct page *p)
{
	const struct job_row *r = row_of(p->s);
	_cleanup_strbuf_ struct strbuf work = STRBUF_INIT, cpu = STRBUF_INIT, memory = STRBUF_INIT,
				       io = STRBUF_INIT, wait = STRBUF_INIT;

	if (r->sampled) {
		page_sampled(p);
		return;
	}
	joblist_add_work(&work, r, p->human);
	sheet_line(&p->sheet, "processes", work.buf);

	add_time_span(p, &cpu, r->cpu);
	if (add_sum(p->s, &cpu, p->human, ": ", "usertime", " user, "))
		add_sum(p->s, &cpu, p->human, "", "systemtime", " system");
	if (!isnan(joblist_busy(r, r->cpu)))
		strbuf_addf(&cpu, "; %.3g CPUs busy on average", joblist_busy(r, r->cpu));
	sheet_line(&p->sheet, "CPU", cpu.buf);

	const struct job_sum *rss = jobshow_sum(p->s, "rssmax");
	if (rss) {
		add_kib(&memory, rss->max, p->human);
		strbuf_addstr(&memory,
			      p->human ? " in the largest process" : " KiB in the largest process");
	}
	sheet_line(&p->sheet, "memory", memory.buf);

	jobshow_add_io(&io, p->s, p->human);
	sheet_line(&p->sheet, "I/O", io.buf);

	jobshow_add_waiting(&wait, p->s, p->human);
	sheet_line(&p->sheet, "waiting", wait.buf);
}

static void page_entries(struct page *p, const char *title, const struct job_entries *e)
{
	const struct joblist *l = &p->s->list;
	size_t widest = 0;

	for (uint32_t i = e->first; i < e->first + e->count; i++) {
		size_t w = text_width(joblist_text(l, l->entries[i].key), l->entries[i].key_size);

		widest = w > widest ? w : widest;
	}
	widest = widest > 28 ? 28 : widest;
	for (uint32_t i = e->first; i < e->first + e->count; i++) {
		const struct job_entry *t = &l->entries[i];
		_cleanup_strbuf_ struct strbuf value = STRBUF_INIT;
		size_t w = text_width(joblist_text(l, t->key), t->key_size);

		sheet_label(&p->sheet, i == e->first ? title : "");
		text_add_printable(&p->out, joblist_text(l, t->key), t->key_size);
		for (; w < widest + 2; w++)
			strbuf_addch(&p->out, ' ');
		text_add_printable(&value, joblist_text(l, t->value), t->value_size);
		text_add_wrapped(&p->out, value.buf, LABEL + widest + 2, p->sheet.width);
		strbuf_addch(&p->out, '\n');
	}
}

static void page_origin(struct page *p)
{
	const struct joblist *l = &p->s->list;
	const struct job_row *r = row_of(p->s);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%s", joblist_text(l, r->format));
	if (r->source)
		strbuf_addf(&text, " in %s", joblist_text(l, r->source));
	if (p->s->metadata.parts > 1)
		strbuf_addf(&text, ", the first of %zu parts", p->s->metadata.parts);
	strbuf_addstr(&text, ", stored ");
	text_add_local_time(&text, r->ingested);
	sheet_line(&p->sheet, "origin", text.buf);
}

/* Leaves out what is of no use to people: sums without meaning, and counters that went back. */
static void add_readable(struct strbuf *out, const struct job_sum *s, bool sum)
{
	int64_t v = sum ? s->sum : s->max;

	if ((sum && !has_total(s)) || v < 0)
		return;
	if (s->metric && s->metric->unit == UNIT_BLOCKS)
		text_add_bytes(out, (double)v * 512);
	else
		add_metric(out, s->metric, v, true);
}

/* The sums, with the largest process beside them. */
static int print_sums(const struct page *p, FILE *f)
{
	static const struct terminal_table_column readable[] = {{"  METRIC", 0},
								{"ALL PROCESSES", COLUMN_RIGHT},
								{"LARGEST ONE", COLUMN_RIGHT},
								{"MEANING", COLUMN_CUT}};
	static const struct terminal_table_column raw[] = {{"  METRIC", 0},
							   {"ALL PROCESSES", COLUMN_RIGHT},
							   {"LARGEST ONE", COLUMN_RIGHT},
							   {"UNIT", 0},
							   {"MEANING", COLUMN_CUT}};
	struct stream_table g;

	stream_table_begin(&g, p->human ? readable : raw,
			   p->human ? ARRAY_SIZE(readable) : ARRAY_SIZE(raw), false, f);
	for (size_t i = 0; i < p->s->sum_count; i++) {
		const struct job_sum *s = &p->s->sums[i];
		_cleanup_strbuf_ struct strbuf sum = STRBUF_INIT, max = STRBUF_INIT;
		_cleanup_free_ char *name = xasprintf("  %s", s->name);

		if (p->human) {
			add_readable(&sum, s, true);
			add_readable(&max, s, false);
		} else {
			if (has_total(s))
				text_add_i64(&sum, s->sum);
			text_add_i64(&max, s->max);
		}
		stream_table_str(&g, name);
		stream_table_text(&g, sum.buf, sum.len);
		stream_table_text(&g, max.buf, max.len);
		if (!p->human)
			stream_table_str(&g,
					 metric_unit_name(s->metric ? s->metric->unit : s->unit));
		stream_table_str(&g, s->metric ? s->metric->help : s->help ? s->help : "event");
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

int jobshow_print_page(const struct jobshow *s, FILE *f)
{
	size_t width = terminal_width(f);
	struct page p = {.s = s, .out = STRBUF_INIT, .human = width > 0};

	p.sheet = (struct sheet){&p.out, color_on(f), LABEL, width ? width : 100000};
	page_head(&p);
	sheet_line(&p.sheet, "user", joblist_text(&s->list, row_of(s)->user));
	sheet_line(&p.sheet, "command", s->metadata.command);
	sheet_line(&p.sheet, "batch", s->metadata.batch);
	sheet_line(&p.sheet, "cut off", s->metadata.cut_off);
	page_hosts(&p);
	page_times(&p);
	page_work(&p);
	page_entries(&p, "tags", &row_of(s)->tags);
	page_entries(&p, "annotations", &row_of(s)->annotations);
	for (size_t i = 0; i < s->warning_count; i++)
		sheet_line(&p.sheet, i ? "" : "warnings", s->warnings[i]);
	page_origin(&p);
	if (s->sum_count)
		strbuf_addch(&p.out, '\n');
	fwrite(p.out.buf, 1, p.out.len, f);
	strbuf_release(&p.out);
	return print_sums(&p, f);
}
