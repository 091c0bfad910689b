/*
 * Which files are of a job: written by us, or by a tool of job_files.def. A directory that the user
 * chose for a job may have others in it, which nobody but the user removes.
 */
#ifndef PL_JOBS_JOB_FILES_H
#define PL_JOBS_JOB_FILES_H

#include <stdbool.h>

/* Files of another tool, known by their names. */
struct job_files {
	const char *dir; /* in which they lie, below the job's directory; NULL: in that itself */
	bool (*is_name)(const char *base);
};

/* By its path below the directory or in the archive. */
bool jobfile_is_ours(const char *path);
/* The first entry of a directory that is not of a job, by its path below it, freed by the caller;
 * NULL: there is none. */
char *jobfiles_foreign(int dirfd, const char *name);

#endif
