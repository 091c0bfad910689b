/* Notes about the columns of a table; see column_notes.h. */
#include "tables/hdf5/column_notes.h"

#include <string.h>

static void add_word(struct strbuf *out, const char *s)
{
	for (; *s; s++)
		strbuf_addch(out, *s == '\t' || *s == '\n' ? ' ' : *s);
}

void column_note_write(const char *source, const struct sample_metric *list, size_t count,
		       char (*columns)[COLUMN_NOTE_NAME], struct strbuf *out)
{
	strbuf_addstr(out, "source\t");
	add_word(out, source);
	strbuf_addch(out, '\n');
	for (size_t i = 0; i < count; i++) {
		const struct sample_metric *m = &list[i];

		strbuf_addf(out, "%s\t", columns[i]);
		add_word(out, m->name);
		strbuf_addf(out, "\t%s\t%s\t%s\t%.17g\n", metric_unit_name(m->unit),
			    metric_kind_name(m->kind), metric_agg_name(m->agg),
			    m->scale == 0 ? 1 : m->scale);
	}
}

/* Takes the next word of a line; false: it does not fit. */
static bool next_word(const char **line, char *ret, size_t room)
{
	size_t n = strcspn(*line, "\t\n");

	if (n >= room)
		return false;
	memcpy(ret, *line, n);
	ret[n] = 0;
	*line += n;
	*line += **line == '\t';
	return true;
}

/* The rest of the line that begins with this word. */
static const char *find_line(const char *note, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = note; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, word, n) && p[n] == '\t')
			return p + n + 1;
	return NULL;
}

bool column_note_source(const char *note, char *ret, size_t room)
{
	const char *line = note && str_prefix(note, "source\t") ? note + 7 : NULL;

	return line && next_word(&line, ret, room) && *ret;
}

bool column_note_metric(const char *note, const char *column, struct sample_metric *ret, char *name,
			size_t room)
{
	const char *rest = note ? strchr(note, '\n') : NULL;
	const char *line = rest ? find_line(rest + 1, column) : NULL;
	char unit[32], kind[32], agg[32], scale[40], *end;

	if (!line || !next_word(&line, name, room) || !*name ||
	    !next_word(&line, unit, sizeof(unit)) || !next_word(&line, kind, sizeof(kind)) ||
	    !next_word(&line, agg, sizeof(agg)) || !next_word(&line, scale, sizeof(scale)))
		return false;
	double s = strtod(scale, &end);
	*ret = (struct sample_metric){.name = name,
				      .unit = metric_unit_by_name(unit),
				      .kind = metric_kind_by_name(kind),
				      .agg = metric_agg_by_name(agg),
				      .scale = s};
	return ret->unit != UNIT_END && !*end && s >= 1e-15 && s <= 1e15;
}
