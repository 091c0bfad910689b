/*
 * Text formats: CSV (RFC 4180, with a header), and JSON as an array of objects or as one object per
 * line. Numbers, quotes and escapes come from core/text, as for all other output.
 *
 * An absent value is an empty cell in CSV and null in JSON. Spreadsheets execute texts that begin
 * like a formula, and program arguments may come from anybody: in CSV such a text gets an
 * apostrophe in front, which spreadsheets take for "this is text". In JSON, bytes that are not
 * UTF-8 become U+FFFD, and "<column>_b64" has the exact bytes (core/text/json_writer.h).
 */
#include <math.h>
#include <string.h>

#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "tables/column_dictionary.h"
#include "tables/text_values.h"

struct text_column {
	const char *name;
	struct strbuf before;       /* JSON: "name": */
	struct table_encoded texts; /* JSON: each with its name */
};

struct text_file {
	struct table_file file;
	bool json, lines, raw, any;
	struct text_column *columns;
};

extern const struct table_format table_csv, table_json, table_jsonl;

static void encode_csv(void *user, struct strbuf *out, const char *s, size_t n)
{
	const struct text_file *f = user;
	_cleanup_strbuf_ struct strbuf t = STRBUF_INIT;

	/* an empty text in quotes is not an absent one */
	if (!n) {
		strbuf_addstr(out, "\"\"");
		return;
	}
	if (f->raw) {
		text_add_csv(out, s, n);
		return;
	}
	/* also before numbers: a column of texts has texts only */
	if (s[0] && strchr("=+-@\t\r", s[0]))
		strbuf_addch(&t, '\'');
	table_add_utf8(&t, s, n);
	text_add_csv(out, t.buf, t.len);
}

static void encode_json(void *user, struct strbuf *out, const char *s, size_t n)
{
	const struct text_column *c = user;
	struct json_writer j = JSON_WRITER_INIT;

	j.out = *out;
	json_text(&j, c->name, s, n);
	*out = j.out;
}

static void release(struct table_file *t)
{
	struct text_file *f = (struct text_file *)t;

	for (size_t c = 0; f->columns && c < t->count; c++) {
		strbuf_release(&f->columns[c].before);
		table_encoded_release(&f->columns[c].texts);
	}
	free(f->columns);
}

static void add_header(struct text_file *f)
{
	_cleanup_strbuf_ struct strbuf head = STRBUF_INIT;

	for (size_t c = 0; c < f->file.count; c++) {
		const char *name = f->columns[c].name;

		if (c)
			strbuf_addch(&head, ',');
		encode_csv(f, &head, name, strlen(name));
	}
	strbuf_addch(&head, '\n');
	file_writer_add(&f->file.out, head.buf, head.len);
}

static int open_text(struct table_file *t, const char *path PL_UNUSED,
		     const struct table_options *o, struct strbuf *why PL_UNUSED)
{
	struct text_file *f = (struct text_file *)t;

	f->json = t->format != &table_csv;
	f->lines = t->format != &table_json;
	f->raw = o->raw;
	f->columns = xcalloc(t->count + 1, sizeof(*f->columns));
	for (size_t c = 0; c < t->count; c++) {
		struct text_column *x = &f->columns[c];

		*x = (struct text_column){.name = t->columns[c].name,
					  .before = STRBUF_INIT,
					  .texts = {.bytes = STRBUF_INIT}};
		if (!f->json)
			continue;
		strbuf_addch(&x->before, '"');
		text_add_json(&x->before, x->name, strlen(x->name));
		strbuf_addstr(&x->before, "\":");
	}
	if (!f->json)
		add_header(f);
	else if (!f->lines)
		file_writer_add(&t->out, "[", 1);
	return 0;
}

static void add_value(const struct text_file *f, struct strbuf *line, const struct table_values *v,
		      size_t c, size_t row)
{
	enum table_type type = f->file.columns[c].type;
	const struct text_column *x = &f->columns[c];

	if (v->absent && v->absent[row]) {
		strbuf_add(line, x->before.buf, x->before.len);
		strbuf_addstr(line, f->json ? "null" : "");
		return;
	}
	if (type == TABLE_TEXT) {
		table_encoded_add(&x->texts, v->codes[row], line);
		return;
	}
	strbuf_add(line, x->before.buf, x->before.len);
	if (type == TABLE_INT) {
		text_add_i64(line, v->ints[row]);
	} else if (type == TABLE_TIME) {
		if (f->json)
			strbuf_addch(line, '"');
		table_add_time(line, v->ints[row]);
		if (f->json)
			strbuf_addch(line, '"');
	} else if (isnan(v->reals[row]) || (f->json && isinf(v->reals[row]))) {
		strbuf_addstr(line, f->json ? "null" : "NaN"); /* JSON has no such numbers */
	} else {
		text_add_real(line, v->reals[row]);
	}
}

static int write_text(struct table_file *t, const struct table_batch *b, struct strbuf *why)
{
	struct text_file *f = (struct text_file *)t;
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
	const char *end = !f->json ? "\n" : f->lines ? "}\n" : "}";

	for (size_t c = 0; c < t->count; c++)
		if (t->columns[c].type == TABLE_TEXT)
			table_encode(&f->columns[c].texts, &b->columns[c].texts,
				     f->json ? encode_json : encode_csv,
				     f->json ? (void *)&f->columns[c] : f);
	for (size_t row = 0; row < b->rows && !t->out.error; row++) {
		strbuf_reset(&line);
		if (!f->lines)
			strbuf_addstr(&line, f->any ? ",\n" : "\n");
		f->any = true;
		for (size_t c = 0; c < t->count; c++) {
			if (c || f->json)
				strbuf_addch(&line, c ? ',' : '{');
			add_value(f, &line, &b->columns[c], c, row);
		}
		strbuf_addstr(&line, end);
		file_writer_add(&t->out, line.buf, line.len);
	}
	return file_writer_flush(&t->out, why);
}

static int end_array(struct table_file *t, struct strbuf *why PL_UNUSED)
{
	file_writer_add(&t->out, "\n]\n", 3);
	return 0;
}

const struct table_format table_csv = {
	.name = "csv",
	.suffix = ".csv",
	.help = "comma-separated values, for spreadsheets and everything else",
	.text = true,
	.size = sizeof(struct text_file),
	.open = open_text,
	.write = write_text,
	.release = release,
};

const struct table_format table_json = {
	.name = "json",
	.suffix = ".json",
	.help = "an array of objects",
	.text = true,
	.size = sizeof(struct text_file),
	.open = open_text,
	.write = write_text,
	.end = end_array,
	.release = release,
};

const struct table_format table_jsonl = {
	.name = "jsonl",
	.suffix = ".jsonl",
	.help = "JSON, one object per line",
	.text = true,
	.size = sizeof(struct text_file),
	.open = open_text,
	.write = write_text,
	.release = release,
};
