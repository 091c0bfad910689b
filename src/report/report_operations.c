/*
 * Phases of scripts as operations: a process belongs to the phase in which the script started it,
 * or its ancestor. The operation is named "phase:NAME", as if it were a tag.
 */
#include <string.h>

#include "report/report_internal.h"

struct script_phase {
	uint32_t place;     /* of the script's image among the processes */
	int64_t begin, end; /* us */
	uint32_t name;      /* in report.names */
};

static int by_place(const void *a, const void *b)
{
	const struct script_phase *x = a, *y = b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* The phase of this script at a time; 0: none. */
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
	return low && v[low - 1].place == place && time < v[low - 1].end ? v[low - 1].name : 0;
}

/* With a tag to group by, the key "phase" stands for these. */
static uint32_t operation_name(struct report_loading *l, const char *phase)
{
	_cleanup_free_ char *name = l->o->tag ? NULL : xasprintf("phase:%s", phase);
	const char *text = name ? name : phase;

	return report_name(l, text, strlen(text));
}

static size_t collect(struct report_loading *l, struct script_phase **ret, bool *is_script)
{
	const struct phase_list *phases = &l->r->timeline.phases;
	size_t count = 0, cap = 0;

	for (size_t i = 0; i < phases->count; i++) {
		const struct phase_span *s = &phases->v[i];

		if (s->origin == PHASE_OF_PROGRAM || s->point || s->depth || !s->tree ||
		    s->tree > l->count || s->duration_ns < 0)
			continue;
		GROW(*ret, count, cap);
		(*ret)[count++] = (struct script_phase){s->tree - 1, s->begin_ns / 1000,
							(s->begin_ns + s->duration_ns) / 1000,
							operation_name(l, phases->names[s->name])};
		is_script[s->tree - 1] = true;
	}
	if (count)
		qsort(*ret, count, sizeof(**ret), by_place);
	return count;
}

uint32_t *report_phase_operations(struct report_loading *l)
{
	_cleanup_free_ bool *is_script = xcalloc(l->count + 1, sizeof(*is_script));
	_cleanup_free_ struct script_phase *v = NULL;

	if (l->o->tag && strcmp(l->o->tag, "phase") != 0)
		return NULL;
	size_t count = collect(l, &v, is_script);
	if (!count)
		return NULL;
	uint32_t *of = xcalloc(l->count + 1, sizeof(*of));
	/* parents come before children */
	for (size_t i = 0; i < l->count; i++) {
		uint32_t up = l->procs[i].parent;

		if (up == i)
			continue;
		uint32_t own = is_script[up] && l->procs[i].start != UNKNOWN
				       ? phase_at(v, count, up, l->procs[i].start)
				       : 0;
		of[i] = own ? own : of[up];
	}
	return of;
}
