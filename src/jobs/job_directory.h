/*
 * The directory of a job. Natively
 *
 *     <prefix>/<job id>/job.json                          the job: who, when, environment, tags
 *                       <host>.<boot>/<run>.rec           records of one run on one host
 *                       <host>.<boot>/<run>.json          the run: command, times, accounting
 *                       <host>.<boot>/<run>.smp           samples of one host
 *                       <host>.<boot>/<process>.mark      marks of one process
 *                       samples.smp                       samples of several hosts, merged
 *                       <host>.rec                        records of a host without `run`
 *
 * or wherever its layout says.
 *
 * Each host writes record files on a local disk: for a job directory on a network filesystem they
 * are below the local prefix until job_directory_collect() moves them.
 */
#pragma once

#include "core/config.h"
#include "core/value.h"
#include "jobs/job_layout.h"
#include "records/accounting.h"

struct job_directory {
	const struct job_layout *layout;
	char *id;
	char *path;  /* absolute */
	int fd;      /* the directory */
	int records; /* directory of the runs: fd itself, or one below it */
	char *local; /* directory for record files when the job is on a network filesystem */
};
#define JOB_DIRECTORY_INIT                                            \
	{                                                             \
		.layout = &job_layout_native, .fd = -1, .records = -1 \
	}

void job_directory_release(struct job_directory *j);
#define _cleanup_job_directory_ _cleanup_(job_directory_release)

/* Opens the directory of a job below the configured prefix. -ENOENT: it does not exist, and create
 * is false. */
int job_directory_open(struct job_directory *j, const struct config *c,
		       const struct job_layout *layout, const char *id, bool create,
		       struct strbuf *why);
/* Opens the directory that contains the directories of jobs. */
int job_directory_open_prefix(const struct config *c, const struct job_layout *layout, bool create,
			      struct strbuf *why);
/* The path of a job with this id, recorded or staged, by this configuration; NULL: none. Freed by
 * the caller. */
char *job_directory_find(const struct config *c, const char *id);
/* Opens a directory that the user named; its metadata have layout and id. id: for a new one. */
int job_directory_open_path(struct job_directory *j, const struct config *c, const char *path,
			    const char *id, bool create, struct strbuf *why);

/* ---- metadata ------------------------------------------------------------------------------- */

/* Reads the metadata of the job. -ENOENT: there are none. */
int job_directory_read_meta(const struct job_directory *j, struct value **ret, bool *ret_stopped,
			    struct strbuf *why);
/* Replaces them. stopped: the job has ended; a layout may use another file name until then. */
int job_directory_write_meta(const struct job_directory *j, const struct value *meta, bool stopped);
/* Are there any? */
bool job_directory_has_meta(const struct job_directory *j);
/* Is this the directory of a stopped job, in any layout? */
bool job_directory_is_stopped(int dir);
/* Writes them unless there are some already: -EEXIST. Of two concurrent calls one succeeds. */
int job_directory_create_meta(const struct job_directory *j, const struct value *meta);

/* Locks the metadata against our other commands; unlock with close(). */
int job_directory_lock(const struct job_directory *j);
/*
 * The same for creating a file in the directory: `submit --remove` and `stage` remove only what
 * they saw while they held the lock. Waits up to a second, then continues without the lock.
 * -ESTALE: the directory was removed meanwhile; open the job again. Unlock with close().
 */
int job_directory_hold(const struct job_directory *j);
/* Waits up to a second for a lock for reading, so that the files of a run and of its job belong
 * together. Creates no lock file: negative if there is none. Unlock with close(). */
int job_directory_lock_shared(const struct job_directory *j);
/* Does the path still lead to this directory? */
bool job_directory_is_there(const struct job_directory *j);
/* Removes a directory with its content; the lock must be held. It is renamed first, so that a run
 * that starts meanwhile creates a new directory instead of joining half of the old one. */
int job_directory_remove(const char *path);
/* Removes a directory that contains only the lock file. */
void job_directory_remove_empty(const struct job_directory *j);

/* ---- runs ----------------------------------------------------------------------------------- */

struct run_file {
	char *run;  /* its name */
	char *path; /* of the record file */
	int fd;     /* record file, O_APPEND */
	int dir;    /* <host>.<boot>/ in the job directory */
};
#define RUN_FILE_INIT               \
	{                           \
		.fd = -1, .dir = -1 \
	}
