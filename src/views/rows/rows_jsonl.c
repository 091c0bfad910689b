/* JSON lines: one object per process, with its threads inside as "thread_rows". */
#include <errno.h>
#include <string.h>

#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "views/rows/row_writer.h"

struct state {
	FILE *f;
	struct json_writer j;
	bool threads; /* objects have an array of them */
	bool open;    /* an object has begun */
};

static void put_metrics(struct json_writer *j, const struct row *row)
{
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (!row_writer_shows(m) || !row_has(row, m->id))
			continue;
		if (m->type == TYPE_TEXT)
			json_text(j, m->name, row->text[m->id].buf, row->text[m->id].len);
		else
			json_u64(j, m->name, row->v[m->id]);
	}
}

/* argv as an array; "argv_b64" has the exact bytes where one is not UTF-8. */
static void put_argv(struct json_writer *j, const struct strbuf *argv)
{
	const char *end = argv->buf + argv->len;

	json_begin_array(j, "argv");
	for (const char *p = argv->buf; p < end; p += strlen(p) + 1)
		json_text(j, NULL, p, strlen(p));
	json_end_array(j);
	if (utf8_valid(argv->buf, argv->len))
		return;
	json_begin_array(j, "argv_b64");
	for (const char *p = argv->buf; p < end; p += strlen(p) + 1) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		text_add_base64(&text, p, strlen(p));
		json_text(j, NULL, text.buf, text.len);
	}
	json_end_array(j);
}

static void put_counters(struct json_writer *j, const struct row *row)
{
	struct counter c[ROW_WRITER_EVENTS_MAX];
	size_t n = row_counters(row, c, ROW_WRITER_EVENTS_MAX);

	if (!n)
		return;
	json_begin_object(j, "counters");
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *name = xstrndup(c[i].name, c[i].name_size);

		json_begin_object(j, name);
		if (c[i].present) {
			json_u64(j, "value", c[i].value);
			if (c[i].scaled)
				json_f64(j, "counted_share", (double)c[i].permille / 1000);
			if (c[i].user_only)
				json_bool(j, "user_mode_only", true);
		} else {
			json_none(j, "value");
			json_str(j, "reason", counter_reason(&c[i]));
		}
		json_end_object(j);
	}
	json_end_object(j);
}

static int end_object(struct state *s)
{
	if (!s->open)
		return 0;
	if (s->threads)
		json_end_array(&s->j);
	json_end_object(&s->j);
	s->open = false;
	return json_write(&s->j, s->f);
}

static void *open_jsonl(FILE *f, bool threads)
{
	struct state *s = xcalloc(1, sizeof(*s));

	s->f = f;
	s->threads = threads;
	s->j = (struct json_writer)JSON_WRITER_INIT;
	return s;
}

static int write_thread(struct state *s, const struct row_writer_row *r)
{
	json_begin_object(&s->j, NULL);
	put_metrics(&s->j, r->row);
	put_counters(&s->j, r->row);
	json_end_object(&s->j);
	return 0;
}

static int write_jsonl(void *state, const struct row_writer_row *r)
{
	struct state *s = state;

	if (r->thread)
		return write_thread(s, r);
	int e = end_object(s);
	if (e < 0)
		return e;
	json_begin_object(&s->j, NULL);
	put_metrics(&s->j, r->row);
	if (row_has(r->row, METRIC_ARGV))
		put_argv(&s->j, &r->row->text[METRIC_ARGV]);
	json_str(&s->j, "ended", r->ended);
	json_str(&s->j, "source", r->source);
	if (r->forked)
		json_bool(&s->j, "forked", true);
	if (r->silenced)
		json_bool(&s->j, "silenced", true);
	put_counters(&s->j, r->row);
	if (s->threads)
		json_begin_array(&s->j, "thread_rows");
	s->open = true;
	return 0;
}

static int close_jsonl(void *state)
{
	struct state *s = state;

	if (!s)
		return 0;
	int e = end_object(s);
	json_release(&s->j);
	free(s);
	return e;
}

const struct row_writer row_writer_jsonl = {
	.name = "jsonl",
	.open = open_jsonl,
	.write = write_jsonl,
	.close = close_jsonl,
};
