/*
 * In which phase of a script a process was started. A process belongs to the innermost phase in
 * which a script started it or one of its ancestors. Pure functions.
 */
#pragma once

#include "analysis/phase_stats.h"

/* A process of the job; parents come before their children. */
struct phase_task {
	uint32_t parent;  /* index; a root is its own parent */
	int64_t start_us; /* PHASE_TASK_UNKNOWN */
};
#define PHASE_TASK_UNKNOWN INT64_MIN

/* For each task the index of its phase, or PHASE_NONE; NULL: no script marked phases.
 * phase_span.tree is the index of a task, from 1. Freed by the caller. */
uint32_t *phase_of_tasks(const struct phase_span *v, size_t count, const struct phase_task *tasks,
			 size_t task_count);
