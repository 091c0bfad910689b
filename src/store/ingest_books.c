/* Records of ours on their way into a store; see ingest_books.h. */
#include "store/ingest_books.h"

static int add_image(struct ingest *in, struct books *b, uint32_t index, struct part_rows *others,
		     struct row *row, struct row *thread)
{
	const struct image *img = &b->images[index];
	struct ingest_state state = {.ended = image_ended(b, img),
				     .source = image_source(b, img),
				     .forked = img->copy,
				     .silenced = img->silent};
	size_t first = books_first_thread(b, index), end = first;
	uint64_t rssmax = 0;
	int r = image_row(b, img, row);

	if (r == 0)
		r = part_rows_feed(others, row);
	while (end < b->thread_count && b->threads[end].image == index)
		end++;
	for (size_t i = first; end - first > 1 && i < end && r == 0; i++) {
		r = thread_row(b, &b->threads[i], thread);
		if (r == 0 && row_has(row, METRIC_EVENTS))
			row_set_text(thread, METRIC_EVENTS, row->text[METRIC_EVENTS].buf,
				     row->text[METRIC_EVENTS].len);
		rssmax += row_get(thread, METRIC_RSSMAX, 0);
		if (r == 0)
			r = ingest_thread(in, thread);
	}
	if (!rssmax)
		rssmax = row_get(row, METRIC_RSSMAX, 0);
	return r < 0 ? r : ingest_process(in, row, state, rssmax, 0);
}

/* The kernel may have seen more threads than the records of the processes tell. */
static void add_unseen_threads(struct ingest *in, const struct books *b)
{
	struct books_sums sums;

	books_sum(b, &sums);
	ingest_threads(in, sums.threads);
}

int ingest_books(struct ingest *in, struct books *b, struct part_rows *others)
{
	_cleanup_free_ uint32_t *order = books_order(b);
	struct row row, thread;
	int r = 0;

	books_sort_threads(b);
	row_init(&row);
	row_init(&thread);
	for (size_t i = 0; i < b->image_count && r == 0; i++)
		r = add_image(in, b, order[i], others, &row, &thread);
	row_release(&row);
	row_release(&thread);
	if (r == 0 && !others)
		add_unseen_threads(in, b);
	return r;
}
