/*
 * A worked example of a row writer: one program name a line. To make it real: move it to
 * src/views/rows/rows_names.c, add ROW_WRITER(names) to row_writers.def, and give it a test.
 */
#include <errno.h>

#include "core/text/text.h"
#include "views/rows/row_writer.h"

static void *open_names(FILE *f, bool threads)
{
	(void)threads;
	return f;
}

/* What comes from outside is made printable on the way out. */
static int write_names(void *state, const struct row_writer_row *r)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	if (r->thread || !row_has(r->row, METRIC_EXENAME))
		return 0;
	text_add_printable(&line, r->row->text[METRIC_EXENAME].buf,
			   r->row->text[METRIC_EXENAME].len);
	strbuf_addch(&line, '\n');
	return fwrite(line.buf, 1, line.len, state) == line.len ? 0 : -EIO;
}

static int close_names(void *state)
{
	(void)state;
	return 0;
}

extern const struct row_writer row_writer_names;
const struct row_writer row_writer_names = {
	.name = "names",
	.open = open_names,
	.write = write_names,
	.close = close_names,
};
