/*
 * CSV as RFC 4180 has it, with a header, in UTF-8. What is absent is empty. Spreadsheets execute
 * what begins like a formula, and arguments of programs come from anybody: such a text gets an
 * apostrophe in front, which spreadsheets take for "this is text".
 */
#include <string.h>

#include "core/text/text.h"
#include "tables/column_dictionary.h"
#include "tables/file_writer.h"
#include "tables/text_values.h"

struct table_file {
	struct file_writer out;
	const struct table_column *columns;
	size_t count;
	bool raw;
	struct table_encoded *texts; /* one a column */
};

static void add_text(void *user, struct strbuf *out, const char *s, size_t n)
{
	const struct table_file *f = user;
	_cleanup_strbuf_ struct strbuf t = STRBUF_INIT;

	/* an empty text in quotes, so that it is not taken for an absent one */
	if (!n) {
		strbuf_addstr(out, "\"\"");
		return;
	}
	if (f->raw) {
		text_add_csv(out, s, n);
		return;
	}
	if (s[0] && strchr("=+-@\t\r", s[0]))
		strbuf_addch(&t, '\'');
	table_add_utf8(&t, s, n);
	text_add_csv(out, t.buf, t.len);
}

static void csv_abandon(struct table_file *f)
{
	if (!f)
		return;
	for (size_t c = 0; c < f->count; c++)
		table_encoded_release(&f->texts[c]);
	free(f->texts);
	file_writer_abandon(&f->out);
	free(f);
}

static int csv_open(struct table_file **ret, const char *path, const struct table_column *columns,
		    size_t count, const struct table_options *o, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf head = STRBUF_INIT;
	int r = table_refuse_codec(o, "CSV", why);

	if (r < 0)
		return r;
	struct table_file *f = xcalloc(1, sizeof(*f));
	f->columns = columns;
	f->count = count;
	f->raw = o->raw;
	f->texts = xcalloc(count + 1, sizeof(*f->texts));
	for (size_t c = 0; c < count; c++) {
		f->texts[c] = (struct table_encoded){.bytes = STRBUF_INIT};
		if (c)
			strbuf_addch(&head, ',');
		add_text(f, &head, columns[c].name, strlen(columns[c].name));
	}
	strbuf_addch(&head, '\n');
	r = file_writer_open(&f->out, path, why);
	if (r < 0) {
		csv_abandon(f);
		return r;
	}
	file_writer_add(&f->out, head.buf, head.len);
	*ret = f;
	return 0;
}

static void add_value(struct table_file *f, struct strbuf *line, const struct table_values *v,
		      size_t c, size_t row)
{
	if (v->absent && v->absent[row])
		return;
	switch (f->columns[c].type) {
	case TABLE_INT:
		table_add_int(line, v->ints[row]);
		break;
	case TABLE_REAL:
		/* readers know this name of what is no number */
		if (v->reals[row] != v->reals[row])
			strbuf_addstr(line, "NaN");
		else
			text_add_real(line, v->reals[row]);
		break;
	case TABLE_TIME:
		table_add_time(line, v->ints[row]);
		break;
	case TABLE_TEXT:
		table_encoded_add(&f->texts[c], v->codes[row], line);
		break;
	}
}

static int csv_write(struct table_file *f, const struct table_batch *b, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	for (size_t c = 0; c < f->count; c++)
		if (f->columns[c].type == TABLE_TEXT)
			table_encode(&f->texts[c], &b->columns[c].texts, add_text, f);
	for (size_t row = 0; row < b->rows && !f->out.error; row++) {
		strbuf_reset(&line);
		for (size_t c = 0; c < f->count; c++) {
			if (c)
				strbuf_addch(&line, ',');
			add_value(f, &line, &b->columns[c], c, row);
		}
		strbuf_addch(&line, '\n');
		file_writer_add(&f->out, line.buf, line.len);
	}
	return file_writer_flush(&f->out, why);
}

static int csv_close(struct table_file *f, struct strbuf *why)
{
	int r = file_writer_close(&f->out, why);

	csv_abandon(f);
	return r;
}

const struct table_format table_csv = {
	.name = "csv",
	.suffix = ".csv",
	.help = "text with commas, for spreadsheets and everything else",
	.text = true,
	.open = csv_open,
	.write = csv_write,
	.close = csv_close,
	.abandon = csv_abandon,
};
