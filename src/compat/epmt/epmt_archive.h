/* EPMT's archives of jobs. */
#ifndef PL_COMPAT_EPMT_EPMT_ARCHIVE_H
#define PL_COMPAT_EPMT_EPMT_ARCHIVE_H

#include "jobs/job_layout.h"

int epmt_pack(struct job_archive *a);

#endif
