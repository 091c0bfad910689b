/* The two halves of hdf5_jobs(): what the child reads, and how it tells. Private to these.
 */
#ifndef PL_TABLES_HDF5_HDF5_JOBS_H
#define PL_TABLES_HDF5_HDF5_JOBS_H

#include "tables/hdf5/hdf5_file.h"

/* Writes each job to fd, which is emptied for it, and calls tell; stops at a negative result. */
typedef int (*hdf5_job_teller)(void *user, const char *job, const char *warnings);
int hdf5_jobs_write(const char *path, int fd, hdf5_job_teller tell, void *user, struct strbuf *why);

#endif
