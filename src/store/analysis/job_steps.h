/*
 * The steps of a job: what Slurm calls so, the values of the tag "step" of its processes, or else
 * its runs (`plimsoll run`), if it has several. Runs beside each other of the same command, as a
 * launcher starts them, are one step; a run inside of another belongs to the step of that one.
 *
 * The tag counts first, then the number that Slurm gave the process, then the step of its parent,
 * then the run that recorded it. A job with a single run and no other steps has none.
 *
 * Use: job_steps_take(), then for each process in the order of the tree job_steps_own() and
 * job_steps_of_run(), job_steps_inherit(), and when all are known job_steps_settle(), which makes
 * numbers final.
 */
#pragma once

#include "core/hash_map.h"
#include "core/value.h"

struct job_step {
	char *name;      /* "0" of Slurm, "2": the second run, "batch": outside of Slurm's steps */
	char *program;   /* of its run, else of its first process; NULL: unknown */
	bool by_run;     /* its name is the number of a run */
	uint32_t number; /* final one, + 1; 0: it is no step */
};

struct job_steps {
	struct job_step *list;
	size_t count, cap;
	struct hash_map by_name, by_file; /* by_file: from numbers of record files */
	bool batch;                       /* the batch system named some of them */
	size_t shown;                     /* that are steps, after job_steps_settle() */
};

/* From the metadata of a job; NULL: none. */
void job_steps_take(struct job_steps *s, const struct value *metadata);
void job_steps_release(struct job_steps *s);

/* The step that a process itself names, by its tags and its state in the store; 0: none. Others
 * are numbers + 1. */
uint32_t job_steps_own(struct job_steps *s, const char *tags, int64_t state);
/* The step of the run that recorded it. */
uint32_t job_steps_of_run(const struct job_steps *s, int64_t state);
static inline uint32_t job_steps_inherit(uint32_t own, uint32_t parent, uint32_t run)
{
	return own ? own : parent ? parent : run;
}
/* Notes the program of a process, in the order of the tree. */
void job_steps_note_program(struct job_steps *s, uint32_t step, const char *program);
/* All processes are known: numbers become those of job_steps_final(). */
void job_steps_settle(struct job_steps *s);
static inline uint32_t job_steps_final(const struct job_steps *s, uint32_t step)
{
	return step ? s->list[step - 1].number : 0;
}
/* A step by its final number, which is not 0. */
const struct job_step *job_steps_get(const struct job_steps *s, uint32_t step);
/* "2 (model)": for people; not printable if its texts are not. Freed by the caller. */
char *job_steps_label(const struct job_step *step);
