/*
 * What perfmon left of a job, metrics/{meta_data,cpu_metrics,perf_metrics,nv_gpu_metrics}.json, as
 * metadata in our form and a sample file. Arrays are read one host at a time, so memory is what one
 * host has. docs/store.md says which names become ours.
 */
#pragma once

#include "store/import/sample_importer.h"

/* As struct sample_importer says; the directory below is "metrics". */
int perfmon_open(const char *path, char **ret_id);
int perfmon_read(int dir, const char *id, int fd, struct sampled_job *ret, struct strbuf *why);
