/* See phase_processes.h. */
#include "analysis/phase_processes.h"

#include <stdbool.h>
#include <stdlib.h>

#include "core/util.h"

struct script_phase {
	uint32_t place;     /* of the script among the tasks */
	int64_t begin, end; /* us */
	uint32_t phase;
};

static int by_place(const void *a, const void *b)
{
	const struct script_phase *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The phase of this script at a time. */
static uint32_t phase_at(const struct script_phase *v, size_t count, uint32_t place, int64_t time)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (v[middle].place < place ||
		    (v[middle].place == place && v[middle].begin <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low && v[low - 1].place == place && time < v[low - 1].end ? v[low - 1].phase
									 : PHASE_NONE;
}

static size_t collect(const struct phase_span *v, size_t count, size_t task_count,
		      struct script_phase **ret, bool *is_script)
{
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < count; i++) {
		const struct phase_span *s = &v[i];

		if (s->origin == PHASE_OF_PROGRAM || s->point || s->depth || !s->tree ||
		    s->tree > task_count || s->duration_ns < 0)
			continue;
		GROW(*ret, n, cap);
		(*ret)[n++] =
			(struct script_phase){s->tree - 1, s->begin_ns / 1000,
					      (s->begin_ns + s->duration_ns) / 1000, (uint32_t)i};
		is_script[s->tree - 1] = true;
	}
	if (n)
		qsort(*ret, n, sizeof(**ret), by_place);
	return n;
}

uint32_t *phase_of_tasks(const struct phase_span *v, size_t count, const struct phase_task *tasks,
			 size_t task_count)
{
	_cleanup_free_ bool *is_script = xcalloc(task_count + 1, sizeof(*is_script));
	_cleanup_free_ struct script_phase *phases = NULL;
	size_t n = collect(v, count, task_count, &phases, is_script);

	if (!n)
		return NULL;
	uint32_t *of = xreallocarray(NULL, task_count + 1, sizeof(*of));
	for (size_t i = 0; i < task_count; i++) {
		uint32_t up = tasks[i].parent;

		of[i] = PHASE_NONE;
		if (up >= i) /* a root */
			continue;
		if (is_script[up] && tasks[i].start_us != PHASE_TASK_UNKNOWN)
			of[i] = phase_at(phases, n, up, tasks[i].start_us);
		if (of[i] == PHASE_NONE)
			of[i] = of[up];
	}
	return of;
}
