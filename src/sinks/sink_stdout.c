/*
 * Sink stdout: every row as a line for other programs (JSON lines, CSV), or as a block of text for
 * people. A pipe that nobody reads holds up this sink and nothing else. Output cannot be taken
 * back: after a kill the lines since the last commit come again.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "core/text/text.h"
#include "sinks/sink_lines.h"

#define BUFFER ((size_t)256 << 10)
#define PATIENCE_MS 200

enum form { FORM_TEXT, FORM_JSONL, FORM_CSV };
static const char *const forms[] = {
	[FORM_TEXT] = "text", [FORM_JSONL] = "jsonl", [FORM_CSV] = "csv"};

struct lines {
	int fd;
	enum form form;
	struct strbuf out;
	size_t written; /* of out */
	uint64_t have;  /* the last entry whose lines are in out, or written */
	bool headed;
	bool terminal; /* gets no control characters */
};

static int open_stdout(const struct sink_options *o, void **state, uint64_t *position,
		       struct strbuf *why)
{
	size_t form = 0;

	while (form < ARRAY_SIZE(forms) && strcmp(forms[form], o->target) != 0)
		form++;
	if (form == ARRAY_SIZE(forms))
		return strbuf_fail(why, -EINVAL,
				   "unknown format '%s' of stdout; use text, jsonl or csv",
				   o->target);
	struct lines *l = xcalloc(1, sizeof(*l));
	l->fd = STDOUT_FILENO;
	l->form = (enum form)form;
	l->terminal = isatty(l->fd);
	l->out = (struct strbuf)STRBUF_INIT;
	*position = 0;
	*state = l;
	return 0;
}

/* ---- for people ----------------------------------------------------------------------------- */

static void show_fixed(void *user, const struct fixed_row *r)
{
	struct lines *l = user;

	row_text(r, &l->out);
}

/* A row without a table in any layout. */
static void show_row(struct lines *l, const struct sample_file *f, size_t row)
{
	const struct sink_row r = sink_row(f, row);
	const struct sample_file_source *s = r.source;
	int width = 0;

	for (unsigned m = 0; m < s->metric_count; m++)
		if (r.present >> m & 1 && (int)strlen(s->metrics[m].name) > width)
			width = (int)strlen(s->metrics[m].name);
	strbuf_addf(&l->out, "%lld  Job(", (long long)(f->time_us / 1000000));
	text_add_printable(&l->out, r.job ? r.job : "0", r.job ? r.job_size : 1);
	strbuf_addstr(&l->out, ")/ ");
	text_add_printable(&l->out, s->name, strlen(s->name));
	strbuf_addstr(&l->out, " -> Host(");
	text_add_printable(&l->out, f->head.host, strlen(f->head.host));
	strbuf_addstr(&l->out, ") -> {\n");
	for (unsigned m = 0; m < s->metric_count; m++) {
		const char *name = s->metrics[m].name;

		if (!(r.present >> m & 1))
			continue;
		strbuf_addf(&l->out, "\t%*s", width - (int)strlen(name), "");
		text_add_printable(&l->out, name, strlen(name));
		strbuf_addstr(&l->out, " : ");
		sink_add_number(&l->out, r.values[m], s->metrics[m].scale);
		strbuf_addf(&l->out, " (%s)\n", metric_unit_name(s->metrics[m].unit));
	}
	strbuf_addstr(&l->out, "}\n");
}

/* Without any layout of fixed rows, every row is shown as it is. */
static bool is_shown_as_is(const char *source)
{
	for (size_t i = 0; row_layouts[i]; i++)
		if (row_layouts[i]->untabled(source))
			return true;
	return !row_layouts[0];
}

/* A reading that came as fixed rows is shown as such; our own are converted at the end of the
 * batch.
 */
static void show_reading(struct lines *l, const struct sample_file *f, struct row_mappers *mappers)
{
	const struct sample_file_source *s = &f->sources[f->source];
	struct sample_set set = f->reading;

	set.metrics = s->metrics;
	set.metric_count = s->metric_count;
	set.entities = s->entities;
	set.entity_count = s->entity_count;
	if (rows_from_reading(f->head.host, s->name, &set, f->time_us, show_fixed, l))
		return;
	if (!is_shown_as_is(s->name)) {
		row_mappers_add(mappers, f->head.host, s->name, &set, f->time_us);
		return;
	}
	for (size_t i = 0; i < f->reading.row_count; i++)
		show_row(l, f, i);
}

static void csv_row(struct lines *l, const struct sample_file *f, size_t row)
{
	if (!l->headed)
		strbuf_addstr(&l->out, SINK_CSV_HEAD);
	l->headed = true;
	sink_csv_row(&l->out, f, row, l->terminal);
}

static void add_reading(struct lines *l, const struct sample_file *f, struct row_mappers *mappers)
{
	if (l->form == FORM_TEXT)
		show_reading(l, f, mappers);
	for (size_t i = 0; i < f->reading.row_count && l->form != FORM_TEXT; i++)
		if (l->form == FORM_JSONL)
			sink_json_row(&l->out, f, i);
		else
			csv_row(l, f, i);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Writes the buffer; what a reader does not take in time stays in it. */
static int flush(struct lines *l, struct strbuf *why)
{
	while (l->written < l->out.len) {
		struct pollfd p = {.fd = l->fd, .events = POLLOUT};

		if (poll(&p, 1, PATIENCE_MS) == 0)
			return strbuf_fail(why, -EAGAIN, "nobody reads standard output");
		/* a pipe that can be written to takes this much at once */
		size_t n = l->out.len - l->written;
		ssize_t r = write(l->fd, l->out.buf + l->written, n < 4096 ? n : 4096);
		if (r >= 0) {
			l->written += (size_t)r;
		} else if (errno != EINTR && errno != EAGAIN) {
			return strbuf_fail(why, -EAGAIN, "cannot write to standard output: %s",
					   strerror(errno)); /* the rest stays in the buffer */
		}
	}
	strbuf_reset(&l->out);
	l->written = 0;
	return 0;
}

static int add_batch(void *state, uint64_t number, const struct batch_name *name PL_UNUSED,
		     struct sample_file *f, struct strbuf *why)
{
	struct lines *l = state;
	int event;

	if (number <= l->have) /* delivered again */
		return l->out.len >= BUFFER ? flush(l, why) : 0;
	struct row_mappers *mappers = l->form == FORM_TEXT ? row_mappers_new() : NULL;
	while ((event = sample_file_next(f)) > 0)
		if (event == SAMPLE_READING)
			add_reading(l, f, mappers);
	if (mappers)
		row_mappers_flush(mappers, show_fixed, l);
	row_mappers_free(mappers);
	l->have = number;
	return l->out.len >= BUFFER ? flush(l, why) : 0;
}

static int commit(void *state, uint64_t number PL_UNUSED, struct strbuf *why)
{
	return flush(state, why);
}

static void close_stdout(void *state)
{
	struct lines *l = state;

	strbuf_release(&l->out);
	free(l);
}

const struct sink sink_stdout = {
	.name = "stdout",
	.target = "text|jsonl|csv",
	.help = "standard output: a block of text per row, or a line of JSON or CSV",
	.open = open_stdout,
	.batch = add_batch,
	.commit = commit,
	.close = close_stdout,
	.commit_entries = 1, /* for interactive use */
};
