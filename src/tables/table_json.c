/*
 * JSON: an array of objects, or an object a line (table_jsonl.c). What is absent is null. Text that
 * is not UTF-8 has U+FFFD for its bad bytes, and "<column>_b64" beside it has the exact bytes, as
 * everywhere (core/text/json_writer.h).
 */
#include <string.h>

#include "core/text/text.h"
#include "tables/file_writer.h"
#include "tables/text_values.h"

struct json_column {
	struct strbuf key;          /* "name": */
	struct table_encoded texts; /* with the key */
};

struct table_file {
	struct file_writer out;
	const struct table_column *columns;
	size_t count;
	bool lines, any;
	struct json_column *json;
};

struct place {
	const struct table_column *column;
	const struct json_column *json;
};

static void add_text(void *user, struct strbuf *out, const char *s, size_t n)
{
	const struct place *p = user;

	strbuf_add(out, p->json->key.buf, p->json->key.len);
	strbuf_addch(out, '"');
	text_add_json(out, s, n);
	strbuf_addch(out, '"');
	if (utf8_valid(s, n))
		return;
	strbuf_addstr(out, ",\"");
	text_add_json(out, p->column->name, strlen(p->column->name));
	strbuf_addstr(out, "_b64\":\"");
	text_add_base64(out, s, n);
	strbuf_addch(out, '"');
}

void table_json_abandon(struct table_file *f)
{
	if (!f)
		return;
	for (size_t c = 0; c < f->count; c++) {
		strbuf_release(&f->json[c].key);
		table_encoded_release(&f->json[c].texts);
	}
	free(f->json);
	file_writer_abandon(&f->out);
	free(f);
}

int table_json_open(struct table_file **ret, const char *path, const struct table_column *columns,
		    size_t count, const struct table_options *o, bool lines, struct strbuf *why)
{
	int r = table_refuse_codec(o, "JSON", why);

	if (r < 0)
		return r;
	struct table_file *f = xcalloc(1, sizeof(*f));
	f->columns = columns;
	f->count = count;
	f->lines = lines;
	f->json = xcalloc(count + 1, sizeof(*f->json));
	for (size_t c = 0; c < count; c++) {
		struct json_column *j = &f->json[c];

		*j = (struct json_column){.key = STRBUF_INIT, .texts = {.bytes = STRBUF_INIT}};
		strbuf_addch(&j->key, '"');
		text_add_json(&j->key, columns[c].name, strlen(columns[c].name));
		strbuf_addstr(&j->key, "\":");
	}
	r = file_writer_open(&f->out, path, why);
	if (r < 0) {
		table_json_abandon(f);
		return r;
	}
	if (!lines)
		file_writer_add(&f->out, "[", 1);
	*ret = f;
	return 0;
}

static void add_value(struct table_file *f, struct strbuf *line, const struct table_values *v,
		      size_t c, size_t row)
{
	const struct json_column *j = &f->json[c];
	bool absent = v->absent && v->absent[row];

	if (f->columns[c].type == TABLE_TEXT && !absent) {
		table_encoded_add(&j->texts, v->codes[row], line);
		return;
	}
	strbuf_add(line, j->key.buf, j->key.len);
	if (absent) {
		strbuf_addstr(line, "null");
	} else if (f->columns[c].type == TABLE_INT) {
		table_add_int(line, v->ints[row]);
	} else if (f->columns[c].type == TABLE_TIME) {
		strbuf_addch(line, '"');
		table_add_time(line, v->ints[row]);
		strbuf_addch(line, '"');
	} else if (v->reals[row] - v->reals[row] != 0) { /* JSON has no such numbers */
		strbuf_addstr(line, "null");
	} else {
		text_add_real(line, v->reals[row]);
	}
}

int table_json_write(struct table_file *f, const struct table_batch *b, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	for (size_t c = 0; c < f->count; c++) {
		struct place p = {&f->columns[c], &f->json[c]};

		if (f->columns[c].type == TABLE_TEXT)
			table_encode(&f->json[c].texts, &b->columns[c].texts, add_text, &p);
	}
	for (size_t row = 0; row < b->rows && !f->out.error; row++) {
		strbuf_reset(&line);
		if (!f->lines)
			strbuf_addstr(&line, f->any ? ",\n" : "\n");
		f->any = true;
		for (size_t c = 0; c < f->count; c++) {
			strbuf_addch(&line, c ? ',' : '{');
			add_value(f, &line, &b->columns[c], c, row);
		}
		strbuf_addstr(&line, f->lines ? "}\n" : "}");
		file_writer_add(&f->out, line.buf, line.len);
	}
	return file_writer_flush(&f->out, why);
}

int table_json_close(struct table_file *f, struct strbuf *why)
{
	if (!f->lines)
		file_writer_add(&f->out, "\n]\n", 3);
	int r = file_writer_close(&f->out, why);
	table_json_abandon(f);
	return r;
}

static int json_open(struct table_file **ret, const char *path, const struct table_column *columns,
		     size_t count, const struct table_options *o, struct strbuf *why)
{
	return table_json_open(ret, path, columns, count, o, false, why);
}

const struct table_format table_json = {
	.name = "json",
	.suffix = ".json",
	.help = "an array of objects",
	.text = true,
	.open = json_open,
	.write = table_json_write,
	.close = table_json_close,
	.abandon = table_json_abandon,
};
