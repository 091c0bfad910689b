/*
 * What the files of watch*.c share. A finder keeps a table of the processes it has looked at, of
 * the job or not, and looks again only at what is new: Linux numbers processes upwards, so that the
 * last number given out (/proc/loadavg has it) tells which ones can have begun meanwhile. The end
 * of a process is told by its pidfd. Both are checked against a full listing every few seconds, and
 * where they cannot be had (recorded trees, foreign pid namespaces, old kernels) listings and stat
 * files do.
 */
#ifndef PL_JOBS_DISCOVERY_JOB_PROCESSES_INTERNAL_H
#define PL_JOBS_DISCOVERY_JOB_PROCESSES_INTERNAL_H

#include <dirent.h>
#include <sys/types.h>

#include "jobs/discovery/cgroup_mounts.h"
#include "jobs/discovery/job_processes.h"
#include "jobs/scheduler.h"

#define PROCS_MAX 4194304 /* the kernel's own limit of process numbers */

/* How the members of a job are told from others. */
enum job_processes_mode {
	MODE_UNDECIDED, /* of a batch job: nothing was found yet */
	MODE_TREE,      /* named processes and what they start */
	MODE_GROUP,     /* all in the control groups dirs[] */
	MODE_STEPD,     /* what Slurm's step daemons start */
	MODE_LIST,      /* those that scontrol lists, and what they start */
	MODE_ENVIRON,   /* a variable of their environment has the job's id */
	MODE_SESSION,   /* those of our session */
	MODE_USER,      /* those of our user */
};

enum verdict {
	VERDICT_NEW, /* to be judged */
	VERDICT_STRANGER,
	VERDICT_MEMBER,
	VERDICT_OURS, /* the monitor, what it started, its launcher, other monitors */
	VERDICT_ENDED,
};

struct job_processes_proc {
	int pid, ppid, pgrp, session;
	uint64_t starttime;
	uint64_t ino; /* of the directory /proc/PID: another number is another process */
	uint64_t ended_ns;
	uid_t uid;
	enum verdict verdict;
	int step;  /* place in steps[] of the step it belongs to; -1: none */
	int stepd; /* the same where it is the step's daemon */
	int rank, pidfd;
	bool zombie;
	bool asked; /* for more looks at it */
	bool inspected;
	bool kernel;       /* a thread of the kernel */
	bool maybe_thread; /* found by its number, which a thread may have */
	bool main;         /* the end of the job is told by it */
	bool awaits;       /* one of those that started a monitor */
	bool waiting;      /* of the job, but may be waiting for us: never main */
	bool hidden;       /* of the job, but not for the list */
	bool in_group;     /* a control group of the job listed it */
	bool has_id;       /* its environment has the job's id */
	uint32_t seen;     /* number of the update that last found it in a group */
	char comm[16];
};

/* A process to be looked at again: it was too young to show what it is. */
struct job_processes_again {
	int pid;
	uint64_t due_ns;
	uint8_t looks;
};

/* A directory of the job's groups whose members are read. */
struct job_processes_dir {
	char *path;
	int step;
	nlink_t links; /* when its subdirectories were last read */
	bool gone, top;
};

struct job_processes_step {
	char name[24]; /* "0", "batch", "extern" */
};

/* Steps whose processes are the job, best first. */
enum step_class { STEP_OTHER, STEP_BATCH, STEP_EXTERN, STEP_OWN, STEP_NONE };

/* A command whose output is read without a shell. */
struct job_processes_command {
	pid_t pid; /* 0: none runs */
	int fd;
	uint64_t deadline_ns;
	struct strbuf out;
};

struct job_processes_finder {
	char *root;
	enum job_processes_kind kind;
	enum job_processes_mode mode;
	bool all_users;
	uid_t uid;
	struct {
		int pid;
		uint64_t starttime;
	} * named;
	size_t named_count;

	/* /proc */
	DIR *proc;
	int procfd, loadavg, epoll; /* -1: not open */
	bool live;                  /* /proc is this machine's and this pid namespace's */
	bool counting;              /* new processes are told by their number */
	bool reread;                /* look at every process again */
	uint64_t reread_ns;
	int last_pid;
	uint64_t now_ns, scanned_ns, listed_ns;
	size_t pidfds, pidfds_max;
	size_t unpolled; /* members without a pidfd */
	uint32_t updates;
	struct job_processes_proc *procs; /* sorted by pid */
	size_t proc_count, proc_cap;
	struct job_processes_proc *batch;
	size_t batch_count, batch_cap;
	int *fresh; /* those to be judged */
	size_t fresh_count, fresh_cap;
	struct job_processes_again *again;
	size_t again_count, again_cap;
	struct job_processes_again *rankless; /* members whose environment may yet change */
	size_t rankless_count, rankless_cap;
	int *joined; /* members of this round */
	size_t joined_count, joined_cap;
	bool dirty, parents_ended;

	/* ourselves */
	int self, self_session; /* in this /proc; -1: not there */
	int *above;             /* our ancestors, nearest first */
	size_t above_count;
	char *launcher;

	/* the batch job */
	char *job, *only_step, *node;
	const struct scheduler *scheduler; /* NULL: any of them */
	bool inside;                       /* we run in the job */
	bool ever_main;
	uint64_t
		quiet_ns; /* since when none of the main ones runs; 0: one does, or none ever did */
	struct job_processes_step *steps;
	size_t step_count, step_cap;
	int own_step;
	enum step_class step_class;
	struct job_processes_command scontrol;
	uint64_t scontrol_ns; /* when it last began */
	bool scontrol_missing;
	struct {
		int pid, step;
	} * listed; /* by scontrol */
	size_t listed_count, listed_cap;

