/*
 * Phases of scripts as operations (analysis/phase_processes.h). The operation is named
 * "phase:NAME", as if it were a tag.
 */
#include <string.h>

#include "analysis/phase_processes.h"
#include "report/report_internal.h"

/* With a tag to group by, the key "phase" stands for these. */
static uint32_t operation_name(struct report_loading *l, const char *phase)
{
	_cleanup_free_ char *name = l->o->tag ? NULL : xasprintf("phase:%s", phase);
	const char *text = name ? name : phase;

	return report_name(l, text, strlen(text));
}

uint32_t *report_phase_operations(struct report_loading *l)
{
	const struct phase_list *phases = &l->r->timeline.phases;

	if (!phases->count || (l->o->tag && strcmp(l->o->tag, "phase") != 0))
		return NULL;
	_cleanup_free_ struct phase_task *tasks = xreallocarray(NULL, l->count + 1, sizeof(*tasks));
	for (size_t i = 0; i < l->count; i++)
		tasks[i] = (struct phase_task){l->procs[i].parent, l->procs[i].start == UNKNOWN
									   ? PHASE_TASK_UNKNOWN
									   : l->procs[i].start};
	uint32_t *of = phase_of_tasks(phases->v, phases->count, tasks, l->count);
	for (size_t i = 0; of && i < l->count; i++)
		of[i] = of[i] == PHASE_NONE
				? 0
				: operation_name(l, phases->names[phases->v[of[i]].name]);
	return of;
}
