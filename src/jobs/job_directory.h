/*
 * The directory of a job. Natively
 *
 *     <prefix>/<job id>/job.json                          the job: who, when, environment, tags
 *                       <host>.<boot>/<run>.rec           records of one run on one host
 *                       <host>.<boot>/<run>.json          the run: command, times, books
 *                       <host>.<boot>/<run>.smp           samples of one host
 *                       samples.smp                       of several hosts, put together
 *                       <host>.rec                        of a host where no command of ours ran
 *
 * and otherwise where its layout says.
 *
 * Record files are written by one host, on a local disk: for a job directory on a network
 * filesystem they lie in the local prefix until jobdir_collect() moves them.
 */
#ifndef PL_JOBS_JOB_DIRECTORY_H
#define PL_JOBS_JOB_DIRECTORY_H

#include "core/config.h"
#include "core/value.h"
#include "jobs/job_layout.h"
#include "records/accounting.h"

struct jobdir {
	const struct job_layout *layout;
	char *id;
	char *path;  /* absolute */
	int fd;      /* the directory */
	int records; /* where runs are kept: fd itself, or a directory below it */
	char *local; /* directory for record files when the job is on a network filesystem */
};
#define JOBDIR_INIT                                                   \
	{                                                             \
		.layout = &job_layout_native, .fd = -1, .records = -1 \
	}

void jobdir_release(struct jobdir *j);
#define _cleanup_jobdir_ _cleanup_(jobdir_release)

/* The directory of job id below the configured prefix. -ENOENT when it is not there and not to be
 * made. */
int jobdir_open(struct jobdir *j, const struct config *c, const struct job_layout *layout,
		const char *id, bool create, struct strbuf *why);
/* The directory that the directories of jobs are made in. */
int jobdir_open_prefix(const struct config *c, const struct job_layout *layout, bool create,
		       struct strbuf *why);
/* Where a job of this id lies by this configuration, recorded or staged: a path; NULL: nowhere.
 * Freed by the caller. */
char *jobdir_find(const struct config *c, const char *id);
/* A directory that somebody named; its metadata tell layout and id. id: for a new one. */
int jobdir_open_path(struct jobdir *j, const struct config *c, const char *path, const char *id,
		     bool create, struct strbuf *why);

/* ---- metadata ------------------------------------------------------------------------------- */

/* The job's metadata as they are stored. -ENOENT when there are none. */
int jobdir_read_meta(const struct jobdir *j, struct value **ret, bool *ret_stopped,
		     struct strbuf *why);
/* Replaces them. stopped: a layout may have another name for those of a job that runs. */
int jobdir_write_meta(const struct jobdir *j, const struct value *meta, bool stopped);
/* Are there any? */
bool jobdir_has_meta(const struct jobdir *j);
/* Is the directory that of a job that was stopped, in any layout? */
bool jobdir_is_stopped(int dir);
/* Writes them unless there are some: -EEXIST. Of two that try at once one succeeds. */
int jobdir_create_meta(const struct jobdir *j, const struct value *meta);

/* Waits for other commands of ours to be done with the metadata; give back with close(). */
int jobdir_lock(const struct jobdir *j);
/*
 * The same for whoever makes a file in the directory: what `submit --remove` or `stage` look at
 * while they hold the lock is all there is, and they remove no more. Waits a second at most, and
 * then goes on without. -ESTALE: the directory was removed meanwhile; open the job again. Give back
 * what is not negative with close().
 */
int jobdir_hold(const struct jobdir *j);
/* Removes the directory at a path with all that is in it; the lock must be held. It has another
 * name first: a run that begins meanwhile makes the job's directory anew, and none joins half of
 * one. */
int jobdir_remove(const char *path);
/* Removes a directory that has nothing but the lock's file. */
void jobdir_remove_empty(const struct jobdir *j);

/* ---- runs ----------------------------------------------------------------------------------- */

