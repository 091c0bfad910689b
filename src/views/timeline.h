/* The number of processes and threads of a job over time. */
#pragma once

#include "views/phases.h"
#include "views/processes/process_list.h"

struct timeline_step {
	int64_t time; /* us; the numbers are valid from here on */
	int64_t processes, threads;
};

struct timeline {
	struct timeline_step *steps;
	size_t count, cap;
	char *jobid;
	int64_t start, end, duration; /* UNKNOWN where not known */
	int64_t processes, images, peak_procs, peak_threads;
	struct phase_list phases;
};
void timeline_release(struct timeline *t);
int timeline_load(struct timeline *t, struct store *s, int64_t job);

int timeline_print(const struct timeline *t, struct store *s, int64_t job, enum proc_form form,
		   FILE *f);
