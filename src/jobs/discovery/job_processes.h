/*
 * The processes of a job on this host while it runs: found through the batch system, a control
 * group or a process tree, and looked up again at every tick. Never our own process, and never the
 * launcher that started us.
 */
#ifndef PL_JOBS_DISCOVERY_JOB_PROCESSES_H
#define PL_JOBS_DISCOVERY_JOB_PROCESSES_H

#include <stdint.h>
#include <sys/types.h>

#include "core/strbuf.h"

enum job_processes_kind {
	JOB_PROCESSES_NONE, /* nothing named: the batch system we are in, else our session, else as
			     * JOB_PROCESSES_USER */
	JOB_PROCESSES_PIDS, /* the named processes and their descendants */
	JOB_PROCESSES_CGROUP, /* all processes in a control group and those below it */
	JOB_PROCESSES_JOB,  /* a job of the batch system by its id; "4711.2" is one step of Slurm's
			     */
	JOB_PROCESSES_USER, /* all processes of our user but ourselves and those above us */
};

struct job_processes_options {
	enum job_processes_kind kind;
	const char *root; /* in front of /proc and /sys; "" on a live machine */
	const int *pids;
	size_t pid_count;
	const char *cgroup;   /* path below the mount, or the whole path of its directory */
	const char *job;      /* id of the job; NULL: the one we are in */
	const char *launcher; /* name of the launcher where it is not to be guessed; NULL: guess */
	bool all_users;       /* not only processes of our own user; root sees all in any case */
};

/* One process of the job. */
struct job_process {
	int pid, ppid;
	uint64_t starttime; /* ticks since boot: with pid it names the process */
	int rank;           /* of MPI, -1 when it has none or it is not known */
	bool main;          /* one of those that the job's end is told by */
	uint64_t job; /* its number in the list of the node's jobs; 0: there is no such list */
};

/* A control group of the job, and the controller that it is for ("" is version 2). */
struct job_processes_group {
	char controller[16];
	char *path; /* the directory, root included */
};

struct job_processes {
	struct job_process *list; /* those alive when last looked, sorted by pid; zombies are not */
	size_t count, cap;
	struct job_processes_group *groups;
	size_t group_count;
	char *how;      /* for people: "job 4711 of Slurm by scontrol listpids" */
	bool found_any; /* a process was there at least once */
	struct job_processes_finder
		*finder; /* private to watch*.c; NULL: the owner keeps the list */
};

/* Begins; finds nothing yet. -ENOENT when what was named does not exist at all (a job may come). */
int job_processes_open(struct job_processes *w, const struct job_processes_options *o,
		       struct strbuf *why);
void job_processes_close(struct job_processes *w);
/*
 * Looks who is alive now. The number of processes, or a negative errno. Costs a few microseconds
 * when nothing began or ended since the last call. The first calls may wait for scontrol, 5 s at
 * most, where a job can be found in no other way.
 */
int job_processes_update(struct job_processes *w);
/* Are all main processes gone that once were there? In a batch job this must last for three seconds
 * of updates, as one command or step may follow another. */
bool job_processes_over(const struct job_processes *w);
/* Does nothing of it run now, and is it too early to say that it is over? */
bool job_processes_quiet(const struct job_processes *w);
/* The process of this id among those alive; NULL when there is none. */
const struct job_process *job_processes_find(const struct job_processes *w, int pid);
/* Directory of the job's group for a controller ("" for version 2); NULL when there is none. */
const char *job_processes_group(const struct job_processes *w, const char *controller);
/* What started us on this host: "srun", "mpirun", "orted" ...; NULL when nothing known did. */
const char *job_processes_launcher(const struct job_processes *w);

#endif
