/* Rows of records for people and programs; see rows.h. */
#include "views/rows.h"

#include <errno.h>
#include <string.h>

#include "core/jsonw.h"
#include "core/text.h"
#include "views/table.h"

#define EVENTS_MAX 16

static const char *const ended_names[] = {"exit", "signal", "exec", "running", "unknown"};
static const char *const source_names[] = {"preload", "reaped", "taskstats", "cn_proc"};

/* Metrics that mean something to a reader; the rest keeps the record files' own books. */
static bool is_shown(const struct metric *m)
{
	switch (m->id) {
	case METRIC_ARGV:
	case METRIC_EVENTS:
	case METRIC_COUNTERS:
	case METRIC_BOOTTIME:
	case METRIC_REALTIME:
	case METRIC_IMAGE_PID:
	case METRIC_BEGIN:
	case METRIC_BOOT_ID:
	case METRIC_EXECS:
	case METRIC_VERSION:
	case METRIC_TASK_DELAYACCT:
	case METRIC_PROCDEV:
	case METRIC_OWN_RCHAR:
	case METRIC_OWN_WCHAR:
	case METRIC_OWN_SYSCR:
	case METRIC_OWN_SYSCW:
		return false;
	default:
		return true;
	}
}

struct writer {
	struct books *b;
	FILE *f;
	bool threads;
	struct row row, thread;
	struct strbuf line;
	int error;
};

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_metrics(struct jsonw *j, const struct row *row)
{
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (!is_shown(m) || !row_has(row, m->id))
			continue;
		if (m->type == TYPE_TEXT)
			jsonw_text(j, m->name, row->text[m->id].buf, row->text[m->id].len);
		else
			jsonw_u64(j, m->name, row->v[m->id]);
	}
}

/* argv as an array; "argv_b64" has the exact bytes where one is not UTF-8. */
static void json_argv(struct jsonw *j, const struct strbuf *argv)
{
	const char *end = argv->buf + argv->len;

	jsonw_begin_array(j, "argv");
	for (const char *p = argv->buf; p < end; p += strlen(p) + 1)
		jsonw_text(j, NULL, p, strlen(p));
	jsonw_end_array(j);
	if (utf8_valid(argv->buf, argv->len))
		return;
	jsonw_begin_array(j, "argv_b64");
	for (const char *p = argv->buf; p < end; p += strlen(p) + 1) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		text_add_base64(&text, p, strlen(p));
		jsonw_text(j, NULL, text.buf, text.len);
	}
	jsonw_end_array(j);
}

static void json_counters(struct jsonw *j, const struct row *row)
{
	struct counter c[EVENTS_MAX];
	size_t n = row_counters(row, c, EVENTS_MAX);

	if (!n)
		return;
	jsonw_begin_object(j, "counters");
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = xstrndup(c[i].name, c[i].name_size);

		jsonw_begin_object(j, name);
		if (c[i].present) {
			jsonw_u64(j, "value", c[i].value);
			if (c[i].scaled)
				jsonw_f64(j, "counted_share", (double)c[i].permille / 1000);
			if (c[i].user_only)
				jsonw_bool(j, "user_mode_only", true);
		} else {
			jsonw_null(j, "value");
			jsonw_str(j, "reason", strerror(c[i].problem));
		}
		jsonw_end_object(j);
	}
	jsonw_end_object(j);
}

static void json_threads(struct writer *w, struct jsonw *j, uint32_t image, size_t *next)
{
	jsonw_begin_array(j, "thread_rows");
	for (; *next < w->b->thread_count && w->b->threads[*next].image == image; (*next)++) {
		if ((w->error = thread_row(w->b, &w->b->threads[*next], &w->thread)) < 0)
			break;
		if (row_has(&w->row, METRIC_EVENTS))
			row_set_text(&w->thread, METRIC_EVENTS, w->row.text[METRIC_EVENTS].buf,
				     w->row.text[METRIC_EVENTS].len);
		jsonw_begin_object(j, NULL);
		json_metrics(j, &w->thread);
		json_counters(j, &w->thread);
		jsonw_end_object(j);
	}
	jsonw_end_array(j);
}

