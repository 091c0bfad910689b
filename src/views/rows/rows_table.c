/* A table for people: the columns that fit a terminal, in readable units. */
#include <string.h>

#include "core/text/terminal_table.h"
#include "core/text/text.h"
#include "views/rows/row_writer.h"

enum { START, PID, PPID, PROGRAM, ENDED, WALL, CPU, RSS, THREADS, ARGUMENTS };

static const struct terminal_table_column columns[] = {
	[START] = {"START", 0},
	[PID] = {"PID", COLUMN_RIGHT},
	[PPID] = {"PPID", COLUMN_RIGHT},
	[PROGRAM] = {"PROGRAM", 0},
	[ENDED] = {"ENDED", 0},
	[WALL] = {"WALL", COLUMN_RIGHT},
	[CPU] = {"CPU", COLUMN_RIGHT},
	[RSS] = {"RSS", COLUMN_RIGHT},
	[THREADS] = {"THREADS", COLUMN_RIGHT},
	[ARGUMENTS] = {"ARGUMENTS", COLUMN_CUT},
};

struct state {
	FILE *f;
	struct terminal_table t;
};

static void *open_table(FILE *f, bool threads)
{
	struct state *s = xcalloc(1, sizeof(*s));

	(void)threads;
	s->f = f;
	terminal_table_init(&s->t, columns, ARRAY_SIZE(columns));
	return s;
}

static void cell_u64(struct terminal_table *t, size_t column, const struct row *r,
		     enum metric_id id)
{
	if (row_has(r, id))
		terminal_table_cellf(t, column, "%llu", (unsigned long long)r->v[id]);
}

static void cell_duration(struct terminal_table *t, size_t column, uint64_t us)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	text_add_duration(&text, (double)us / 1e6);
	terminal_table_cell(t, column, text.buf);
}

static void cell_text(struct terminal_table *t, size_t column, const struct row *r,
		      enum metric_id id)
{
	if (row_has(r, id))
		terminal_table_cell(t, column, r->text[id].buf);
}

static void cell_ended(struct terminal_table *t, const struct row_writer_row *r)
{
	if (!strcmp(r->ended, "exit"))
		terminal_table_cellf(t, ENDED, "exit %llu",
				     (unsigned long long)row_get(r->row, METRIC_EXITCODE, 0));
	else if (!strcmp(r->ended, "signal"))
		terminal_table_cellf(t, ENDED, "signal %llu",
				     (unsigned long long)row_get(r->row, METRIC_EXITSIGNAL, 0));
	else
		terminal_table_cell(t, ENDED, r->ended);
}

static int write_table(void *state, const struct row_writer_row *r)
{
	struct state *s = state;
	const struct row *row = r->row;
	_cleanup_strbuf_ struct strbuf start = STRBUF_INIT, rss = STRBUF_INIT;
	bool bad = !strcmp(r->ended, "signal") || !strcmp(r->ended, "unknown");

	terminal_table_row(&s->t, bad ? 'r' : 0);
	if (row_has(row, METRIC_START)) {
		text_add_time(&start, (int64_t)row->v[METRIC_START], false);
		/* the time of day with milliseconds */
		terminal_table_cellf(&s->t, START, "%.12s",
				     start.len > 23 ? start.buf + 11 : start.buf);
	}
	cell_u64(&s->t, PID, row, r->thread ? METRIC_TID : METRIC_PID);
	cell_u64(&s->t, PPID, row, r->thread ? METRIC_PID : METRIC_PPID);
	cell_text(&s->t, PROGRAM, row, METRIC_EXENAME);
	cell_ended(&s->t, r);
	if (row_has(row, METRIC_START) && row_has(row, METRIC_END) &&
	    row->v[METRIC_END] >= row->v[METRIC_START])
		cell_duration(&s->t, WALL, row->v[METRIC_END] - row->v[METRIC_START]);
	if (row_has(row, METRIC_USERTIME))
		cell_duration(&s->t, CPU,
			      row->v[METRIC_USERTIME] + row_get(row, METRIC_SYSTEMTIME, 0));
	if (row_has(row, METRIC_RSSMAX)) {
		text_add_bytes(&rss, (double)row->v[METRIC_RSSMAX] * 1024);
		terminal_table_cell(&s->t, RSS, rss.buf);
	}
	cell_u64(&s->t, THREADS, row, METRIC_NUMTIDS);
	cell_text(&s->t, ARGUMENTS, row, METRIC_ARGS);
	return 0;
}

static int close_table(void *state)
{
	struct state *s = state;

	if (!s)
		return 0;
	terminal_table_print(&s->t, s->f);
	terminal_table_release(&s->t);
	free(s);
	return 0;
}

const struct row_writer row_writer_table = {
	.name = "table",
	.open = open_table,
	.write = write_table,
	.close = close_table,
};
