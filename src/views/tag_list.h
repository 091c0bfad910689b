/* Tags of jobs, or of the processes of some jobs, and how many have them. */
#pragma once

#include "views/processes/process_list.h"

/* Each key and value of job tags with the number of jobs; returns the number of rows. */
int job_tags_print(struct store *s, enum proc_form form, FILE *f);
/* The distinct tags of processes of these jobs with the number of processes; returns the number of
 * rows. */
int proc_tags_print(struct store *s, const int64_t *jobs, size_t count, enum proc_form form,
		    FILE *f);
/* The tags of a job itself as KEY:VALUE;... */
int job_tags_text(struct store *s, int64_t job, struct strbuf *out);
