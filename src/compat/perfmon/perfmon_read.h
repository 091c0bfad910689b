/*
 * What perfmon left of a job, metrics/{meta_data,cpu_metrics,perf_metrics,nv_gpu_metrics}.json, as
 * metadata in our form and a sample file. Arrays are read one host at a time, so memory is what one
 * host has. docs/store.md says which names become ours.
 */
#ifndef PL_COMPAT_PERFMON_PERFMON_READ_H
#define PL_COMPAT_PERFMON_PERFMON_READ_H

#include "core/value.h"

/* The directory with the files: path itself or "metrics" below it. -ENOENT when neither has any.
 * *ret_id: what the job may be called by its directory; freed by the caller. */
int perfmon_open(const char *path, char **ret_id);

struct perfmon_result {
	struct value *meta;     /* as job.json has it */
	struct value *warnings; /* a list of texts */
};
void perfmon_result_release(struct perfmon_result *r);

/* Writes samples to fd, which must be empty. Negative errno with the file, the line and what is
 * wrong in *why when a file is no JSON. */
int perfmon_read(int dir, const char *id, int fd, struct perfmon_result *ret, struct strbuf *why);

#endif
