/*
 * Phases as operations, named "phase:NAME" as if they were tags. Their times are those of the
 * phases. To a phase of a script belong the images that it started in it
 * (analysis/phase_processes.h); a region of a program has the processes and threads that marked it,
 * and CPU time if that was recorded.
 */
#pragma once

#include "views/operations/operation_list.h"
#include "views/phases.h"

struct phase_operations {
	struct phase_list list;
	uint32_t *of;       /* operation + 1 of each phase; 0: it is not asked for */
	uint32_t *of_image; /* operation + 1 of each image, by its number; NULL: none has one */
	size_t image_count;
};
/* Loads the phases that are asked for, and adds their operations. */
int phase_operations_load(struct phase_operations *p, struct job_operations *jo, struct store *s,
			  const struct operation_query *q);
/* The operation of an image that a script started in a phase, + 1; 0: none. */
static inline uint32_t phase_operation_of(const struct phase_operations *p, uint32_t image)
{
	return p->of_image && image < p->image_count ? p->of_image[image] : 0;
}
/* Adds the times of phases, and what is known of regions of programs; numtids: of the metrics. */
void phase_operations_add(const struct phase_operations *p, struct job_operations *jo,
			  size_t numtids);
/* Sums of durations to the nanosecond, after operations_finish(). */
void phase_operations_end(const struct phase_operations *p, struct job_operations *jo);
void phase_operations_release(struct phase_operations *p);
