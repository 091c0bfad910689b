/* Tables row by row; see stream_table.h. */
#include "views/stream_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/text/text.h"

#define ROWS_AHEAD 1000
#define BYTES_AHEAD (4u << 20)
#define COLUMN_MIN 10 /* a column is not cut to less */

_Thread_local const struct table_format *stream_table_format;

static void add_heading(const struct stream_table *g, size_t c, struct strbuf *out)
{
	unsigned flags = g->human ? 0 : g->columns[c].flags;

	strbuf_addstr(out, g->columns[c].name);
	if ((flags & COLUMN_US) == COLUMN_US)
		strbuf_addstr(out, "(us)");
	else if ((flags & COLUMN_KIB) == COLUMN_KIB)
		strbuf_addstr(out, "(KiB)");
}

void stream_table_begin(struct stream_table *g, const struct terminal_table_column *columns,
			size_t count, bool csv, FILE *f)
{
	*g = (struct stream_table){.columns = columns,
				   .column_count = count,
				   .csv = csv,
				   .f = f,
				   .line = STRBUF_INIT,
				   .ahead = STRBUF_INIT,
				   .page = terminal_width(f),
				   .widths = xcalloc(count, sizeof(*g->widths))};
	g->human = g->page && !csv;
	g->color = color_on(f);
	for (size_t c = 0; !csv && c < count; c++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		add_heading(g, c, &name);
		g->widths[c] = text_width(name.buf, name.len);
	}
	if (csv && stream_table_format) {
		g->typed = typed_rows_new(columns, count);
		return;
	}
	for (size_t c = 0; csv && c < count; c++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		text_add_csv_safe(&name, columns[c].name, strlen(columns[c].name), g->page);
		fprintf(f, "%s%s", c ? "," : "", name.buf);
	}
	if (csv)
		fputc('\n', f);
}

/* ---- cells ---------------------------------------------------------------------------------- */

void stream_table_text(struct stream_table *g, const char *s, size_t n)
{
	if (g->typed) {
		if (s)
			typed_rows_text(g->typed, s, n);
		else
			typed_rows_none(g->typed);
		return;
	}
	if (g->cells++ >= g->column_count)
		return;
	if (g->csv) {
		if (g->cells > 1)
			strbuf_addch(&g->line, ',');
		text_add_csv_safe(&g->line, s ? s : "", n, g->page);
		return;
	}
	size_t begin = g->line.len;
	text_add_printable(&g->line, s ? s : "", n);
	size_t width = text_width(g->line.buf + begin, g->line.len - begin);
	if (!g->laid_out && width > g->widths[g->cells - 1])
		g->widths[g->cells - 1] = width;
	strbuf_addch(&g->line, 0);
}

void stream_table_str(struct stream_table *g, const char *s)
{
	stream_table_text(g, s, s ? strlen(s) : 0);
}

void stream_table_real(struct stream_table *g, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (g->typed) {
		typed_rows_real(g->typed, v);
		return;
	}
	text_add_real(&text, v);
	stream_table_text(g, text.buf, text.len);
}

void stream_table_figure(struct stream_table *g, const struct strbuf *text)
{
	char *end = NULL;
	long long whole;
	double v;

	if (!g->typed || !text->len) {
		stream_table_text(g, text->len ? text->buf : NULL, text->len);
		return;
	}
	errno = 0;
	whole = strtoll(text->buf, &end, 10);
	if (!*end && !errno) {
		typed_rows_int(g->typed, whole);
		return;
	}
	v = strtod(text->buf, &end);
	if (!*end)
		typed_rows_real(g->typed, v);
	else
		typed_rows_text(g->typed, text->buf, text->len);
}

/* In a file with types: the number, or no value. */
static bool put_typed(struct stream_table *g, int64_t v)
{
	if (!g->typed)
		return false;
	if (v == UNKNOWN)
		typed_rows_none(g->typed);
	else
		typed_rows_int(g->typed, v);
	return true;
}

static void stream_table_with(struct stream_table *g, void (*add)(struct strbuf *, int64_t, bool),
			      int64_t v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (put_typed(g, v))
		return;
	add(&text, v, g->human);
	stream_table_text(g, text.buf, text.len);
}

void stream_table_number(struct stream_table *g, int64_t v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (put_typed(g, v))
		return;
	if (v != UNKNOWN)
		text_add_i64(&text, v);
	stream_table_text(g, text.buf, text.len);
}

void stream_table_count(struct stream_table *g, int64_t v)
{
	stream_table_with(g, add_count, v);
}

void stream_table_us(struct stream_table *g, int64_t us)
{
	stream_table_with(g, add_us, us);
}

void stream_table_kib(struct stream_table *g, int64_t kib)
{
	stream_table_with(g, add_kib, kib);
}

