/*
 * Shared by the files job_processes*.c. A finder keeps a table of all processes it has seen, in the
 * job or not, and looks only at new ones: pids are assigned in ascending order, so the last one
 * assigned (in /proc/loadavg) shows which pids can be new. A pidfd reports the end of a process.
 * Every few seconds both are checked against a full listing of /proc; recorded trees, other pid
 * namespaces and old kernels use listings and stat files only.
 */
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include "core/system/process_table.h"
#include "jobs/discovery/cgroup_mounts.h"
#include "jobs/discovery/job_processes.h"
#include "jobs/scheduler.h"

#define PROCS_MAX 4194304 /* the kernel's own limit of process numbers */

/* How the processes of the job are recognised. */
enum job_processes_mode {
	MODE_UNDECIDED, /* batch job of which nothing was found yet */
	MODE_TREE,      /* named processes and their descendants */
	MODE_GROUP,     /* all in the control groups dirs[] */
	MODE_STEPD,     /* descendants of Slurm's step daemons */
	MODE_LIST,      /* processes that scontrol lists, and their descendants */
	MODE_ENVIRON,   /* their environment contains the job id */
	MODE_SESSION,   /* processes of our session */
	MODE_USER,      /* processes of our user */
};

enum verdict {
	VERDICT_NEW, /* not yet classified */
	VERDICT_STRANGER,
	VERDICT_MEMBER,
	VERDICT_OURS, /* this monitor, its children and launcher, other monitors */
	VERDICT_ENDED,
};

struct job_processes_proc {
	int pid, ppid, pgrp, session;
	uint64_t starttime;
	uint64_t ino; /* of /proc/PID: another inode is another process */
	uint64_t ended_ns;
	uid_t uid;
	enum verdict verdict;
	int step;  /* index in steps[] of its step; -1: none */
	int stepd; /* the same if it is the daemon of a step */
	int rank, pidfd;
	bool zombie;
	bool asked; /* it is queued for another look */
	bool inspected;
	bool kernel;       /* a thread of the kernel */
	bool maybe_thread; /* found by its pid, which may be that of a thread */
	bool main;         /* the job ends with it */
	bool awaits;       /* an ancestor of a monitor */
	bool waiting;      /* of the job, but may be waiting for us: never main */
	bool hidden;       /* of the job, but not in the list */
	bool in_group;     /* it is in a control group of the job */
	bool has_id;       /* its environment contains the job id */
	uint32_t seen;     /* the update that last found it in a group */
	char comm[16];
};

/* A process to look at again: it was too young to be recognised. */
struct job_processes_again {
	int pid;
	uint64_t due_ns;
	uint8_t looks;
};

/* A directory of the job's groups. */
struct job_processes_dir {
	char *path;
	int step;
	nlink_t links; /* when its subdirectories were last read */
	bool gone, top;
};

struct job_processes_step {
	char name[24]; /* "0", "batch", "extern" */
};

/* Steps whose processes are listed, best first. */
enum step_class { STEP_OTHER, STEP_BATCH, STEP_EXTERN, STEP_OWN, STEP_NONE };

/* A running command whose output is read. */
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
	bool live;                  /* /proc is that of this host and pid namespace */
	bool counting;              /* new processes are found by their pids */
	bool reread;                /* look at every process again */
	uint64_t reread_ns;
	int last_pid;
	uint64_t now_ns, scanned_ns, listed_ns;
	size_t pidfds, pidfds_max;
	size_t unpolled; /* members without a pidfd */
	uint32_t updates;
	struct process_table procs; /* of struct job_processes_proc */
	int *fresh;                 /* processes to classify */
	size_t fresh_count, fresh_cap;
	struct job_processes_again *again;
	size_t again_count, again_cap;
	struct job_processes_again *rankless; /* members whose environment may yet change */
	size_t rankless_count, rankless_cap;
	int *joined; /* new members */
	size_t joined_count, joined_cap;
	bool dirty, parents_ended;

	/* ourselves */
	int self, self_session; /* our pid and session in this /proc; -1: not there */
	int *above;             /* our ancestors, nearest first */
	size_t above_count;
	char *launcher;

	/* the batch job */
	char *job, *only_step, *node;
	const struct scheduler *scheduler; /* NULL: any of them */
	bool inside;                       /* we run in the job */
	bool ever_main;
	uint64_t quiet_ns; /* since when no main process runs; 0: one does, or none ever did */
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
	uint64_t groups_ns; /* when w->groups was last looked for */
};

/* ---- job_processes_table.c and job_processes_scan.c: the table ------------------------------ */

