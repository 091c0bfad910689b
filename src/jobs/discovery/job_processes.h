/*
 * The processes of a running job on this host, found through the batch system, a control group or a
 * process tree, and updated at every tick. Never includes our own process or the launcher that
 * started it.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "core/strbuf.h"

enum job_processes_kind {
	JOB_PROCESSES_NONE,   /* not specified: the batch job we are in, else our session, else as
			       * JOB_PROCESSES_USER */
	JOB_PROCESSES_PIDS,   /* the named processes and their descendants */
	JOB_PROCESSES_CGROUP, /* all processes in a control group and below it */
	JOB_PROCESSES_JOB,  /* a job of the batch system by its id; "4711.2" is one step of Slurm's
			     */
	JOB_PROCESSES_USER, /* all processes of our user except our own and its ancestors */
};

struct job_processes_options {
	enum job_processes_kind kind;
	const char *root; /* in front of /proc and /sys; "" on a live machine */
	const int *pids;
	size_t pid_count;
	const char *cgroup;   /* path below the mount, or the full path of its directory */
	const char *job;      /* id of the job; NULL: the one we are in */
	const char *launcher; /* name of the launcher; NULL: guess */
	bool all_users;       /* not only processes of our own user; root always sees all */
};

/* One process of the job. */
struct job_process {
	int pid, ppid;
	uint64_t starttime; /* ticks since boot: with the pid it identifies the process */
	int rank;           /* of MPI; -1: none or unknown */
	bool main;          /* the job ends when all main processes have ended */
	uint64_t job;       /* number in the list of the node's jobs; 0: there is no list */
};

/* A control group of the job and its controller ("" for version 2). */
struct job_processes_group {
	char controller[16];
	char *path; /* the directory, root included */
};

struct job_processes {
	struct job_process *list; /* alive at the last update, sorted by pid; no zombies */
	size_t count, cap;
	struct job_processes_group *groups;
	size_t group_count;
	char *how;      /* for people: "job 4711 of Slurm by scontrol listpids" */
	bool found_any; /* there was a process at least once */
	struct job_processes_finder *finder; /* private; NULL: the owner fills the list */
};

/* Starts; finds nothing yet. -ENOENT if what was named does not exist (a job may still come). */
int job_processes_open(struct job_processes *w, const struct job_processes_options *o,
		       struct strbuf *why);
void job_processes_close(struct job_processes *w);
/*
 * Updates the list. Returns the number of processes or a negative errno. Takes a few microseconds
 * if no process began or ended since the last call. The first calls may wait up to 5 s for scontrol
 * if there is no other way to find the job.
 */
int job_processes_update(struct job_processes *w);
/* Have all main processes ended? In a batch job this must last for three seconds, because one
 * command or step may follow another. */
bool job_processes_over(const struct job_processes *w);
/* Have all main processes ended, but not for long enough to say that the job is over? */
bool job_processes_quiet(const struct job_processes *w);
/* A process in the list by its pid; NULL: none. */
const struct job_process *job_processes_find(const struct job_processes *w, int pid);
/* The directory of the job's group for a controller ("" for version 2); NULL: none. */
const char *job_processes_group(const struct job_processes *w, const char *controller);
/* The launcher that started us on this host: "srun", "mpirun", ...; NULL: none that is known. */
const char *job_processes_launcher(const struct job_processes *w);
