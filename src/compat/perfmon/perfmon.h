/* Shared by the files of the name `perfmon`. */
#pragma once

#include "cmd/command.h"
#include "compat/perfmon/perfmon_files.h"
#include "monitor/monitor.h"

/* What was on the command line; NULL where an option was not there or had no value. */
struct perfmon {
	const char *save_dir, *prefix, *launcher;
	const char *system, *partition, *env, *name;
	uint64_t interval_s, checkpoint_s;
	bool report, exports, verbose;
	bool formats[6]; /* of exports, as perfmon_formats */
};

/* The formats that perfmon knows; ends with NULL. */
extern const char *const perfmon_formats[];

/* Messages are appended to a file in perfmon's form from here on, errors are on stderr, too. The
 * descriptor is kept. */
void perfmon_log_to(int fd, const char *host);

/* Monitors as asked; the exit status. */
int perfmon_monitor(struct context *ctx, const struct perfmon *p);

/* Writes the four files of metrics/ below a directory from what all hosts of a job sampled; given:
 * what is known besides. Says what could not be read. 0 or a negative errno, -ENODATA when nothing
 * was sampled. */
int perfmon_layout(const struct monitor_finish *f, const struct perfmon_input *given, int dirfd,
		   size_t *ret_hosts);

/* Draws plots/ and job-report-<id>.pdf below dir from the job's directory. Says what went wrong; 0
 * or a negative errno. */
int perfmon_report(struct context *ctx, const char *job_dir, const char *dir, const char *id);

/* Writes the tables of metrics/, which is below the open directory data, to dir. Says what went
 * wrong; 0 or a negative errno. */
int perfmon_export(const struct perfmon *p, int data, const char *dir, const char *id);

/* A path with $NAME, ${NAME} and a leading ~ filled in; names of nothing stay as they are. Freed by
 * the caller. */
char *perfmon_expand(const char *path);

/* ---- .ipc-<job id> -------------------------------------------------------------------------- */

/* Makes the file with the word INPROGRESS unless it is there. One that says FINISHED since before
 * this process was started is of an earlier run, and begins anew. 0 or a negative errno. */
int perfmon_ipc_begin(const char *path);
/* Removes it, when it is such a file. */
void perfmon_ipc_end(const char *path);

/* ---- configs/<host>_run_config.yml ---------------------------------------------------------- */

/* One level of mappings and lists as YAML. */
void perfmon_yaml(const struct value *dict, struct strbuf *out);
