/*
 * The processes of a report on a time axis; see report.h. Each process gets the first free lane
 * below its parent's; then processes that are too short to be seen are merged.
 */
#include <string.h>

#include "report/report_internal.h"

#define LANES_MAX 400
#define CELLS 1600 /* of the time axis: shorter processes are invisible */

static size_t give_lanes(struct report_loading *l, struct report_bar *bars)
{
	int64_t free_from[LANES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < LANES_MAX; i++)
		free_from[i] = INT64_MIN;
	for (size_t i = 0; i < l->count; i++)
		l->procs[i].lane = UINT32_MAX;
	for (size_t i = 0; i < l->started; i++) {
		uint32_t place = l->by_start[i];
		struct report_proc *p = &l->procs[place];
		uint32_t up = p->parent == place ? UINT32_MAX : l->procs[p->parent].lane;
		uint32_t lane = up == UINT32_MAX ? 0 : up + 1;

		while (lane < LANES_MAX && free_from[lane] > p->start)
			lane++;
		if (lane >= LANES_MAX)
			continue;
		p->lane = lane;
		free_from[lane] = p->start + p->duration;
		bars[count++] =
			(struct report_bar){.start = p->start,
					    .end = p->start + p->duration,
					    .name = p->name,
					    .tags = p->tags,
					    .lane = lane,
					    .processes = 1,
					    .pid = p->pid,
					    .cpu = p->cpu == UNKNOWN || p->cpu < 0 ? 0 : p->cpu,
					    .failed = p->failed};
	}
	return count;
}

static int by_lane(const void *a, const void *b)
{
	const struct report_bar *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* Merges short bars of the same name in the same cell of a lane; returns the number left. last: the
 * last bar of each name, + 1. */
static size_t put_together(const struct report_bar *in, size_t count, int64_t from, int64_t cell,
			   uint32_t *last, struct report_bar *out)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		const struct report_bar *b = &in[i];
		struct report_bar *to = last[b->name] ? &out[last[b->name] - 1] : NULL;

		if (to && to->lane == b->lane && b->end - b->start < cell &&
		    to->end - to->start < cell &&
		    (to->start - from) / cell == (b->start - from) / cell) {
			to->end = b->end > to->end ? b->end : to->end;
			to->processes += b->processes;
			to->cpu += b->cpu;
			to->failed |= b->failed;
			to->tags = to->tags == b->tags ? b->tags : 0;
			continue;
		}
		out[n++] = *b;
		last[b->name] = (uint32_t)n;
	}
	return n;
}

static int by_length(const void *a, const void *b)
{
	const struct report_bar *x = a, *y = b;
	int64_t p = x->end - x->start, q = y->end - y->start;

	if (p != q)
		return p > q ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

void report_make_bars(struct report_loading *l)
{
	struct report *r = l->r;
	struct report_bar *all = xcalloc(l->started + 1, sizeof(*all)),
			  *less = xcalloc(l->started + 1, sizeof(*less)), *swap;
	_cleanup_free_ uint32_t *last = xcalloc(r->name_count + 1, sizeof(*last));
	int64_t from = INT64_MAX, to = INT64_MIN;
	size_t count = give_lanes(l, all);

	qsort(all, count, sizeof(*all), by_lane);
	for (size_t i = 0; i < count; i++) {
		from = all[i].start < from ? all[i].start : from;
		to = all[i].end > to ? all[i].end : to;
	}
	/* the cells double until the bars are few enough */
	for (int64_t cells = CELLS; count && cells >= CELLS / 16; cells /= 2) {
		int64_t cell = (to - from) / cells;

		memset(last, 0, r->name_count * sizeof(*last));
		count = put_together(all, count, from, cell > 0 ? cell : 1, last, less);
		swap = all;
		all = less;
		less = swap;
		if (count <= REPORT_BARS_MAX)
			break;
	}
	if (count > REPORT_BARS_MAX) {
		qsort(all, count, sizeof(*all), by_length);
		count = REPORT_BARS_MAX;
		qsort(all, count, sizeof(*all), by_lane);
	}
	r->bars_left_out = l->count;
	for (size_t i = 0; i < count; i++) {
		r->bars_left_out -= all[i].processes;
		r->lanes = all[i].lane + 1 > r->lanes ? all[i].lane + 1 : r->lanes;
	}
	free(less);
	r->bars = all;
	r->bar_count = r->bar_cap = count;
}
