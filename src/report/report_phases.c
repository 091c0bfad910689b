/*
 * The phases of a job in its report: their statistics, bars in a lane for each level of each
 * thread, and bands behind the series. What is too narrow to be seen is merged, what is too much
 * left out.
 */
#include <string.h>

#include "report/report_internal.h"
#include "report/report_json.h"

#define SEEN 2000 /* parts of the duration that can be told apart */

void report_phases_release(struct report_phases *p)
{
	free(p->stats);
	free(p->colors);
	free(p->lanes);
	free(p->bars);
	free(p->bands);
	*p = (struct report_phases){0};
}

/* ---- lanes ---------------------------------------------------------------------------------- */

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* A bar; joins the one before it in the lane if both have the name and no space between them. */
static void add_bar(struct report_phases *p, const struct phase_span *v, int64_t narrow)
{
	int64_t end = v->begin_ns + (v->duration_ns > 0 ? v->duration_ns : 0);
	uint32_t lane = (uint32_t)p->lane_count - 1;
	struct report_phase_bar *last = p->bar_count ? &p->bars[p->bar_count - 1] : NULL;

	if (last && last->lane == lane && last->name == v->name && end - last->start_ns < narrow) {
		last->end_ns = end > last->end_ns ? end : last->end_ns;
		last->count++;
		last->open = last->open || v->open;
		return;
	}
	if (p->bar_count == REPORT_BARS_MAX) {
		p->bars_left_out++;
		return;
	}
	GROW(p->bars, p->bar_count, p->bar_cap);
	p->bars[p->bar_count++] = (struct report_phase_bar){.start_ns = v->begin_ns,
							    .end_ns = end,
							    .name = v->name,
							    .lane = lane,
							    .count = 1,
							    .open = v->open,
							    .point = v->point};
}

static void make_bars(struct report_phases *p, const struct phase_list *l, const uint32_t *order,
		      int64_t narrow)
{
	const struct phase_span *last = NULL;
	bool full = false;

	for (size_t i = 0; i < l->count; i++) {
		const struct phase_span *v = &l->v[order[i]];
		bool other = !last || !phase_same_thread(last, v);

		if (other || last->depth != v->depth) {
			full = p->lane_count == REPORT_LANES_MAX;
			if (full && other)
				p->threads_left_out++;
			if (!full) {
				GROW(p->lanes, p->lane_count, p->lane_cap);
				p->lanes[p->lane_count++] = (struct report_phase_lane){
					v->process, v->tid, v->rank, v->depth};
			}
		}
		last = v;
		if (!full)
			add_bar(p, v, narrow);
	}
}

/* ---- bands ---------------------------------------------------------------------------------- */

static void make_bands(struct report_phases *p, const struct phase_list *l, const uint32_t *order,
		       int64_t narrow)
{
	_cleanup_free_ const struct phase_span **v = NULL;

	p->band_count = phase_dividing(l, order, narrow, REPORT_BANDS_MAX, &v);
	p->bands = xcalloc(p->band_count + 1, sizeof(*p->bands));
	for (size_t i = 0; i < p->band_count; i++)
		p->bands[i] =
			(struct report_phase_bar){.start_ns = v[i]->begin_ns,
						  .end_ns = v[i]->begin_ns + v[i]->duration_ns,
						  .name = v[i]->name,
						  .count = 1,
						  .open = v[i]->open};
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int by_total(const void *a, const void *b, void *stats)
{
	const struct phase_stat *s = stats;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int r = compare(s[k].total_ns, s[i].total_ns);

	return r ? r : compare(i, k);
}

/* The names with the longest totals have colours of their own. */
static void find_colors(struct report_phases *p, size_t names)
{
	_cleanup_free_ uint32_t *order = xreallocarray(NULL, p->stat_count + 1, sizeof(*order));

	p->colors = xcalloc(names + 1, sizeof(*p->colors));
	for (size_t i = 0; i < p->stat_count; i++)
		order[i] = (uint32_t)i;
	if (p->stat_count)
		qsort_r(order, p->stat_count, sizeof(*order), by_total, p->stats);
	for (size_t i = 0; i < p->stat_count; i++)
		p->colors[p->stats[order[i]].name] = i < 8 ? (uint8_t)i : 8;
}

void report_make_phases(struct report *r)
{
	struct report_phases *p = &r->phases;
	const struct phase_list *l = &r->timeline.phases;
	int64_t first = INT64_MAX, last = INT64_MIN;

	if (!l->count)
		return;
	_cleanup_free_ uint32_t *order = phase_lanes(l);
	for (size_t i = 0; i < l->count; i++) {
		int64_t end =
			l->v[i].begin_ns + (l->v[i].duration_ns > 0 ? l->v[i].duration_ns : 0);

		first = l->v[i].begin_ns < first ? l->v[i].begin_ns : first;
		last = end > last ? end : last;
	}
	int64_t narrow = (last - first) / SEEN;
	p->stat_count = phase_stats(l->v, l->count, PHASE_BY_NAME, &p->stats);
	find_colors(p, l->name_count);
	make_bars(p, l, order, narrow);
	make_bands(p, l, order, narrow);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* [begin, length, name, lane, count, open, point], in us with fractions since the origin. */
static void json_bar(struct json_writer *j, const struct report_phase_bar *b, int64_t origin)
{
	json_begin_array(j, NULL);
	json_f64(j, NULL, (double)(b->start_ns - origin * 1000) / 1000);
	json_f64(j, NULL, (double)(b->end_ns - b->start_ns) / 1000);
	json_u64(j, NULL, b->name);
	json_u64(j, NULL, b->lane);
	json_u64(j, NULL, b->count);
	json_i64(j, NULL, b->open);
	json_i64(j, NULL, b->point);
	json_end_array(j);
}

void report_json_phases(const struct report *r, struct json_writer *j, int64_t origin)
{
	const struct report_phases *p = &r->phases;
	const struct phase_list *l = &r->timeline.phases;
	size_t shown = p->stat_count < REPORT_GROUPS_MAX ? p->stat_count : REPORT_GROUPS_MAX;

	if (!p->stat_count)
		return;
	json_begin_object(j, "phases");
	json_u64(j, "left_out", p->stat_count - shown);
	phase_stats_json(l, p->stats, shown, PHASE_BY_NAME, j, "list");
	json_strs(j, "names", l->names, l->name_count);
	json_begin_array(j, "colors");
	for (size_t i = 0; i < l->name_count; i++)
		json_i64(j, NULL, p->colors[i]);
	json_end_array(j);
	json_begin_array(j, "lanes");
	for (size_t i = 0; i < p->lane_count; i++) {
		const struct report_phase_lane *lane = &p->lanes[i];

		json_begin_object(j, NULL);
		json_str(j, "host", l->processes[lane->process].host);
		json_number(j, "rank", lane->rank < 0 ? UNKNOWN : lane->rank);
		json_i64(j, "pid", l->processes[lane->process].pid);
		json_i64(j, "tid", lane->tid);
		json_i64(j, "depth", lane->depth);
		json_end_object(j);
	}
	json_end_array(j);
	json_u64(j, "threads_left_out", p->threads_left_out);
	json_u64(j, "bars_left_out", p->bars_left_out);
	json_begin_array(j, "bars");
	for (size_t i = 0; i < p->bar_count; i++)
		json_bar(j, &p->bars[i], origin);
	json_end_array(j);
	json_begin_array(j, "bands");
	for (size_t i = 0; i < p->band_count; i++)
		json_bar(j, &p->bands[i], origin);
	json_end_array(j);
	json_end_object(j);
}