static void write_json(struct writer *w, const struct image *img, size_t *next_thread)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	jsonw_begin_object(&j, NULL);
	json_metrics(&j, &w->row);
	if (row_has(&w->row, METRIC_ARGV))
		json_argv(&j, &w->row.text[METRIC_ARGV]);
	jsonw_str(&j, "ended", ended_names[image_ended(w->b, img)]);
	jsonw_str(&j, "source", source_names[image_source(w->b, img)]);
	if (img->copy)
		jsonw_bool(&j, "forked", true);
	if (img->silent)
		jsonw_bool(&j, "silenced", true);
	json_counters(&j, &w->row);
	if (w->threads)
		json_threads(w, &j, (uint32_t)(img - w->b->images), next_thread);
	jsonw_end_object(&j);
	if (w->error == 0)
		w->error = jsonw_write(&j, w->f);
}

/* ---- CSV and TSV ---------------------------------------------------------------------------- */

static void add_cell(struct strbuf *out, bool tsv, const char *s, size_t n)
{
	if (!tsv) {
		text_add_csv(out, s, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		const char *e = s[i] ? strchr("\t\n\r\\", s[i]) : NULL;

		if (e)
			strbuf_addf(out, "\\%c",
				    *e == '\t'   ? 't'
				    : *e == '\n' ? 'n'
				    : *e == '\r' ? 'r'
						 : '\\');
		else
			strbuf_addch(out, s[i]);
	}
}

static void add_header(struct writer *w, bool tsv)
{
	char separator = tsv ? '\t' : ',';

	strbuf_reset(&w->line);
	for (size_t i = 0; i < metric_count; i++)
		if (is_shown(&metrics[i]))
			strbuf_addf(&w->line, "%s%c", metrics[i].name, separator);
	strbuf_addf(&w->line, "ended%csource\n", separator);
	fwrite(w->line.buf, 1, w->line.len, w->f);
}

static void add_line(struct writer *w, const struct row *row, bool tsv, const char *ended,
		     const char *source)
{
	char separator = tsv ? '\t' : ',';

	strbuf_reset(&w->line);
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (!is_shown(m))
			continue;
		if (row_has(row, m->id) && m->type == TYPE_TEXT)
			add_cell(&w->line, tsv, row->text[m->id].buf, row->text[m->id].len);
		else if (row_has(row, m->id))
			strbuf_addf(&w->line, "%llu", (unsigned long long)row->v[m->id]);
		strbuf_addch(&w->line, separator);
	}
	strbuf_addf(&w->line, "%s%c%s\n", ended, separator, source);
	if (fwrite(w->line.buf, 1, w->line.len, w->f) != w->line.len)
		w->error = -EIO;
}

static void write_separated(struct writer *w, const struct image *img, bool tsv, size_t *next)
{
	uint32_t image = (uint32_t)(img - w->b->images);

	add_line(w, &w->row, tsv, ended_names[image_ended(w->b, img)],
		 source_names[image_source(w->b, img)]);
	if (!w->threads)
		return;
	for (; *next < w->b->thread_count && w->b->threads[*next].image == image && w->error == 0;
	     (*next)++) {
		w->error = thread_row(w->b, &w->b->threads[*next], &w->thread);
		if (w->error == 0)
			add_line(w, &w->thread, tsv, "", "");
	}
}

/* ---- table ---------------------------------------------------------------------------------- */

static const struct table_column columns[] = {
	{"START", 0},
	{"PID", COLUMN_RIGHT},
	{"PPID", COLUMN_RIGHT},
	{"PROGRAM", 0},
	{"ENDED", 0},
	{"WALL", COLUMN_RIGHT},
	{"CPU", COLUMN_RIGHT},
	{"RSS", COLUMN_RIGHT},
	{"THREADS", COLUMN_RIGHT},
	{"ARGUMENTS", COLUMN_CUT},
};

