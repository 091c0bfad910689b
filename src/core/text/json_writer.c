/* Streaming JSON output; see json_writer.h. */
#include "core/text/json_writer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/text/text.h"

void json_release(struct json_writer *j)
{
	strbuf_release(&j->out);
}

static void new_line(struct json_writer *j)
{
	strbuf_addch(&j->out, '\n');
	for (int i = 0; i < j->depth; i++)
		strbuf_addstr(&j->out, "  ");
}

static void begin_value(struct json_writer *j, const char *key)
{
	if (!j->first[j->depth])
		strbuf_addch(&j->out, ',');
	j->first[j->depth] = false;
	if (j->pretty && j->depth)
		new_line(j);
	if (key) {
		strbuf_addch(&j->out, '"');
		text_add_json(&j->out, key, strlen(key));
		strbuf_addstr(&j->out, j->pretty ? "\": " : "\":");
	}
}

static void open_container(struct json_writer *j, const char *key, char c)
{
	begin_value(j, key);
	strbuf_addch(&j->out, c);
	if (j->depth < JSON_WRITER_DEPTH_MAX)
		j->depth++;
	j->first[j->depth] = true;
}

static void close_container(struct json_writer *j, char c)
{
	bool empty = j->first[j->depth];

	j->depth--;
	if (!empty && j->pretty)
		new_line(j);
	strbuf_addch(&j->out, c);
}

void json_begin_object(struct json_writer *j, const char *key)
{
	open_container(j, key, '{');
}

void json_end_object(struct json_writer *j)
{
	close_container(j, '}');
}

void json_begin_array(struct json_writer *j, const char *key)
{
	open_container(j, key, '[');
}

void json_end_array(struct json_writer *j)
{
	close_container(j, ']');
}

void json_text(struct json_writer *j, const char *key, const char *s, size_t n)
{
	begin_value(j, key);
	strbuf_addch(&j->out, '"');
	text_add_json(&j->out, s, n);
	strbuf_addch(&j->out, '"');
	if (key && !utf8_valid(s, n)) {
		_cleanup_free_ char *exact = xasprintf("%s_b64", key);

		begin_value(j, exact);
		strbuf_addch(&j->out, '"');
		text_add_base64(&j->out, s, n);
		strbuf_addch(&j->out, '"');
	}
}

void json_str(struct json_writer *j, const char *key, const char *s)
{
	if (s)
		json_text(j, key, s, strlen(s));
	else
		json_none(j, key);
}

void json_u64(struct json_writer *j, const char *key, uint64_t v)
{
	begin_value(j, key);
	text_add_u64(&j->out, v);
}

void json_i64(struct json_writer *j, const char *key, int64_t v)
{
	begin_value(j, key);
	text_add_i64(&j->out, v);
}

void json_raw(struct json_writer *j, const char *key, const char *text, size_t n)
{
	begin_value(j, key);
	strbuf_add(&j->out, n ? text : "null", n ? n : strlen("null"));
}

void json_none(struct json_writer *j, const char *key)
{
	json_raw(j, key, NULL, 0);
}

void json_f64(struct json_writer *j, const char *key, double v)
{
	if (!isfinite(v)) {
		json_none(j, key);
		return;
	}
	begin_value(j, key);
	text_add_real(&j->out, v);
}

void json_bool(struct json_writer *j, const char *key, bool v)
{
	json_raw(j, key, v ? "true" : "false", v ? 4 : 5);
}

int json_write(struct json_writer *j, FILE *f)
{
	strbuf_addch(&j->out, '\n');
	errno = 0;
	if (fwrite(j->out.buf, 1, j->out.len, f) != j->out.len)
		return errno ? -errno : -EIO;
	strbuf_reset(&j->out);
	j->first[0] = true;
	return 0;
}

void json_rows_begin(struct json_rows *r, FILE *f)
{
	*r = (struct json_rows){.j = JSON_WRITER_INIT, .f = f};
	fputc('[', f);
}

void json_rows_next(struct json_rows *r)
{
	fputs(r->any ? ",\n" : "\n", r->f);
	fwrite(r->j.out.buf, 1, r->j.out.len, r->f);
	strbuf_reset(&r->j.out);
	r->j.first[0] = true;
	r->any = true;
}

int json_rows_end(struct json_rows *r)
{
	fputs(r->any ? "\n]\n" : "]\n", r->f);
	json_release(&r->j);
	return output_error(r->f);
}
