/*
 * Imports perfmon's results, metrics/{meta_data,cpu_metrics,perf_metrics,nv_gpu_metrics}.json, as
 * metadata and a sample file. Arrays are read host by host, so memory holds those of one host.
 * docs/store.md lists the names.
 */
#pragma once

#include "store/import/sample_importer.h"

/* See struct sample_importer; the directory is "metrics". */
int perfmon_open(const char *path, char **ret_id);
int perfmon_read(int dir, const char *id, int fd, struct sampled_job *ret, struct strbuf *why);
