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

/* One host of the job; everything is the caller's. */
struct perfmon_host {
	const char *name;
	const char *const *files; /* its sample files, in the order in which they began */
	size_t file_count;
	const struct value *hardware; /* a dict; NULL when it is not known */
};

struct perfmon_input {
	int dir; /* that the names of sample files begin at */
	const struct perfmon_host *hosts;
	size_t host_count;
	uint64_t period_s;
	const char *job, *user;
	const char *system, *partition, *env, *name; /* as given; NULL: not */
};

/*
 * Writes them below dirfd, each whole or not at all. What could not be read, and what a file has
 * lost, is added to *why, one line each, also when the result is 0; the rest is written. Negative
 * errno when a file could not be written; -ENODATA, and nothing written, when no host had any.
 */
int perfmon_write(const struct perfmon_input *in, int dirfd, struct strbuf *why);
