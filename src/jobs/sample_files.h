/*
 * Sample files in a job directory: <host>.<boot>/<run>.smp while a host samples, with the facts of
 * its sampling in <run>.json beside it; samples.smp with those of all hosts once one of them has
 * put them together.
 */
#ifndef PL_JOBS_SAMPLE_FILES_H
#define PL_JOBS_SAMPLE_FILES_H

#include "jobs/job_directory.h"
#include "jobs/job_hosts.h"
#include "samples/sample_file.h"

#define SAMPLE_FILES_SUFFIX ".smp"
#define SAMPLE_FILES_MERGED "samples.smp"

/* Makes a sample file for this process; the host goes by the name given. */
int sample_files_create(struct runfile *r, const struct jobdir *j, const char *host,
			struct strbuf *why);

/* How the file of a run begins, now; the texts are the caller's, to be freed with
 * sample_file_head_release(). */
struct sample_file_head sample_files_head(const struct jobdir *j, const struct runfile *r,
					  const char *host, uint64_t period_ns);

/* Hosts whose sampling has ended, by their facts; those that have not go to *missing, one blank
 * between names. The number of those that have. */
size_t sample_files_ended(const struct jobdir *j, const struct job_hosts *p,
			  struct strbuf *missing);
/* Puts the files of all hosts that have ended into samples.smp and removes them; those of others
 * stay beside it. The number of files, or a negative errno; nothing is lost then. */
int sample_files_merge(const struct jobdir *j, struct strbuf *why);

#endif
