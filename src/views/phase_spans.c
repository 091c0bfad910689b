/* Phases on a time axis: their order in lanes, those that divide the job, and the time of one; see
 * phases.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/text/similar.h"
#include "core/text/text.h"
#include "views/phases.h"

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* By rank, process, thread, level and time; script phases, which have no rank, come first. */
static int by_lane(const void *a, const void *b, void *list)
{
	const struct phase_list *l = list;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct phase_span *x = &l->v[i], *y = &l->v[k];
	int r = compare(x->rank, y->rank);

	if (!r)
		r = compare(x->process, y->process);
	if (!r)
		r = compare(x->tid, y->tid);
	if (!r)
		r = compare(x->depth, y->depth);
	if (!r)
		r = compare(x->begin_ns, y->begin_ns);
	return r ? r : compare(i, k);
}

uint32_t *phase_lanes(const struct phase_list *l)
{
	uint32_t *order = xreallocarray(NULL, l->count + 1, sizeof(*order));

	for (size_t i = 0; i < l->count; i++)
		order[i] = (uint32_t)i;
	if (l->count)
		qsort_r(order, l->count, sizeof(*order), by_lane, (void *)l);
	return order;
}

/* The phases that divide the time of the job: those of the script that has most of them, else those
 * of the first rank's first thread. */
static const struct phase_span *find_dividing(const struct phase_list *l, const uint32_t *order)
{
	const struct phase_span *found = NULL;
	size_t best = 0, run = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct phase_span *v = &l->v[order[i]];

		if (v->origin != PHASE_OF_SCRIPT || v->depth || v->point)
			continue;
		run = i && phase_same_thread(v, &l->v[order[i - 1]]) ? run + 1 : 1;
		if (run > best) {
			best = run;
			found = v;
		}
	}
	return !found && l->count ? &l->v[order[0]] : found;
}

size_t phase_dividing(const struct phase_list *l, const uint32_t *order, int64_t narrow_ns,
		      size_t max, const struct phase_span ***ret)
{
	const struct phase_span *of = find_dividing(l, order);
	size_t count = 0, cap = 0;

	*ret = NULL;
	for (size_t i = 0; of && i < l->count && count < max; i++) {
		const struct phase_span *v = &l->v[order[i]];

		if (!phase_same_thread(v, of) || v->depth || v->point || v->duration_ns < narrow_ns)
			continue;
		GROW(*ret, count, cap);
		(*ret)[count++] = v;
	}
	return count;
}

/* ---- the time of a phase --------------------------------------------------------------------- */

/* Occurrence n, from 1, of a name, or all of them (0). */
static bool find_time(const struct phase_list *l, const char *name, uint64_t n, int64_t *begin,
		      int64_t *end)
{
	uint64_t seen = 0;
	bool any = false;
	_cleanup_free_ uint32_t *order = phase_order(l);

	for (size_t i = 0; i < l->count; i++) {
		const struct phase_span *v = &l->v[order[i]];

		if (v->point || v->duration_ns < 0 || strcmp(l->names[v->name], name) != 0)
			continue;
		if (n && ++seen != n)
			continue;
		const int64_t last = v->begin_ns + v->duration_ns;
		*begin = any && *begin < v->begin_ns ? *begin : v->begin_ns;
		*end = any && *end > last ? *end : last;
		any = true;
	}
	return any;
}

int phase_time(const struct phase_list *l, const char *word, int64_t *begin_us, int64_t *end_us,
	       struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf near = STRBUF_INIT;
	int64_t begin = 0, end = 0;
	const char *mark = strrchr(word, '#');
	uint64_t n = 0;
	bool found = find_time(l, word, 0, &begin, &end);

	if (!found && mark && parse_u64(mark + 1, &n) == 0 && n) {
		_cleanup_free_ char *name = xstrndup(word, (size_t)(mark - word));

		found = find_time(l, name, n, &begin, &end);
	}
	if (found) {
		*begin_us = begin / 1000;
		*end_us = (end + 999) / 1000;
		return 0;
	}
	if (!l->count)
		return strbuf_fail(why, -ENOENT, "the job has no phases");
	if (l->name_count <= 1000)
		near_metrics((const char *const *)l->names, l->name_count, word, 3, &near);
	strbuf_addf(why, "the job has no phase '%.232s'", word);
	if (near.len)
		strbuf_addf(why, "; did you mean %s?", near.buf);
	else
		strbuf_addstr(why, "; `plimsoll phases` lists its phases");
	return -ENOENT;
}
