/* The conversion that the child of hdf5_jobs() runs. Private to hdf5_file.c and hdf5_jobs.c. */
#pragma once

#include "tables/hdf5/hdf5_file.h"

/* Writes one job after the other to fd, which is truncated first, and calls send for each; a
 * negative result ends it. */
typedef int (*hdf5_job_sender)(void *user, const char *job, const char *warnings);
int hdf5_jobs_write(const char *path, int fd, hdf5_job_sender send, void *user, struct strbuf *why);
