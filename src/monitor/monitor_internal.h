/* Shared by the files of `plimsoll monitor`; see monitor.c. */
#pragma once

#include "context/current_job.h"
#include "jobs/sample_files.h"
#include "monitor/monitor.h"
#include "sampler/sidecar.h"

struct monitoring {
	int64_t ended_us; /* when the job or sampling ended; 0: not yet */
	struct context *ctx;
	const struct monitor_options *o;
	struct job_hosts peers;
	struct job_directory job;
	enum job_origin origin;
	struct run_file file;
	struct value *metadata; /* of this run */
	struct job_processes watch;
	bool watching;
	bool began; /* the job is ours: nobody else stores its directory */
	struct sample_file_head head;
	struct sidecar sidecar;
	int status; /* exit status of the command; -1: there is none */
};

void monitor_sleep(uint64_t ns);
/* Writes what is known when sampling has ended; takes sampling, which may be NULL. The first host
 * writes its end after that of the others: nobody removes the directory while a run on this host
 * has not ended. */
int monitor_keep_result(struct monitoring *m, struct value *sampling);
/* On the first host: waits for the others, reports those that are missing, merges the samples and
 * stores the job. */
int monitor_merge_hosts(struct monitoring *m);
