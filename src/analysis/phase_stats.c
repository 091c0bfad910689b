/* See phase_stats.h. */
#include "analysis/phase_stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "core/util.h"

struct grouping {
	const struct phase_span *v;
	enum phase_by by;
};

static int compare(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* What imbalance is measured over: ranks, and processes that have none. */
static int compare_ranks(const struct phase_span *a, const struct phase_span *b)
{
	int r = compare(a->rank, b->rank);

	return r || a->rank >= 0 ? r : compare(a->process, b->process);
}

static int compare_threads(const struct phase_span *a, const struct phase_span *b)
{
	int r = compare(a->process, b->process);

	return r ? r : compare(a->tid, b->tid);
}

static int compare_groups(const struct phase_span *a, const struct phase_span *b, enum phase_by by)
{
	int r = compare(a->name, b->name);

	/* a phase of a script and a region of a program may have the same name */
	if (!r)
		r = compare(a->origin, b->origin);
	if (!r && by != PHASE_BY_NAME)
		r = compare_ranks(a, b);
	if (!r && by == PHASE_BY_THREAD)
		r = compare_threads(a, b);
	return r;
}

static bool is_timed(const struct phase_span *s)
{
	return !s->point && s->duration_ns >= 0;
}

static int by_group_and_duration(const void *a, const void *b, void *grouping)
{
	const struct grouping *g = grouping;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int r = compare_groups(&g->v[i], &g->v[k], g->by);

	if (!r)
		r = compare(is_timed(&g->v[i]), is_timed(&g->v[k]));
	if (!r)
		r = compare(g->v[i].duration_ns, g->v[k].duration_ns);
	return r ? r : compare(i, k);
}

static int by_rank(const void *a, const void *b, void *spans)
{
	const struct phase_span *v = spans;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int r = compare_ranks(&v[i], &v[k]);

	return r ? r : compare(i, k);
}

static int by_thread(const void *a, const void *b, void *spans)
{
	const struct phase_span *v = spans;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	int r = compare_threads(&v[i], &v[k]);

	return r ? r : compare(i, k);
}

static int by_first(const void *a, const void *b)
{
	const struct phase_stat *x = a, *y = b;
	int r = compare(x->first_ns, y->first_ns);

	if (!r)
		r = compare(x->depth, y->depth);
	return r ? r : compare(x->name, y->name);
}

/* A phase inside one of the same name would be counted twice. */
static bool is_within_itself(const struct phase_span *v, uint32_t i)
{
	for (uint32_t at = v[i].parent; at != PHASE_NONE; at = v[at].parent)
		if (v[at].name == v[i].name)
			return true;
	return false;
}

static void end_part(struct phase_spread *s, double own)
{
	s->min_ns = s->count && own > s->min_ns ? s->min_ns : own;
	s->max_ns = s->count && own < s->max_ns ? s->max_ns : own;
	s->mean_ns += own;
	s->count++;
}

/* Totals by rank, or by thread, of a group that is sorted so. */
static void find_spread(struct phase_spread *s, const struct phase_span *v, const uint32_t *order,
			size_t count, const bool *outer,
			int (*differ)(const struct phase_span *, const struct phase_span *))
{
	double own = 0;
	bool timed = false;

	*s = (struct phase_spread){0};
	for (size_t i = 0; i < count; i++) {
		const struct phase_span *span = &v[order[i]];

		if (i && differ(span, &v[order[i - 1]]) != 0) {
			end_part(s, own);
			own = 0;
		}
		if (is_timed(span) && outer[order[i]])
			own += (double)span->duration_ns;
		timed = timed || is_timed(span);
	}
	end_part(s, own);
	s->mean_ns /= (double)s->count;
	s->imbalance = s->count > 1 && s->mean_ns > 0 ? s->max_ns / s->mean_ns - 1 : NAN;
	if (!timed)
		s->min_ns = s->mean_ns = s->max_ns = NAN;
}

static void add_span(struct phase_stat *s, const struct phase_span *v, bool outer, int64_t inside)
{
	int64_t end = v->begin_ns + (v->duration_ns > 0 ? v->duration_ns : 0);

	s->count++;
	s->points += v->point;
	s->open += v->open;
	if (v->begin_ns < s->first_ns) {
		s->first_ns = v->begin_ns;
		s->depth = v->depth;
		s->process = v->process;
		s->tid = v->tid;
		s->rank = v->rank;
	}
	s->last_ns = end > s->last_ns ? end : s->last_ns;
	if (v->cpu_ns >= 0 && outer)
		s->cpu_ns = (s->cpu_ns < 0 ? 0 : s->cpu_ns) + v->cpu_ns;
	if (!is_timed(v))
		return;
	if (s->total_ns < 0)
		s->total_ns = s->self_ns = 0;
	if (outer)
		s->total_ns += v->duration_ns;
	if (v->duration_ns > inside)
		s->self_ns += v->duration_ns - inside;
	if (s->min_ns < 0)
		s->min_ns = v->duration_ns;
	s->max_ns = v->duration_ns;
}

/* A group, sorted by duration; points and those without one come first. */
static void make_stat(struct phase_stat *s, const struct phase_span *v, uint32_t *order,
		      size_t count, const bool *outer, const int64_t *inside)
{
	size_t timed = 0;

	*s = (struct phase_stat){.name = v[order[0]].name,
				 .origin = v[order[0]].origin,
				 .total_ns = -1,
				 .self_ns = -1,
				 .min_ns = -1,
				 .max_ns = -1,
				 .cpu_ns = -1,
				 .first_ns = INT64_MAX,
				 .median_ns = NAN};
	for (size_t i = 0; i < count; i++) {
		add_span(s, &v[order[i]], outer[order[i]], inside[order[i]]);
		timed += is_timed(&v[order[i]]);
	}
	if (timed) {
		const uint32_t *of = order + count - timed;
		int64_t low = v[of[(timed - 1) / 2]].duration_ns,
			high = v[of[timed / 2]].duration_ns;

		s->median_ns = (double)low + (double)(high - low) / 2;
	}
	qsort_r(order, count, sizeof(*order), by_rank, (void *)v);
	find_spread(&s->ranks, v, order, count, outer, compare_ranks);
	qsort_r(order, count, sizeof(*order), by_thread, (void *)v);
	find_spread(&s->threads, v, order, count, outer, compare_threads);
}

size_t phase_stats(const struct phase_span *v, size_t count, enum phase_by by,
		   struct phase_stat **ret)
{
	_cleanup_free_ uint32_t *order = xreallocarray(NULL, count + 1, sizeof(*order));
	_cleanup_free_ bool *outer = xcalloc(count + 1, sizeof(*outer));
	_cleanup_free_ int64_t *inside = xcalloc(count + 1, sizeof(*inside));
	struct grouping g = {v, by};
	size_t n = 0, cap = 0;

	*ret = NULL;
	for (size_t i = 0; i < count; i++) {
		order[i] = (uint32_t)i;
		outer[i] = !is_within_itself(v, (uint32_t)i);
		if (v[i].parent != PHASE_NONE && is_timed(&v[i]))
			inside[v[i].parent] += v[i].duration_ns;
	}
	if (count)
		qsort_r(order, count, sizeof(*order), by_group_and_duration, &g);
	for (size_t first = 0, next; first < count; first = next) {
		for (next = first + 1; next < count; next++)
			if (compare_groups(&v[order[first]], &v[order[next]], by) != 0)
				break;
		GROW(*ret, n, cap);
		make_stat(&(*ret)[n++], v, order + first, next - first, outer, inside);
	}
	if (n)
		qsort(*ret, n, sizeof(**ret), by_first);
	return n;
}
