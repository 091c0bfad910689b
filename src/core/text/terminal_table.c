/* Tables; see terminal_table.h. */
#include "core/text/terminal_table.h"

#include <stdarg.h>
#include <string.h>

#include "core/log.h"
#include "core/module.h"
#include "core/text/text.h"

void terminal_table_init(struct terminal_table *t, const struct terminal_table_column *columns,
			 size_t count)
{
	*t = (struct terminal_table){.columns = columns, .column_count = count};
}

void terminal_table_release(struct terminal_table *t)
{
	for (size_t i = 0; i < t->rows * t->column_count; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t->colors);
	*t = (struct terminal_table){0};
}

void terminal_table_row(struct terminal_table *t, char color)
{
	if (t->rows == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 32;
		t->cells = xreallocarray(t->cells, t->cap * t->column_count, sizeof(*t->cells));
		t->colors = xreallocarray(t->colors, t->cap, 1);
	}
	for (size_t i = 0; i < t->column_count; i++)
		t->cells[t->rows * t->column_count + i] = NULL;
	t->colors[t->rows++] = color;
}

void terminal_table_cell(struct terminal_table *t, size_t column, const char *text)
{
	char **cell = &t->cells[(t->rows - 1) * t->column_count + column];
	_cleanup_strbuf_ struct strbuf safe = STRBUF_INIT;

	text_add_printable(&safe, text, strlen(text));
	free(*cell);
	*cell = strbuf_take(&safe);
}

void terminal_table_cellf(struct terminal_table *t, size_t column, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	terminal_table_cell(t, column, text.buf);
}

void terminal_table_print(const struct terminal_table *t, FILE *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct module *m = module_load("table", &why);

	(void)text_is_utf8(); /* libsmartcols goes by the locale */
	if (m &&
	    ((const struct terminal_table_functions *)m->functions)->print(t, f, color_on(f)) == 0)
		return;
	log_debug("%s", why.buf);
	for (size_t c = 0; c < t->column_count; c++)
		fprintf(f, "%s%c", t->columns[c].name, c + 1 < t->column_count ? '\t' : '\n');
	for (size_t i = 0; i < t->rows * t->column_count; i++)
		fprintf(f, "%s%c", t->cells[i] ? t->cells[i] : "",
			(i + 1) % t->column_count ? '\t' : '\n');
}