void run_file_release(struct run_file *r);

/* The device of /proc and the number of the pid namespace that this process is in. */
bool own_pid_namespace(uint64_t *ret_device, uint64_t *ret_number);
/* Creates a file for this process: ".rec" for records, starting with SCHEMA and HOST, or ".smp" for
 * samples. host: the name of this host in the job; NULL: its own. */
int run_file_make(struct run_file *r, const struct job_directory *j, const char *host,
		  const char *suffix, struct strbuf *why);
/* Writes the metadata of a run next to its records. */
int run_file_write_metadata(const struct run_file *r, const struct value *metadata);

/* Protects the directory from systemd-tmpfiles until we end: a long job in /tmp may write nothing
 * for days. One run of a job does this for all. */
void job_directory_keep(const struct job_directory *j);

/* Moves the files of records, samples and marks from this host's local disk to the job directory;
 * _ended: only if no process writes to them any more. */
int job_directory_collect(const struct job_directory *j, struct strbuf *why);
int job_directory_collect_ended(const struct job_directory *j, struct strbuf *why);
/* Adds every record file of the job to the accounting. */
int job_directory_add_records(const struct job_directory *j, struct accounting *b,
			      struct strbuf *why);
/* Calls back for every sample file, those at the top first; the visitor owns fd. Stops when a call
 * returns something other than 0, and returns that. JOB_DIRECTORY_RECORDS: those below records, by
 * names relative to it; JOB_DIRECTORY_ALL: also those beside the job's other files and on this
 * host's disk. why may be NULL. */
enum job_directory_part { JOB_DIRECTORY_RECORDS, JOB_DIRECTORY_ALL };
typedef int (*job_directory_visitor)(void *user, int fd, const char *name);
int job_directory_visit_samples(const struct job_directory *j, enum job_directory_part part,
				job_directory_visitor visit, void *user, struct strbuf *why);
/* The same for every file with marks. */
int job_directory_visit_marks(const struct job_directory *j, job_directory_visitor visit,
			      void *user, struct strbuf *why);
/* Reads the metadata of all runs, as a list of dicts. */
struct value *job_directory_runs(const struct job_directory *j);
/* The exit code of a job: that of the first run that failed; 0: none failed; -1: a run was killed,
 * so its exit code is unknown. */
int runs_exitcode(const struct value *runs);
/* Is a run or monitor with these metadata still active on this host? Has it ended? Neither is true
 * for one on another host that did not record its end. */
bool run_is_alive(const struct value *metadata);
bool run_is_over(const struct value *metadata);
/*
 * Counts processes of the job that are being recorded on this host, and our commands that record
 * it; *names (may be NULL) gets some of them. They still need the directory. callers: count the
 * ancestors of this process too, although they wait for it.
 */
size_t job_directory_running(const struct job_directory *j, bool callers, struct strbuf *names);
/* Size and number of the files that processes write to, and the last change of metadata; differs
 * when one was written. */
struct job_directory_weight {
	uint64_t bytes, files;
	int64_t changed_ns;
};
bool job_directory_weight_differs(const struct job_directory_weight *a,
				  const struct job_directory_weight *b);
struct job_directory_weight job_directory_weigh(const struct job_directory *j);
/* Are there records, all by runs that have ended, and is no process still running? */
bool job_directory_all_ended(const struct job_directory *j);
/* When a run last wrote something, us since 1970; 0: never. */
int64_t job_directory_last_written_us(const struct job_directory *j);

/* ---- the job for commands without a job id -------------------------------------------- */

/* Outside a batch system `start` stores the id for later commands of the session; `source` for as
 * long as the calling shell exists. */
int current_job_set(const struct config *c, const char *id, bool of_shell);
void current_job_clear(const struct config *c);
/* NULL: none; freed by the caller. */
char *current_job_get(const struct config *c);
/* The last job that was run or stopped anywhere, for commands that show it; and the last of this
 * session, for commands that change it. As above. */
int last_job_set(const struct config *c, const char *path);
char *last_job_get(const struct config *c);
char *session_job_get(const struct config *c);

/* Name and boot id (8 characters) of this host. */
void this_host(char *name, size_t name_size, char boot[9]);
