/*
 * Sample files in a job directory: <host>.<boot>/<run>.smp while a host samples, with metadata in
 * <run>.json beside it; samples.smp after one host has merged the files of all.
 */
#pragma once

#include "jobs/job_directory.h"
#include "jobs/job_hosts.h"
#include "samples/sample_file.h"

#define SAMPLE_FILES_SUFFIX ".smp"
#define SAMPLE_FILES_MERGED "samples.smp"

/* The head of the file of a run that starts now; freed with sample_file_head_release(). */
struct sample_file_head sample_files_head(const struct job_directory *j, const struct run_file *r,
					  const char *host, uint64_t period_ns);

/* Counts the hosts whose sampling has ended, by their metadata; own is the run of the caller, which
 * has. *missing gets the names of the others, separated by blanks. */
size_t sample_files_ended(const struct job_directory *j, const struct job_hosts *p, const char *own,
			  struct strbuf *missing);
/* Merges the files of all hosts that have ended into samples.smp and removes them; those of other
 * hosts stay. Returns the number of files, or a negative errno; nothing is lost then. */
int sample_files_merge(const struct job_directory *j, struct strbuf *why);
