/* Tags with how many carry them: those of jobs, or those of the processes of some jobs. */
#ifndef PL_VIEWS_TAG_LIST_H
#define PL_VIEWS_TAG_LIST_H

#include "views/process_list.h"

/* Every key and value of job tags with the number of jobs; how many rows that were. */
int job_tags_print(struct store *s, enum proc_form form, FILE *f);
/* The different tags of processes of these jobs with the number of processes; how many rows. */
int proc_tags_print(struct store *s, const int64_t *jobs, size_t count, enum proc_form form,
		    FILE *f);
/* The tags of a job itself as KEY:VALUE;... */
int job_tags_text(struct store *s, int64_t job, struct strbuf *out);

#endif
