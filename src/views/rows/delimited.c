/* Lines of cells; see delimited.h. */
#include "views/rows/delimited.h"

#include <errno.h>

struct state {
	FILE *f;
	char separator;
	add_cell add;
	struct strbuf line;
};

static int put_line(struct state *s)
{
	strbuf_addch(&s->line, '\n');
	return fwrite(s->line.buf, 1, s->line.len, s->f) == s->line.len ? 0 : -EIO;
}

void *delimited_open(FILE *f, char separator, add_cell add)
{
	struct state *s = xcalloc(1, sizeof(*s));

	*s = (struct state){f, separator, add, STRBUF_INIT};
	for (size_t i = 0; i < metric_count; i++)
		if (row_writer_shows(&metrics[i]))
			strbuf_addf(&s->line, "%s%c", metrics[i].name, separator);
	strbuf_addf(&s->line, "ended%csource", separator);
	(void)put_line(s);
	return s;
}

int delimited_write(void *state, const struct row_writer_row *r)
{
	struct state *s = state;

	strbuf_reset(&s->line);
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (!row_writer_shows(m))
			continue;
		if (row_has(r->row, m->id) && m->type == TYPE_TEXT)
			s->add(&s->line, r->row->text[m->id].buf, r->row->text[m->id].len);
		else if (row_has(r->row, m->id))
			strbuf_addf(&s->line, "%llu", (unsigned long long)r->row->v[m->id]);
		strbuf_addch(&s->line, s->separator);
	}
	strbuf_addf(&s->line, "%s%c%s", r->ended, s->separator, r->source);
	return put_line(s);
}

int delimited_close(void *state)
{
	struct state *s = state;

	if (!s)
		return 0;
	strbuf_release(&s->line);
	free(s);
	return 0;
}