void stream_table_time(struct stream_table *g, int64_t us)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (g->typed && text_time_valid(us)) {
		typed_rows_time(g->typed, us);
		return;
	}
	if (g->typed) {
		typed_rows_none(g->typed);
		return;
	}
	if (g->csv)
		text_add_time(&text, us, false);
	else
		text_add_local_time(&text, us);
	stream_table_text(g, text.buf, text.len);
}

void stream_table_time_ms(struct stream_table *g, int64_t us)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (g->csv) {
		stream_table_time(g, us);
		return;
	}
	add_local_time_ms(&text, us);
	stream_table_text(g, text.buf, text.len);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Narrows the widest columns that may be cut, until the table fits. */
static void lay_out(struct stream_table *g)
{
	size_t total = g->column_count * 2 - 2;

	g->laid_out = true;
	for (size_t c = 0; c < g->column_count; c++)
		total += g->widths[c];
	while (g->page && total > g->page) {
		size_t widest = g->column_count;

		for (size_t c = 0; c < g->column_count; c++)
			if (g->columns[c].flags & COLUMN_CUT && g->widths[c] > COLUMN_MIN &&
			    (widest == g->column_count || g->widths[c] > g->widths[widest]))
				widest = c;
		if (widest == g->column_count)
			return;
		g->widths[widest]--;
		total--;
	}
}

static void pad(struct strbuf *out, size_t n)
{
	while (n-- > 0)
		strbuf_addch(out, ' ');
}

static void add_cell(const struct stream_table *g, struct strbuf *out, size_t c, const char *s)
{
	size_t n = strlen(s), width = text_width(s, n), room = g->widths[c];
	bool right = g->columns[c].flags & COLUMN_RIGHT;
	bool cut = g->page && g->columns[c].flags & COLUMN_CUT && width > room;

	if (cut) {
		bool utf8 = text_is_utf8();

		n = fitting(s, n, room - 1);
		width = text_width(s, n) + 1;
		strbuf_add(out, s, n);
		strbuf_addstr(out, utf8 ? "…" : ">");
	}
	if (right && width < room)
		pad(out, room - width);
	if (!cut)
		strbuf_add(out, s, n);
	if (!right && width < room && c + 1 < g->column_count)
		pad(out, room - width);
	if (c + 1 < g->column_count)
		strbuf_addstr(out, "  ");
}

static void print_row(struct stream_table *g, char color, const char *cells)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	if (color && g->color)
		strbuf_addf(&out, "\x1b[3%cm", color == 'r' ? '1' : color == 'g' ? '2' : '3');
	for (size_t c = 0; c < g->column_count; c++, cells += strlen(cells) + 1)
		add_cell(g, &out, c, cells);
	while (out.len && out.buf[out.len - 1] == ' ')
		strbuf_cut(&out, out.len - 1);
	strbuf_addstr(&out, color && g->color ? "\x1b[0m\n" : "\n");
	fwrite(out.buf, 1, out.len, g->f);
}

static void print_ahead(struct stream_table *g)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;

	lay_out(g);
	for (size_t c = 0; c < g->column_count; c++) {
		add_heading(g, c, &names);
		strbuf_addch(&names, 0);
	}
	print_row(g, 0, names.buf);
	for (const char *p = g->ahead.buf, *end = p + g->ahead.len; p < end;) {
		char color = *p++;

		print_row(g, color, p);
		for (size_t c = 0; c < g->column_count; c++)
			p += strlen(p) + 1;
	}
	strbuf_release(&g->ahead);
	g->ahead = (struct strbuf)STRBUF_INIT;
}

void stream_table_row(struct stream_table *g, char color)
{
	if (g->typed) {
		typed_rows_end_row(g->typed);
		return;
	}
	while (g->cells < g->column_count)
		stream_table_text(g, "", 0);
	g->cells = 0;
	g->rows++;
	if (g->csv) {
		strbuf_addch(&g->line, '\n');
		fwrite(g->line.buf, 1, g->line.len, g->f);
	} else if (g->laid_out) {
		print_row(g, color, g->line.buf);
	} else {
		strbuf_addch(&g->ahead, color);
		strbuf_add(&g->ahead, g->line.buf, g->line.len);
		if (g->rows == ROWS_AHEAD || g->ahead.len > BYTES_AHEAD)
			print_ahead(g);
	}
	strbuf_reset(&g->line);
}

static int end_typed(struct stream_table *g)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = typed_rows_write(g->typed, stream_table_format, g->f, &why);

	if (r < 0)
		log_error("%s", why.buf);
	typed_rows_free(g->typed);
	g->typed = NULL;
	return r < 0 ? -ECANCELED : 0;
}

int stream_table_end(struct stream_table *g)
{
	int r = g->typed ? end_typed(g) : 0;

	if (!g->csv && !g->laid_out && g->rows)
		print_ahead(g);
	strbuf_release(&g->line);
	strbuf_release(&g->ahead);
	free(g->widths);
	return r < 0 ? r : output_error(g->f);
}
