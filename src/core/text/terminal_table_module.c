/* Module "table": tables by libsmartcols. */
#include <libsmartcols/libsmartcols.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/module.h"
#include "core/text/terminal_table.h"
#include "core/text/text.h"

static const char *color_name(char c)
{
	return c == 'r' ? "red" : c == 'g' ? "green" : c == 'y' ? "yellow" : NULL;
}

/* The width of a terminal; a file has no limit. */
static size_t page_width(FILE *f)
{
	struct winsize w;

	if (!isatty(fileno(f)))
		return 100000;
	return ioctl(fileno(f), TIOCGWINSZ, &w) == 0 && w.ws_col > 20 ? w.ws_col : 80;
}

/* The width that is left for each wrapped column. */
static size_t wrap_width(const struct terminal_table *t, size_t page)
{
	size_t used = 0, wrapping = 0;

	for (size_t c = 0; c < t->column_count; c++) {
		size_t widest = strlen(t->columns[c].name);

		for (size_t r = 0; r < t->rows; r++) {
			const char *cell = t->cells[r * t->column_count + c];
			size_t w = cell ? text_width(cell, strlen(cell)) : 0;

			widest = w > widest ? w : widest;
		}
		if (t->columns[c].flags & COLUMN_WRAP)
			wrapping++;
		else
			used += widest;
		used++;
	}
	size_t left = page > used + 1 ? page - used - 1 : 0;
	return wrapping && left / wrapping > 16 ? left / wrapping : 16;
}

static int fill_row(const struct terminal_table *t, size_t r, struct libscols_line *line,
		    size_t width)
{
	for (size_t c = 0; c < t->column_count; c++) {
		const char *cell = t->cells[r * t->column_count + c];
		_cleanup_strbuf_ struct strbuf wrapped = STRBUF_INIT;

		if (!cell)
			continue;
		if (t->columns[c].flags & COLUMN_WRAP)
			text_add_wrapped(&wrapped, cell, 0, width);
		else
			strbuf_addstr(&wrapped, cell);
		if (scols_line_set_data(line, c, wrapped.buf) != 0)
			return -1;
	}
	return 0;
}

static int fill(struct libscols_table *out, const struct terminal_table *t, bool color, size_t page)
{
	size_t width = wrap_width(t, page);

	for (size_t c = 0; c < t->column_count; c++) {
		unsigned flags = t->columns[c].flags;
		int scols = (flags & COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0) |
			    (flags & COLUMN_WRAP ? SCOLS_FL_WRAP : 0) |
			    (flags & COLUMN_CUT ? SCOLS_FL_TRUNC : 0);
		struct libscols_column *col =
			scols_table_new_column(out, t->columns[c].name, 0, scols);

		if (!col)
			return -1;
		/* break lines only at our newlines, between words */
		if (flags & COLUMN_WRAP) {
			scols_column_set_wrapfunc(col, scols_wrapnl_chunksize,
						  scols_wrapnl_nextchunk, NULL);
			scols_column_set_safechars(col, "\n");
		}
	}
	for (size_t r = 0; r < t->rows; r++) {
		struct libscols_line *line = scols_table_new_line(out, NULL);

		if (!line)
			return -1;
		if (color && color_name(t->colors[r]))
			scols_line_set_color(line, color_name(t->colors[r]));
		if (fill_row(t, r, line, width) < 0)
			return -1;
	}
	return 0;
}

static int print(const struct terminal_table *t, FILE *f, bool color)
{
	struct libscols_table *out = scols_new_table();

	if (!out)
		return -1;
	size_t page = page_width(f);
	scols_table_set_stream(out, f);
	scols_table_enable_colors(out, color);
	scols_table_set_termforce(out, isatty(fileno(f)) ? SCOLS_TERMFORCE_ALWAYS
							 : SCOLS_TERMFORCE_AUTO);
	scols_table_set_termwidth(out, page);
	int r = fill(out, t, color, page);
	if (r == 0 && t->rows)
		r = scols_print_table(out) == 0 ? 0 : -1;
	scols_unref_table(out);
	return r;
}

static const struct terminal_table_functions functions = {.print = print};

PL_MODULE("table", "libsmartcols", &functions);
