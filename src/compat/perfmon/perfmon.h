/* Shared by the files of the personality `perfmon`. */
#pragma once

#include "cmd/command.h"
#include "compat/perfmon/perfmon_files.h"
#include "monitor/monitor.h"

/* The command line; NULL: the option was not given, or had no value. */
struct perfmon {
	const char *save_dir, *prefix, *launcher;
	const char *system, *partition, *env, *name;
	uint64_t interval_s, checkpoint_s;
	bool report, exports, verbose;
	bool formats[6]; /* bits of the exports, in the order of perfmon_formats */
};

/* The formats of perfmon; ends with NULL. */
extern const char *const perfmon_formats[];

/* From now on messages are appended to a file in perfmon's format; errors also go to stderr. The
 * descriptor stays open. */
void perfmon_log_to(int fd, const char *host);

/* Monitors the job; returns the exit status. */
int perfmon_monitor(struct context *ctx, const struct perfmon *p);

/* Writes the four files of metrics/ below a directory from the samples of all hosts of a job;
 * given: what else is known. Logs what could not be read. 0 or a negative errno, -ENODATA if
 * nothing was sampled. */
int perfmon_layout(const struct monitor_finish *f, const struct perfmon_input *given, int dirfd,
		   size_t *ret_hosts);

/* Draws plots/ and job-report-<id>.pdf below dir from the job's directory. Logs errors; 0 or a
 * negative errno. */
int perfmon_report(struct context *ctx, const char *job_dir, const char *dir, const char *id);

/* Writes the tables of metrics/, which is below the open directory data, to dir. Logs errors; 0 or
 * a negative errno. */
int perfmon_export(const struct perfmon *p, int data, const char *dir, const char *id);

/* A path with $NAME, ${NAME} and a leading ~ expanded; unset variables stay as they are. Freed by
 * the caller. */
char *perfmon_expand(const char *path);

/* ---- .ipc-<job id> -------------------------------------------------------------------------- */

/* Creates the file with the word INPROGRESS unless it exists. A file that said FINISHED before this
 * process started belongs to an earlier run and is reset. 0 or a negative errno. */
int perfmon_ipc_begin(const char *path);
/* Removes it if it is such a file. */
void perfmon_ipc_end(const char *path);

/* ---- configs/<host>_run_config.yml ---------------------------------------------------------- */

/* One level of mappings and lists as YAML. */
void perfmon_yaml(const struct value *dict, struct strbuf *out);
