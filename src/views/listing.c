/* See listing.h. */
#include "views/listing.h"

#include <stdarg.h>

void listing_begin(struct listing *l, const struct listing_column *columns, size_t count, bool json)
{
	size_t titles = 0;

	*l = (struct listing){.columns = columns, .json = json, .j = JSON_WRITER_INIT};
	l->j.pretty = true;
	for (size_t i = 0; i < count && i < LISTING_COLUMNS_MAX; i++) {
		l->cells[i] = titles;
		if (columns[i].title)
			l->titles[titles++] =
				(struct terminal_table_column){columns[i].title, columns[i].flags};
	}
	terminal_table_init(&l->t, l->titles, titles);
	json_begin_array(&l->j, NULL);
}

static void end_row(struct listing *l)
{
	if (l->in_row && l->json)
		json_end_object(&l->j);
}

void listing_row(struct listing *l, char color)
{
	end_row(l);
	l->in_row = true;
	if (l->json)
		json_begin_object(&l->j, NULL);
	else
		terminal_table_row(&l->t, color);
}

static bool in_json(const struct listing *l, size_t column)
{
	return l->json && l->columns[column].key;
}

static void set_cell(struct listing *l, size_t column, const char *text)
{
	if (!l->json && l->columns[column].title)
		terminal_table_cell(&l->t, l->cells[column], text);
}

void listing_str(struct listing *l, size_t column, const char *text)
{
	if (in_json(l, column))
		json_str(&l->j, l->columns[column].key, text);
	set_cell(l, column, text ? text : "");
}

void listing_strf(struct listing *l, size_t column, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	listing_str(l, column, text.buf);
}

void listing_u64(struct listing *l, size_t column, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)v);
	if (in_json(l, column))
		json_u64(&l->j, l->columns[column].key, v);
	set_cell(l, column, text);
}

void listing_bool(struct listing *l, size_t column, bool v)
{
	if (in_json(l, column))
		json_bool(&l->j, l->columns[column].key, v);
	set_cell(l, column, v ? "yes" : "no");
}

int listing_end(struct listing *l)
{
	int r = 0;

	end_row(l);
	json_end_array(&l->j);
	if (l->json)
		r = json_write(&l->j, stdout);
	else
		terminal_table_print(&l->t, stdout);
	terminal_table_release(&l->t);
	json_release(&l->j);
	return r;
}
