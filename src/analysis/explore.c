/* See explore.h. */
#include "analysis/explore.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/outliers/statistics.h"
#include "core/hash_map.h"

const char *const explore_method_names[EXPLORE_METHODS] = {"iqr", "z", "madz"};

unsigned explore_score(unsigned flags)
{
	return (unsigned)__builtin_popcount(flags);
}

/* ---- classifiers ---------------------------------------------------------------------------- */

/* Sets the flags of n > 0 finite values. */
static void find_outliers(const double *v, size_t n, unsigned *flags)
{
	static const unsigned bits[METHOD_COUNT] = {
		[METHOD_IQR] = EXPLORE_IQR, [METHOD_MADZ] = EXPLORE_MADZ, [METHOD_Z] = EXPLORE_Z};
	_cleanup_free_ double *scores = xcalloc(n, sizeof(*scores));

	memset(flags, 0, n * sizeof(*flags));
	for (unsigned m = 0; m < METHOD_COUNT; m++) {
		if (score_values((enum outlier_method)m, v, n, NULL, scores, NULL) < 0)
			continue;
		for (size_t i = 0; i < n; i++)
			flags[i] |= scores[i] > outlier_methods[m].threshold ? bits[m] : 0;
	}
}

/* ---- groups and segments -------------------------------------------------------------------- */

bool explore_failed(const struct explore_job *j)
{
	return j->has_exitcode && j->exitcode != 0;
}

static struct explore_group *group_of(struct explore *e, struct hash_map *known, const char *name)
{
	uint64_t hash = hash_text(name);

	for (struct hash_slot *s = hash_map_first(known, hash); s; s = hash_map_next(known, s))
		if (!strcmp(e->groups[s->value].name, name))
			return &e->groups[s->value];
	hash_map_add(known, hash, e->group_count);
	GROW(e->groups, e->group_count, e->group_cap);
	e->groups[e->group_count] = (struct explore_group){.name = name};
	return &e->groups[e->group_count++];
}

static struct explore_segment *segment_of(struct explore *e, struct hash_map *known,
					  const char *name)
{
	uint64_t hash = hash_text(name);

	for (struct hash_slot *s = hash_map_first(known, hash); s; s = hash_map_next(known, s))
		if (!strcmp(e->segments[s->value].name, name))
			return &e->segments[s->value];
	hash_map_add(known, hash, e->segment_count);
	GROW(e->segments, e->segment_count, e->segment_cap);
	e->segments[e->segment_count] = (struct explore_segment){.name = name, .sum = NAN};
	return &e->segments[e->segment_count++];
}

static void collect(struct explore *e)
{
	struct hash_map groups = {0}, segments = {0};

	for (size_t i = 0; i < e->job_count; i++) {
		const struct explore_job *j = &e->jobs[i];
		struct explore_group *g = group_of(e, &groups, j->group);

		GROW(g->jobs, g->job_count, g->job_cap);
		g->jobs[g->job_count++] = i;
		g->failed += explore_failed(j);
		e->failed += explore_failed(j);
		if (!*j->segment)
			continue;
		struct explore_segment *s = segment_of(e, &segments, j->segment);
		s->jobs++;
		if (isfinite(j->value))
			s->sum = isnan(s->sum) ? j->value : s->sum + j->value;
	}
	hash_map_release(&groups);
	hash_map_release(&segments);
}

static void describe(struct explore *e, struct explore_group *g)
{
	_cleanup_free_ double *v = xcalloc(g->job_count, sizeof(*v));
	_cleanup_free_ unsigned *flags = xcalloc(g->job_count, sizeof(*flags));
	size_t n = 0;

	g->sum = g->min = g->max = g->variation = NAN;
	for (size_t i = 0; i < g->job_count; i++)
		if (isfinite(e->jobs[g->jobs[i]].value))
			v[n++] = e->jobs[g->jobs[i]].value;
	g->known = n;
	if (!n)
		return;
	g->min = g->max = v[0];
	g->sum = 0;
	for (size_t i = 0; i < n; i++) {
		g->sum += v[i];
		g->min = v[i] < g->min ? v[i] : g->min;
		g->max = v[i] > g->max ? v[i] : g->max;
	}
	double mean = mean_of(v, n);
	if (mean != 0)
		g->variation = deviation_of(v, n, 0) / mean;
	find_outliers(v, n, flags);
	n = 0;
	for (size_t i = 0; i < g->job_count; i++)
		if (isfinite(e->jobs[g->jobs[i]].value))
			e->jobs[g->jobs[i]].flags = flags[n++];
	e->sum += g->sum;
}

static void compare_segments(struct explore *e)
{
	_cleanup_free_ double *v = xcalloc(e->segment_count + 1, sizeof(*v));
	_cleanup_free_ unsigned *flags = xcalloc(e->segment_count + 1, sizeof(*flags));

	size_t n = 0;

	for (size_t i = 0; i < e->segment_count; i++)
		if (!isnan(e->segments[i].sum))
			v[n++] = e->segments[i].sum;
	if (n)
		find_outliers(v, n, flags);
	n = 0;
	for (size_t i = 0; i < e->segment_count; i++)
		if (!isnan(e->segments[i].sum))
			e->segments[i].flags = flags[n++];
}

/* ---- order ---------------------------------------------------------------------------------- */

static double rank(const struct explore_group *g)
{
	return g->known ? g->sum : -INFINITY;
}

