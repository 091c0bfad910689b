/*
 * CSV (RFC 4180) and TSV: a header, then one line per row; an absent value is an empty cell. In
 * TSV, tabs, newlines, carriage returns and backslashes are escaped. Both put an apostrophe before
 * texts that a spreadsheet would execute, and send no control characters to a terminal.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/text/text.h"
#include "views/rows/row_writer.h"

typedef void (*add_cell)(struct strbuf *out, const char *s, size_t n, bool terminal);

struct state {
	FILE *f;
	char separator;
	add_cell add;
	bool terminal;
	struct strbuf line;
};

static void add_tsv(struct strbuf *out, const char *s, size_t n, bool terminal)
{
	static const char from[] = "\t\n\r\\", to[] = "tnr\\";
	_cleanup_strbuf_ struct strbuf plain = STRBUF_INIT;

	if (text_is_formula(s, n))
		strbuf_addch(&plain, '\'');
	for (size_t i = 0; i < n; i++) {
		const char *e = s[i] ? strchr(from, s[i]) : NULL;

		if (e)
			strbuf_addch(&plain, '\\');
		strbuf_addch(&plain, e ? to[e - from] : s[i]);
	}
	if (terminal)
		text_add_printable(out, plain.buf, plain.len);
	else
		strbuf_add(out, plain.buf, plain.len);
}

static int put_line(struct state *s)
{
	strbuf_addch(&s->line, '\n');
	return fwrite(s->line.buf, 1, s->line.len, s->f) == s->line.len ? 0 : -EIO;
}

static void *open_delimited(FILE *f, char separator, add_cell add)
{
	struct state *s = xcalloc(1, sizeof(*s));

	*s = (struct state){f, separator, add, isatty(fileno(f)), STRBUF_INIT};
	for (size_t i = 0; i < metric_count; i++)
		if (row_writer_shows(&metrics[i]))
			strbuf_addf(&s->line, "%s%c", metrics[i].name, separator);
	strbuf_addf(&s->line, "ended%csource", separator);
	(void)put_line(s);
	return s;
}

static void *open_csv(FILE *f, bool threads PL_UNUSED)
{
	return open_delimited(f, ',', text_add_csv_safe);
}

static void *open_tsv(FILE *f, bool threads PL_UNUSED)
{
	return open_delimited(f, '\t', add_tsv);
}

static int write_row(void *state, const struct row_writer_row *r)
{
	struct state *s = state;

	strbuf_reset(&s->line);
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (!row_writer_shows(m))
			continue;
		if (row_has(r->row, m->id) && m->type == TYPE_TEXT)
			s->add(&s->line, r->row->text[m->id].buf, r->row->text[m->id].len,
			       s->terminal);
		else if (row_has(r->row, m->id))
			text_add_u64(&s->line, r->row->v[m->id]);
		strbuf_addch(&s->line, s->separator);
	}
	strbuf_addf(&s->line, "%s%c%s", r->ended, s->separator, r->source);
	return put_line(s);
}

static int close_delimited(void *state)
{
	struct state *s = state;

	if (s)
		strbuf_release(&s->line);
	free(s);
	return 0;
}

const struct row_writer row_writer_csv = {
	.name = "csv",
	.open = open_csv,
	.write = write_row,
	.close = close_delimited,
};

const struct row_writer row_writer_tsv = {
	.name = "tsv",
	.open = open_tsv,
	.write = write_row,
	.close = close_delimited,
};
