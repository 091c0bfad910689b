/*
 * The four JSON files that perfmon leaves of a job, made from the sample files of its hosts:
 *
 *     metrics/{meta_data,cpu_metrics,perf_metrics,nv_gpu_metrics}.json
 *
 * Arrays are as long as time_stamps; a value that is not known is null. docs/perfmon.md says what
 * is in them and where they differ from perfmon's.
 */
#pragma once

#include "core/value.h"

/* One host of the job; the caller owns everything. */
struct perfmon_host {
	const char *name;
	const char *const *files; /* its sample files, in the order in which they began */
	size_t file_count;
	const struct value *hardware; /* a dict; NULL: unknown */
};

struct perfmon_input {
	int dir; /* to which the names of sample files are relative */
	const struct perfmon_host *hosts;
	size_t host_count;
	uint64_t period_s;
	const char *job, *user;
	const char *system, *partition, *env, *name; /* as given; NULL: not given */
};

/*
 * Writes them below dirfd, each complete or not at all. What could not be read, and what a file has
 * lost, is added to *why, one line each, even if the result is 0; the rest is written. A negative
 * errno if a file could not be written; -ENODATA, and nothing is written, if no host has samples.
 */
int perfmon_write(const struct perfmon_input *in, int dirfd, struct strbuf *why);