struct runfile {
	char *run;  /* its name */
	char *path; /* of the record file */
	int fd;     /* record file, O_APPEND */
	int dir;    /* <host>.<boot>/ in the job directory */
};
#define RUNFILE_INIT                \
	{                           \
		.fd = -1, .dir = -1 \
	}
void runfile_release(struct runfile *r);

/* The device of /proc and the number of the pid namespace that this process is in. */
bool own_pid_namespace(uint64_t *ret_device, uint64_t *ret_number);
/* Makes a record file of its own for this process, with SCHEMA and HOST in it. */
int runfile_create(struct runfile *r, const struct jobdir *j, struct strbuf *why);
/* The facts about a run, next to its records. */
int runfile_write_facts(const struct runfile *r, const struct value *facts);

/* Until we end, systemd-tmpfiles does not take what is old in it for forgotten: a long job in /tmp
 * may write nothing for days. One run of a job does that for all. */
void jobdir_keep(const struct jobdir *j);

/* Moves record and sample files that lie on this host's local disk into the job directory; the
 * second unless somebody still writes to them: whoever is last does it then. */
int jobdir_collect(const struct jobdir *j, struct strbuf *why);
int jobdir_collect_ended(const struct jobdir *j, struct strbuf *why);
/* Adds every record file of the job to the books. */
int jobdir_add_records(const struct jobdir *j, struct accounting *b, struct strbuf *why);
/* Calls back for every sample file, those at the top first; fd is the visitor's. Goes on until one
 * returns something else than 0, and returns that. JOBDIR_RECORDS: of those in records, which their
 * names are relative to; JOBDIR_ALL: also beside the job's other files and on this host's disk.
 * why may be NULL. */
enum jobdir_part { JOBDIR_RECORDS, JOBDIR_ALL };
typedef int (*jobdir_visitor)(void *user, int fd, const char *name);
int jobdir_visit_samples(const struct jobdir *j, enum jobdir_part part, jobdir_visitor visit,
			 void *user, struct strbuf *why);
/* The facts of all runs, as a list of dicts. */
struct value *jobdir_runs(const struct jobdir *j);
/* The exit code of a job from its runs: that of the first that failed; 0: none failed; -1: one was
 * killed, and nobody knows how it would have ended. */
int runs_exitcode(const struct value *runs);
/* A run or monitor by what it wrote down: is it at work on this host still? Has it ended, as far as
 * can be known? Of one on another host that did not write its end neither is true. */
bool run_is_alive(const struct value *facts);
bool run_is_over(const struct value *facts);
/*
 * Processes of the job that are being recorded on this host, and commands of ours that record it:
 * how many there are, and *names some of them (may be NULL). What takes the directory away would
 * take it from those. callers: those that called this process count, too, though they wait for it.
 */
size_t jobdir_running(const struct jobdir *j, bool callers, struct strbuf *names);
/* The files that processes write to; it has changed when one of them wrote. */
struct jobdir_weight {
	uint64_t bytes, files;
};
struct jobdir_weight jobdir_weigh(const struct jobdir *j);
/* Is there something recorded, all of it by runs that are over, with nothing that runs on? */
bool jobdir_all_ended(const struct jobdir *j);
/* When a run last wrote something, us since 1970; 0 when nothing is there. */
int64_t jobdir_last_written_us(const struct jobdir *j);

/* ---- the job that commands without a job id mean -------------------------------------------- */

/* Outside of a batch system `start` leaves the id for the commands of the same session; `source`
 * does as long as the shell is there that it was called by. */
int current_job_set(const struct config *c, const char *id, bool of_shell);
void current_job_clear(const struct config *c);
/* NULL when there is none; freed by the caller. */
char *current_job_get(const struct config *c);
/* The last job that was run or stopped, anywhere, for commands that look at it; and that of this
 * session, for those that do something with it. As above. */
int last_job_set(const struct config *c, const char *path);
char *last_job_get(const struct config *c);
char *session_job_get(const struct config *c);

/* Name, boot id (8 characters) of this host. */
void this_host(char *name, size_t name_size, char boot[9]);

#endif
