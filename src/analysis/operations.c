/* Operations; see operations.h. */
#include "analysis/operations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/util.h"

struct operation_time {
	size_t operation;
	struct interval at;
};

/* Sums of hostile values end at the limits. */
int64_t operation_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (a == OPERATION_UNKNOWN || b == OPERATION_UNKNOWN)
		return a == OPERATION_UNKNOWN ? b : a;
	if (__builtin_add_overflow(a, b, &sum) || sum == OPERATION_UNKNOWN)
		return a < 0 ? -INT64_MAX : INT64_MAX;
	return sum;
}

static int64_t smaller(int64_t a, int64_t b)
{
	if (a == OPERATION_UNKNOWN || b == OPERATION_UNKNOWN)
		return a == OPERATION_UNKNOWN ? b : a;
	return a < b ? a : b;
}

/* OPERATION_UNKNOWN is the smallest number. */
static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- intervals ------------------------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_sorted(const struct interval *v, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (v[i].start < v[i - 1].start)
			return false;
	return true;
}

size_t intervals_merge(struct interval *v, size_t count)
{
	size_t n = 0;

	/* images mostly come in the order of their start */
	if (!is_sorted(v, count))
		qsort(v, count, sizeof(*v), by_start);
	for (size_t i = 0; i < count; i++) {
		if (n && v[i].start <= v[n - 1].end)
			v[n - 1].end = larger(v[n - 1].end, v[i].end);
		else
			v[n++] = v[i];
	}
	return n;
}

static int64_t between(int64_t start, int64_t end)
{
	int64_t length;

	return __builtin_sub_overflow(end, start, &length) ? INT64_MAX : length;
}

int64_t intervals_length(const struct interval *v, size_t count)
{
	int64_t length = 0;

	for (size_t i = 0; i < count; i++)
		length = operation_add(length, between(v[i].start, v[i].end));
	return length;
}

/* ---- adding ---------------------------------------------------------------------------------- */

void operations_init(struct operations *o, size_t metrics)
{
	*o = (struct operations){.metric_count = metrics};
}

void operations_release(struct operations *o)
{
	for (size_t i = 0; i < o->count; i++)
		free(o->v[i].metrics);
	free(o->v);
	free(o->times);
	free(o->runs);
	*o = (struct operations){0};
}

size_t operations_new(struct operations *o)
{
	struct operation_metric *metrics =
		xreallocarray(NULL, o->metric_count + 1, sizeof(*metrics));

	for (size_t i = 0; i < o->metric_count; i++)
		metrics[i] = (struct operation_metric){OPERATION_UNKNOWN, OPERATION_UNKNOWN};
	GROW(o->v, o->count, o->cap);
	o->v[o->count] = (struct operation){
		.start = OPERATION_UNKNOWN,
		.end = OPERATION_UNKNOWN,
		.duration = {OPERATION_UNKNOWN, OPERATION_UNKNOWN, OPERATION_UNKNOWN},
		.metrics = metrics,
		.cpu_ns = OPERATION_UNKNOWN};
	return o->count++;
}

void operations_add_metric(struct operations *o, size_t operation, size_t metric, int64_t value)
{
	struct operation_metric *m = &o->v[operation].metrics[metric];

	m->sum = operation_add(m->sum, value);
	m->max = larger(m->max, value);
}

void operations_add_time(struct operations *o, size_t operation, int64_t start, int64_t end)
{
	GROW(o->times, o->time_count, o->time_cap);
	o->times[o->time_count++] = (struct operation_time){operation, {start, end}};
}

void operations_add(struct operations *o, size_t operation, const struct operation_image *image)
{
	struct operation *to = &o->v[operation];
	int64_t end;

	to->images++;
	to->processes += !image->executes;
	for (size_t i = 0; i < o->metric_count; i++)
		if (image->metrics[i] != OPERATION_UNKNOWN)
			operations_add_metric(o, operation, i, image->metrics[i]);
	if (image->start == OPERATION_UNKNOWN || image->duration < 0 ||
	    __builtin_add_overflow(image->start, image->duration, &end))
		return;
	to->duration[OPERATION_SUM] = operation_add(to->duration[OPERATION_SUM], image->duration);
	operations_add_time(o, operation, image->start, end);
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Sorts the times by operation; ends[] gets where the part of each ends. */
static void collect(const struct operations *o, struct interval *to, size_t *ends)
{
	size_t at = 0;

	for (size_t i = 0; i < o->count; i++)
		ends[i] = 0;
	for (size_t i = 0; i < o->time_count; i++)
		ends[o->times[i].operation]++;
	for (size_t i = 0; i < o->count; i++) {
		size_t n = ends[i];

		ends[i] = at;
		at += n;
	}
	for (size_t i = 0; i < o->time_count; i++)
		to[ends[o->times[i].operation]++] = o->times[i].at;
}

void operations_finish(struct operations *o)
{
	_cleanup_free_ size_t *ends = xreallocarray(NULL, o->count + 1, sizeof(*ends));
	size_t begin = 0;

	o->runs = xreallocarray(NULL, o->time_count + 1, sizeof(*o->runs));
	collect(o, o->runs, ends);
	for (size_t i = 0; i < o->count; begin = ends[i++]) {
		struct operation *op = &o->v[i];
		struct interval *runs = o->runs + begin;

		op->runs = runs;
		op->run_count = intervals_merge(runs, ends[i] - begin);
		if (!op->run_count)
			continue;
		op->start = runs[0].start;
		op->end = runs[op->run_count - 1].end;
		op->duration[OPERATION_UNION] = intervals_length(runs, op->run_count);
		op->duration[OPERATION_SPAN] = between(op->start, op->end);
	}
	free(o->times);
	o->times = NULL;
	o->time_count = o->time_cap = 0;
}

bool operation_is_contiguous(const struct operation *o)
{
	return o->run_count == 1;
}

void operation_merge(struct operation *to, const struct operation *from, size_t metrics)
{
	to->images += from->images;
	to->processes += from->processes;
	for (int i = 0; i < OPERATION_DURATIONS; i++)
		to->duration[i] = operation_add(to->duration[i], from->duration[i]);
	to->start = smaller(to->start, from->start);
	to->end = larger(to->end, from->end);
	to->cpu_ns = operation_add(to->cpu_ns, from->cpu_ns);
	to->runs = NULL;
	to->run_count += from->run_count;
	for (size_t i = 0; i < metrics; i++) {
		to->metrics[i].sum = operation_add(to->metrics[i].sum, from->metrics[i].sum);
		to->metrics[i].max = larger(to->metrics[i].max, from->metrics[i].max);
	}
}

/* ---- shares ---------------------------------------------------------------------------------- */

double operation_share(int64_t part, int64_t whole)
{
	if (part == OPERATION_UNKNOWN || whole == OPERATION_UNKNOWN || whole <= 0)
		return NAN;
	return 100.0 * (double)part / (double)whole;
}

double operation_round(double v, int decimals)
{
	char text[64];

	if (!isfinite(v))
		return v;
	/* the C library rounds the exact value, and ties to even */
	snprintf(text, sizeof(text), "%.*f", decimals, v);
	return strtod(text, NULL);
}
