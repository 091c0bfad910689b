/* Module "table": tables by libsmartcols. */
#include <libsmartcols/libsmartcols.h>

#include "core/module.h"
#include "views/table.h"

static const char *color_name(char c)
{
	return c == 'r' ? "red" : c == 'g' ? "green" : c == 'y' ? "yellow" : NULL;
}

static int fill(struct libscols_table *out, const struct table *t, bool color)
{
	for (size_t c = 0; c < t->column_count; c++) {
		unsigned flags = t->columns[c].flags;
		int scols = (flags & COLUMN_RIGHT ? SCOLS_FL_RIGHT : 0) |
			    (flags & COLUMN_WRAP ? SCOLS_FL_WRAP : 0) |
			    (flags & COLUMN_CUT ? SCOLS_FL_TRUNC : 0);

		if (!scols_table_new_column(out, t->columns[c].name, 0, scols))
			return -1;
	}
	for (size_t r = 0; r < t->rows; r++) {
		struct libscols_line *line = scols_table_new_line(out, NULL);

		if (!line)
			return -1;
		if (color && color_name(t->colors[r]))
			scols_line_set_color(line, color_name(t->colors[r]));
		for (size_t c = 0; c < t->column_count; c++) {
			const char *cell = t->cells[r * t->column_count + c];

			if (cell && scols_line_set_data(line, c, cell) != 0)
				return -1;
		}
	}
	return 0;
}

static int print(const struct table *t, FILE *f, bool color)
{
	struct libscols_table *out = scols_new_table();

	if (!out)
		return -1;
	/* lines are short enough for a page when nobody's terminal says otherwise */
	scols_table_set_stream(out, f);
	scols_table_enable_colors(out, color);
	if (!isatty(fileno(f)))
		scols_table_set_termwidth(out, 100000);
	int r = fill(out, t, color);
	if (r == 0 && t->rows)
		r = scols_print_table(out) == 0 ? 0 : -1;
	scols_unref_table(out);
	return r;
}

static const struct table_functions functions = {.print = print};

__attribute__((visibility("default"))) const struct module plimsoll_module = {
	.build = PL_BUILD_ID,
	.name = "table",
	.library = "libsmartcols",
	.functions = &functions,
};