int procs_open(struct job_processes_finder *f, struct strbuf *why);
void procs_close(struct job_processes_finder *f);
struct job_processes_proc *procs_find(const struct job_processes_finder *f, int pid);
/* Reads a process from /proc; the rest of *ret is as for one never seen. */
int procs_look(const struct job_processes_finder *f, int pid, struct job_processes_proc *ret);
/* A process by its pid, read if it is new; NULL: none. */
struct job_processes_proc *procs_add(struct job_processes_finder *f, int pid);
/* Looks for new processes and puts them into fresh[]. 0 or a negative errno. */
int procs_scan(struct job_processes_finder *f);
/* Looks only at those that are due for another look. */
void procs_retry(struct job_processes_finder *f);
/* Marks members that ended. */
void procs_reap(struct job_processes_finder *f);
/* Asks the kernel to report the end of a member. */
void procs_poll(struct job_processes_finder *f, struct job_processes_proc *p);
void procs_unpoll(struct job_processes_finder *f, struct job_processes_proc *p);
void procs_end(struct job_processes_finder *f, struct job_processes_proc *p);
void procs_fresh(struct job_processes_finder *f, struct job_processes_proc *p);
/* Reads a process into the table. numbered: found by its pid, so it may be a thread. */
int procs_collect(struct job_processes_finder *f, int pid, bool numbered);
/* Adds a process to the table, or updates it. */
void procs_take(struct job_processes_finder *f, const struct job_processes_proc *seen);
/* Queues a few more looks, within seconds, at a process that does not seem to belong to the job. */
void procs_again(struct job_processes_finder *f, int pid);
/* Is this the id of a thread other than the first of its process? */
bool procs_is_thread(const struct job_processes_finder *f, int pid);
/* Reads a file of a process, up to max bytes. */
int procs_read(const struct job_processes_finder *f, int pid, const char *file, size_t max,
	       struct strbuf *out);

/* ---- job_processes_member.c: who belongs ---------------------------------------------------- */

/* Classifies those in fresh[]. */
void members_judge(struct job_processes_finder *f);
/* Determines the role of a member again, after those in fresh[] are classified. */
void members_place(struct job_processes_finder *f, const struct job_processes_proc *p);
/* Classifies all strangers again, because something new is known. */
void members_reconsider(struct job_processes_finder *f);
/* Reads the ranks of young members again. */
void members_ranks(struct job_processes_finder *f);

/* ---- own_processes.c: ourselves, launchers, environments ------------------------------------ */

void self_find(struct job_processes_finder *f);
bool self_is_above(const struct job_processes_finder *f, int pid);
bool name_is_shell(const char *comm);
bool name_is_launcher(const char *comm);
/* A launcher that only waits for processes on other hosts? */
bool name_is_remote_launcher(const char *comm);
/* A daemon of a batch system, or sshd? */
bool name_is_daemon(const char *comm);
/* Another monitor, or a launcher that starts one? */
bool self_is_monitor(const struct job_processes_finder *f, const struct job_processes_proc *p);
/* The value of a variable in the text of /proc/PID/environ. */
bool environ_find(const struct strbuf *text, const char *name, const char **ret, size_t *ret_size);
/* The same as a number; false: there is none. */
bool environ_number(const struct strbuf *text, const char *name, int64_t *ret);
int environ_rank(const struct strbuf *text);
/* Does the environment name the job? */
bool environ_has_job(const struct job_processes_finder *f, const struct strbuf *text);

/* ---- job_processes_cgroup.c: control groups ------------------------------------------------- */

void groups_close(struct job_processes_finder *f);
/* Takes the named group; -ENOENT: there is none. */
int groups_named(struct job_processes_finder *f, struct job_processes *w, const char *path,
		 struct strbuf *why);
/* Finds the groups of the batch job; if we run in the job, only groups that contain us. */
bool groups_of_job(struct job_processes_finder *f);
/* Reads the processes in dirs[]. */
void groups_scan(struct job_processes_finder *f);
/* Fills w->groups from a process of the job. */
void groups_fill(struct job_processes_finder *f, struct job_processes *w);

/* ---- job_processes_batch.c: jobs of batch systems ------------------------------------------- */

int batch_find(struct job_processes_finder *f, const struct job_processes_options *o,
	       struct strbuf *why);
/* Decides how to find the job, as soon as there is something of it. */
void batch_decide(struct job_processes_finder *f);
int batch_step(struct job_processes_finder *f, const char *name, size_t n);
enum step_class batch_step_class(const struct job_processes_finder *f, int step);
bool batch_is_batch_like(const struct job_processes_finder *f, int step);
/* The step of the job whose daemon this is; -1: none. */
int batch_stepd(struct job_processes_finder *f, const struct job_processes_proc *p);
/* Chooses the steps whose processes are listed. */
void batch_choose(struct job_processes_finder *f);
const char *batch_title(const struct job_processes_finder *f);
/* Sets the scheduler of the job, unless it is known. */
void batch_is_of(struct job_processes_finder *f, const char *scheduler);

/* ---- job_processes_scontrol.c: what Slurm itself says --------------------------------------- */

/* Starts scontrol when it is due and reads its answer; wait: waits for it. */
void scontrol_update(struct job_processes_finder *f, bool wait);
void scontrol_close(struct job_processes_finder *f);
/* Reads its table of processes. */
void scontrol_parse(struct job_processes_finder *f, const char *text);