/* Groups of the same sum stay in the order of their first jobs. */
static int by_sum(const void *a, const void *b)
{
	const struct explore_group *x = a, *y = b;

	if (rank(x) != rank(y))
		return rank(x) > rank(y) ? -1 : 1;
	return x->jobs[0] < y->jobs[0] ? -1 : x->jobs[0] > y->jobs[0];
}

/* Whole numbers by their value, before all other names. */
static int natural(const char *a, const char *b)
{
	size_t x = strspn(a, "0123456789"), y = strspn(b, "0123456789");
	bool number_a = x && !a[x], number_b = y && !b[y];

	if (number_a != number_b)
		return number_a ? -1 : 1;
	const char *p = a + strspn(a, "0"), *q = b + strspn(b, "0");
	if (number_a && strlen(p) != strlen(q))
		return strlen(p) < strlen(q) ? -1 : 1;
	int r = number_a ? strcmp(p, q) : 0;
	return r ? r : strcmp(a, b);
}

static int by_name(const void *a, const void *b)
{
	return natural(((const struct explore_segment *)a)->name,
		       ((const struct explore_segment *)b)->name);
}

void explore_sort_segments(struct explore *e)
{
	if (e->segment_count)
		qsort(e->segments, e->segment_count, sizeof(*e->segments), by_name);
}

static int by_text(const void *a, const void *b)
{
	return natural(*(const char *const *)a, *(const char *const *)b);
}

/* ---- missing segments ----------------------------------------------------------------------- */

static void find_missing(const struct explore *e, struct explore_group *g,
			 const char *const *expected, size_t count)
{
	struct hash_map has = {0};

	for (size_t i = 0; i < g->job_count; i++)
		hash_map_add(&has, hash_text(e->jobs[g->jobs[i]].segment), g->jobs[i]);
	for (size_t i = 0; i < count; i++) {
		struct hash_slot *s = hash_map_first(&has, hash_text(expected[i]));

		while (s && strcmp(e->jobs[s->value].segment, expected[i]) != 0)
			s = hash_map_next(&has, s);
		if (s)
			continue;
		GROW(g->missing, g->missing_count, g->missing_cap);
		g->missing[g->missing_count++] = expected[i];
	}
	hash_map_release(&has);
}

void explore_compute(struct explore *e, struct explore_job *jobs, size_t count,
		     const char *const *expected, size_t expected_count)
{
	*e = (struct explore){.jobs = jobs, .job_count = count};
	collect(e);
	_cleanup_free_ const char **all = xcalloc(e->segment_count + 1, sizeof(*all));
	for (size_t i = 0; i < e->segment_count; i++)
		all[i] = e->segments[i].name;
	qsort(all, e->segment_count, sizeof(*all), by_text);
	for (size_t i = 0; i < e->group_count; i++) {
		describe(e, &e->groups[i]);
		find_missing(e, &e->groups[i], expected ? expected : all,
			     expected ? expected_count : e->segment_count);
	}
	for (size_t i = 0; i < e->group_count; i++)
		e->groups[i].share = e->sum != 0 ? e->groups[i].sum / e->sum : NAN;
	compare_segments(e);
	if (e->group_count)
		qsort(e->groups, e->group_count, sizeof(*e->groups), by_sum);
}

void explore_release(struct explore *e)
{
	for (size_t i = 0; i < e->group_count; i++) {
		free(e->groups[i].jobs);
		free(e->groups[i].missing);
	}
	free(e->groups);
	free(e->segments);
	*e = (struct explore){0};
}

/* ---- expected segments ---------------------------------------------------------------------- */

static int parse_range(const char *text, const char *dots, char ***ret, size_t *ret_count)
{
	const char *slash = strchr(dots, '/');
	_cleanup_free_ char *from_text = xstrndup(text, (size_t)(dots - text));
	_cleanup_free_ char *to_text =
		xstrndup(dots + 2, slash ? (size_t)(slash - dots - 2) : strlen(dots + 2));
	uint64_t from, to, step = 1;

	if (parse_u64(from_text, &from) < 0 || parse_u64(to_text, &to) < 0 || to < from ||
	    (slash && (parse_u64(slash + 1, &step) < 0 || !step)))
		return -EINVAL;
	if ((to - from) / step >= EXPLORE_SEGMENTS_MAX)
		return -E2BIG;
	size_t count = (size_t)((to - from) / step) + 1;
	/* 00010101: a name with zeros in front keeps its width */
	int width = *from_text == '0' ? (int)strlen(from_text) : 0;
	*ret = xcalloc(count, sizeof(**ret));
	*ret_count = count;
	for (size_t i = 0; i < count; i++, from += step)
		(*ret)[i] = xasprintf("%0*llu", width, (unsigned long long)from);
	return 0;
}

int explore_parse_segments(const char *text, char ***ret, size_t *ret_count)
{
	const char *dots = strstr(text, "..");
	size_t count = 0, cap = 0;
	char **v = NULL;

	if (dots)
		return parse_range(text, dots, ret, ret_count);
	for (const char *p = text;; p += strcspn(p, ",") + 1) {
		size_t n = strcspn(p, ",");

		if (n && count < EXPLORE_SEGMENTS_MAX) {
			GROW(v, count, cap);
			v[count++] = xstrndup(p, n);
		}
		if (!p[n])
			break;
	}
	if (!count)
		return -EINVAL;
	*ret = v;
	*ret_count = count;
	return 0;
}
