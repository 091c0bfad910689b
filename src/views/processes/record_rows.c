/* Rows of a job to a row writer; see record_rows.h. */
#include "views/processes/record_rows.h"

#include <errno.h>

#include "views/output.h"

struct writer {
	struct accounting *b;
	const struct row_writer *out;
	void *state;
	struct row row, thread;
};

static int write_image(struct writer *w, const struct image *img)
{
	struct row_writer_row r = {
		.row = &w->row,
		.ended = ended_words[image_ended(w->b, img)],
		.source = source_words[image_source(w->b, img)],
		.forked = img->copy,
		.silenced = img->silent,
	};

	int e = image_row(w->b, img, &w->row);
	return e < 0 ? e : w->out->write(w->state, &r);
}

static int write_threads(struct writer *w, uint32_t image)
{
	struct row_writer_row r = {.row = &w->thread, .thread = true, .ended = "", .source = ""};
	const struct accounting *b = w->b;
	int e = 0;

	for (size_t i = accounting_first_thread(b, image);
	     e == 0 && i < b->thread_count && b->threads[i].image == image; i++) {
		e = thread_row(w->b, &b->threads[i], &w->thread);
		/* the names of counters are those of the process */
		if (e == 0 && row_has(&w->row, METRIC_EVENTS))
			row_set_text(&w->thread, METRIC_EVENTS, w->row.text[METRIC_EVENTS].buf,
				     w->row.text[METRIC_EVENTS].len);
		if (e == 0)
			e = w->out->write(w->state, &r);
	}
	return e;
}

int rows_write(struct accounting *b, const struct row_writer *out, bool threads, FILE *f)
{
	_cleanup_free_ uint32_t *order = accounting_order(b);
	struct writer w = {.b = b, .out = out, .state = out->open(f, threads)};
	int e = 0;

	row_init(&w.row);
	row_init(&w.thread);
	accounting_sort_threads(b);
	for (size_t i = 0; i < b->image_count && e == 0; i++) {
		e = write_image(&w, &b->images[order[i]]);
		if (e == 0 && threads)
			e = write_threads(&w, order[i]);
	}
	int closed = out->close(w.state);
	row_release(&w.row);
	row_release(&w.thread);
	if (e == 0)
		e = closed;
	if (e == 0 && fflush(f) != 0)
		e = -errno;
	return e;
}
