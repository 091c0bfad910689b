/* Details of a job from its metadata: the command line, the batch job, how it was cut off. */
#pragma once

#include "store/store.h"

struct job_details {
	char *command;  /* in shell syntax, or the script; any bytes; NULL: unknown */
	char *batch;    /* "slurm, task 4_1, partition debug"; NULL: none */
	char *again;    /* the only command, complete, to run it again; NULL: unknown, or several */
	char *task;     /* "4_1"; NULL: not part of an array */
	char *cut_off;  /* why, in words; NULL: it ended by itself */
	bool end_known; /* the command ended by itself although its recording was cut off */
	size_t parts;   /* from which it was joined; 0: it was imported as a whole */
};
void job_details_release(struct job_details *f);

/* From the store; unreadable details are unknown. */
void job_details_load(struct job_details *f, struct store *s, int64_t job);

/* How a run was cut off, by its metadata; NULL: it was not. The caller frees it. */
struct value;
char *cut_off_text(const struct value *cut);
