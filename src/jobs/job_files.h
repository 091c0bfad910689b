/*
 * Recognises the files of a job: written by us, or by a tool of job_files.def. A directory that the
 * user chose for a job may contain other files, which we never remove.
 */
#pragma once

#include <stdbool.h>

/* Files of another tool, recognised by their names. */
struct job_files {
	const char *dir; /* directory below that of the job; NULL: that of the job itself */
	bool (*is_name)(const char *base);
};

/* Is it a file of a job, by its path below the directory or in the archive? */
bool job_file_is_ours(const char *path);
/* The path of the first entry of a directory that does not belong to a job, freed by the caller;
 * NULL: none. */
char *job_files_foreign(int dirfd, const char *name);