	/* control groups */
	struct mounts mounts;
	struct job_processes_dir *dirs;
	size_t dir_count, dir_cap;
	uint64_t groups_ns; /* when w->groups was last asked for */
};

/* ---- job_processes_table.c and job_processes_scan.c: the table
 * ---------------------------------------------------------------- */

int procs_open(struct job_processes_finder *f, struct strbuf *why);
void procs_close(struct job_processes_finder *f);
struct job_processes_proc *procs_find(const struct job_processes_finder *f, int pid);
/* Reads what /proc says of a process; the rest of *ret is as of one never seen. */
int procs_look(const struct job_processes_finder *f, int pid, struct job_processes_proc *ret);
/* The process of this id, looked at when it is new; NULL when there is none. Moves others. */
struct job_processes_proc *procs_add(struct job_processes_finder *f, int pid);
/* Looks for processes that began; those to be judged are in fresh[]. 0 or a negative errno. */
int procs_scan(struct job_processes_finder *f);
/* Only those whose time for another look has come. */
void procs_retry(struct job_processes_finder *f);
/* Notes which members ended. */
void procs_reap(struct job_processes_finder *f);
/* Asks the kernel to tell the end of a member. */
void procs_poll(struct job_processes_finder *f, struct job_processes_proc *p);
void procs_unpoll(struct job_processes_finder *f, struct job_processes_proc *p);
void procs_end(struct job_processes_finder *f, struct job_processes_proc *p);
void procs_fresh(struct job_processes_finder *f, struct job_processes_proc *p);
/* Looks at a process for the next merge. numbered: found by its number, so it may be a thread. */
int procs_collect(struct job_processes_finder *f, int pid, bool numbered);
/* Takes what was collected into the table. */
void procs_merge(struct job_processes_finder *f);
/* A few more looks, within seconds, at a process that does not belong as far as one sees. */
void procs_again(struct job_processes_finder *f, int pid);
/* Is this the number of a thread that is not the first of its process? */
bool procs_is_thread(const struct job_processes_finder *f, int pid);
/* A file of a process, bounded. */
int procs_read(const struct job_processes_finder *f, int pid, const char *file, size_t max,
	       struct strbuf *out);

/* ---- job_processes_member.c: who belongs
 * ---------------------------------------------------------------
 */

/* Judges those in fresh[]. */
void members_judge(struct job_processes_finder *f);
/* Finds out again what part a member has in the job, when those in fresh[] are judged. */
void members_place(struct job_processes_finder *f, const struct job_processes_proc *p);
/* Judges all strangers again, for something new is known. */
void members_reconsider(struct job_processes_finder *f);
/* Asks for the ranks of those that had none when they began. */
void members_ranks(struct job_processes_finder *f);

/* ---- own_processes.c: ourselves, launchers, environments
 * -------------------------------------------
 */

void self_find(struct job_processes_finder *f);
bool self_is_above(const struct job_processes_finder *f, int pid);
bool name_is_shell(const char *comm);
bool name_is_launcher(const char *comm);
/* Launchers that only wait for what runs elsewhere. */
bool name_is_remote_launcher(const char *comm);
/* Daemons of batch systems, and sshd. */
bool name_is_daemon(const char *comm);
/* Another monitor like us, or a launcher that was told to start one. */
bool self_is_monitor(const struct job_processes_finder *f, const struct job_processes_proc *p);
/* Value of a variable in the text of /proc/PID/environ. */
bool environ_find(const struct strbuf *text, const char *name, const char **ret, size_t *ret_size);
/* A whole number in it; false when there is none. */
bool environ_number(const struct strbuf *text, const char *name, int64_t *ret);
int environ_rank(const struct strbuf *text);
/* Does the environment name the job? */
bool environ_has_job(const struct job_processes_finder *f, const struct strbuf *text);

/* ---- job_processes_cgroup.c: control groups
 * -----------------------------------------------------------
 */

void groups_close(struct job_processes_finder *f);
/* The named group; -ENOENT when there is none. */
int groups_named(struct job_processes_finder *f, struct job_processes *w, const char *path,
		 struct strbuf *why);
/* Finds the groups of the batch job; true when some are there and, where we run in it, hold us. */
bool groups_of_job(struct job_processes_finder *f);
/* Reads who is in dirs[] now. */
void groups_scan(struct job_processes_finder *f);
/* Fills w->groups from a process of the job. */
void groups_fill(struct job_processes_finder *f, struct job_processes *w);

/* ---- job_processes_batch.c: jobs of batch systems
 * -------------------------------------------------------
 */

int batch_find(struct job_processes_finder *f, const struct job_processes_options *o,
	       struct strbuf *why);
/* Decides how the job is found, as soon as something of it can be. */
void batch_decide(struct job_processes_finder *f);
int batch_step(struct job_processes_finder *f, const char *name, size_t n);
enum step_class batch_step_class(const struct job_processes_finder *f, int step);
bool batch_is_batch_like(const struct job_processes_finder *f, int step);
/* Is this the daemon of a step of the job? Its step, -1 when it is not. */
int batch_stepd(struct job_processes_finder *f, const struct job_processes_proc *p);
/* Chooses the steps whose processes are listed. */
void batch_choose(struct job_processes_finder *f);
const char *batch_title(const struct job_processes_finder *f);
/* Notes whose job it is, unless that is known. */
void batch_is_of(struct job_processes_finder *f, const char *scheduler);
const char *batch_getenv(const char *name);

/* ---- job_processes_scontrol.c: what Slurm itself says
 * ---------------------------------------------------
 */

/* Starts scontrol when it is time, takes in its answer; waits for it when told to. */
void scontrol_update(struct job_processes_finder *f, bool wait);
void scontrol_close(struct job_processes_finder *f);
/* Reads its table of processes. */
void scontrol_parse(struct job_processes_finder *f, const char *text);

#endif
