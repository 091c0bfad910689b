/* Streaming JSON output; see json_writer.h. */
#include "core/text/json_writer.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/text/text.h"

void jsonw_release(struct jsonw *j)
{
	strbuf_release(&j->out);
}

static void indent(struct jsonw *j)
{
	if (!j->pretty || !j->depth)
		return;
	strbuf_addch(&j->out, '\n');
	for (int i = 0; i < j->depth; i++)
		strbuf_addstr(&j->out, "  ");
}

static void begin_value(struct jsonw *j, const char *key)
{
	if (!j->first[j->depth])
		strbuf_addch(&j->out, ',');
	j->first[j->depth] = false;
	indent(j);
	if (key) {
		strbuf_addch(&j->out, '"');
		text_add_json(&j->out, key, strlen(key));
		strbuf_addstr(&j->out, j->pretty ? "\": " : "\":");
	}
}

static void open_container(struct jsonw *j, const char *key, char c)
{
	begin_value(j, key);
	strbuf_addch(&j->out, c);
	if (j->depth < JSONW_DEPTH_MAX)
		j->depth++;
	j->first[j->depth] = true;
}

static void close_container(struct jsonw *j, char c)
{
	bool empty = j->first[j->depth];

	j->depth--;
	if (!empty && j->pretty) {
		strbuf_addch(&j->out, '\n');
		for (int i = 0; i < j->depth; i++)
			strbuf_addstr(&j->out, "  ");
	}
	strbuf_addch(&j->out, c);
}

void jsonw_begin_object(struct jsonw *j, const char *key)
{
	open_container(j, key, '{');
}

void jsonw_end_object(struct jsonw *j)
{
	close_container(j, '}');
}

void jsonw_begin_array(struct jsonw *j, const char *key)
{
	open_container(j, key, '[');
}

void jsonw_end_array(struct jsonw *j)
{
	close_container(j, ']');
}

void jsonw_text(struct jsonw *j, const char *key, const char *s, size_t n)
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

void jsonw_str(struct jsonw *j, const char *key, const char *s)
{
	if (s)
		jsonw_text(j, key, s, strlen(s));
	else
		jsonw_null(j, key);
}

/* Numbers are most of what is written: no printf. */
static void add_number(struct strbuf *out, uint64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);

	do
		digits[--n] = (char)('0' + v % 10);
	while (v /= 10);
	strbuf_add(out, digits + n, sizeof(digits) - n);
}

void jsonw_u64(struct jsonw *j, const char *key, uint64_t v)
{
	begin_value(j, key);
	add_number(&j->out, v);
}

void jsonw_i64(struct jsonw *j, const char *key, int64_t v)
{
	begin_value(j, key);
	if (v < 0)
		strbuf_addch(&j->out, '-');
	add_number(&j->out, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

void jsonw_f64(struct jsonw *j, const char *key, double v)
{
	if (!isfinite(v)) {
		jsonw_null(j, key);
		return;
	}
	begin_value(j, key);
	text_add_real(&j->out, v);
}

void jsonw_bool(struct jsonw *j, const char *key, bool v)
{
	begin_value(j, key);
	strbuf_addstr(&j->out, v ? "true" : "false");
}

void jsonw_null(struct jsonw *j, const char *key)
{
	begin_value(j, key);
	strbuf_addstr(&j->out, "null");
}

int jsonw_write(struct jsonw *j, FILE *f)
{
	strbuf_addch(&j->out, '\n');
	errno = 0;
	if (fwrite(j->out.buf, 1, j->out.len, f) != j->out.len)
		return errno ? -errno : -EIO;
	strbuf_reset(&j->out);
	j->first[0] = true;
	return 0;
}
