/* Storing our own records; see ingest_accounting.h. */
#include "store/ingest/ingest_accounting.h"

/* The file with its first record. */
static uint32_t file_of(const struct accounting *b, const struct image *img)
{
	const struct process *p = &b->processes[img->process];
	const frame_ref refs[] = {img->start, img->end, img->peek, p->peek, p->reap, p->kernel};

	for (size_t i = 0; i < ARRAY_SIZE(refs); i++)
		if (refs[i] != NO_OFFSET)
			return (uint32_t)(refs[i] >> FILE_SHIFT) + 1;
	for (size_t i = 0; i < b->file_count; i++)
		if (b->files[i].host == p->host)
			return (uint32_t)i + 1;
	return 0;
}

static int add_image(struct ingest *in, struct accounting *b, uint32_t index,
		     const struct ingest_others *o, struct row *row, struct row *thread)
{
	const struct image *img = &b->images[index];
	struct ingest_state state = {.ended = image_ended(b, img),
				     .source = image_source(b, img),
				     .forked = img->copy,
				     .silenced = img->silent};
	uint32_t file = file_of(b, img);
	size_t first = accounting_first_thread(b, index), end = first;
	uint64_t rssmax = 0;
	int r = image_row(b, img, row);

	state.file = file ? o->files + file : 0;

	if (r == 0 && row_has(row, METRIC_STEP))
		state.step = (uint32_t)row_get(row, METRIC_STEP, 0) + 1;
	if (r == 0)
		r = part_rows_feed(o->rows, row);
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

/* The kernel may have counted more threads than the records have. */
static void add_unseen_threads(struct ingest *in, const struct accounting *b)
{
	struct accounting_sums sums;

	accounting_sum(b, &sums);
	ingest_threads(in, sums.threads);
}

int ingest_accounting(struct ingest *in, struct accounting *b, struct ingest_others o)
{
	_cleanup_free_ uint32_t *order = accounting_order(b);
	struct row row, thread;
	int r = 0;

	accounting_sort_threads(b);
	row_init(&row);
	row_init(&thread);
	for (size_t i = 0; i < b->image_count && r == 0; i++)
		r = add_image(in, b, order[i], &o, &row, &thread);
	row_release(&row);
	row_release(&thread);
	if (r == 0 && !o.rows)
		add_unseen_threads(in, b);
	return r;
}
