/* What the metadata of a job say that people ask for: its command line, and the batch system's job.
 */
#ifndef PL_VIEWS_JOB_FACTS_H
#define PL_VIEWS_JOB_FACTS_H

#include "store/store.h"

struct jobfacts {
	char *command; /* as a shell takes it, or the script; NULL: not known. Bytes of the user's
			*/
	char *batch;   /* "slurm, task 4_1, partition debug"; NULL: none */
	char *task;    /* "4_1"; NULL: of no array */
	char *cut_off; /* by what, in words; NULL: it ended by itself */
	size_t parts;  /* that it was put together from; 0: it came as a whole */
};
void jobfacts_release(struct jobfacts *f);

/* From the store. What cannot be read is not known. */
void jobfacts_load(struct jobfacts *f, struct store *s, int64_t job);

/* How a run was cut off, as it wrote that down; NULL when it was not. Freed by the caller. */
struct value;
char *cut_off_text(const struct value *cut);

#endif