static void cell_duration(struct table *t, size_t column, double seconds)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	text_add_duration(&text, seconds);
	table_cell(t, column, text.buf);
}

static void add_table_row(struct writer *w, struct table *t, const struct image *img)
{
	const struct row *r = &w->row;
	enum books_ended ended = image_ended(w->b, img);
	_cleanup_strbuf_ struct strbuf start = STRBUF_INIT, rss = STRBUF_INIT;

	table_row(t, ended == ENDED_SIGNAL || ended == ENDED_UNKNOWN ? 'r' : 0);
	if (row_has(r, METRIC_START)) {
		text_add_time(&start, (int64_t)r->v[METRIC_START], false);
		table_cellf(t, 0, "%.12s", start.len > 23 ? start.buf + 11 : start.buf);
	}
	table_cellf(t, 1, "%llu", (unsigned long long)row_get(r, METRIC_PID, 0));
	table_cellf(t, 2, "%llu", (unsigned long long)row_get(r, METRIC_PPID, 0));
	table_cell(t, 3, row_has(r, METRIC_EXENAME) ? r->text[METRIC_EXENAME].buf : "?");
	if (ended == ENDED_EXIT)
		table_cellf(t, 4, "exit %llu", (unsigned long long)row_get(r, METRIC_EXITCODE, 0));
	else if (ended == ENDED_SIGNAL)
		table_cellf(t, 4, "signal %llu",
			    (unsigned long long)row_get(r, METRIC_EXITSIGNAL, 0));
	else
		table_cell(t, 4, ended_names[ended]);
	if (row_has(r, METRIC_START) && row_has(r, METRIC_END))
		cell_duration(t, 5, (double)(r->v[METRIC_END] - r->v[METRIC_START]) / 1e6);
	if (row_has(r, METRIC_USERTIME))
		cell_duration(t, 6,
			      (double)(r->v[METRIC_USERTIME] + r->v[METRIC_SYSTEMTIME]) / 1e6);
	if (row_has(r, METRIC_RSSMAX)) {
		text_add_bytes(&rss, (double)r->v[METRIC_RSSMAX] * 1024);
		table_cell(t, 7, rss.buf);
	}
	table_cellf(t, 8, "%llu", (unsigned long long)row_get(r, METRIC_NUMTIDS, 1));
	if (row_has(r, METRIC_ARGS))
		table_cell(t, 9, r->text[METRIC_ARGS].buf);
}

/* ---- all ------------------------------------------------------------------------------------ */

int rows_write(struct books *b, enum rows_form form, bool threads, FILE *f)
{
	_cleanup_free_ uint32_t *order = books_order(b);
	struct writer w = {.b = b, .f = f, .threads = threads, .line = STRBUF_INIT};
	struct table t;

	row_init(&w.row);
	row_init(&w.thread);
	table_init(&t, columns, ARRAY_SIZE(columns));
	books_sort_threads(b);
	if (form == ROWS_CSV || form == ROWS_TSV)
		add_header(&w, form == ROWS_TSV);
	for (size_t i = 0; i < b->image_count && w.error == 0; i++) {
		const struct image *img = &b->images[order[i]];
		size_t next = threads ? books_first_thread(b, order[i]) : 0;

		if ((w.error = image_row(b, img, &w.row)) < 0)
			break;
		if (form == ROWS_JSONL)
			write_json(&w, img, &next);
		else if (form == ROWS_TABLE)
			add_table_row(&w, &t, img);
		else
			write_separated(&w, img, form == ROWS_TSV, &next);
	}
	if (form == ROWS_TABLE && w.error == 0)
		table_print(&t, f);
	table_release(&t);
	row_release(&w.row);
	row_release(&w.thread);
	strbuf_release(&w.line);
	if (w.error == 0 && fflush(f) != 0)
		w.error = -errno;
	return w.error;
}
