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

enum watch_kind {
	WATCH_NONE,   /* nothing named: the batch system we are in, else our session, else as
		       * WATCH_USER */
	WATCH_PIDS,   /* the named processes and their descendants */
	WATCH_CGROUP, /* all processes in a control group and those below it */
	WATCH_JOB,    /* a job of the batch system by its id; "4711.2" is one step of Slurm's */
	WATCH_USER,   /* all processes of our user but ourselves and those above us */
};

struct watch_options {
	enum watch_kind kind;
	const char *root; /* in front of /proc and /sys; "" on a live machine */
	const int *pids;
	size_t pid_count;
	const char *cgroup;   /* path below the mount, or the whole path of its directory */
	const char *job;      /* id of the job; NULL: the one we are in */
	const char *launcher; /* name of the launcher where it is not to be guessed; NULL: guess */
	bool all_users;       /* not only processes of our own user; root sees all in any case */
};

/* One process of the job. */
struct watched {
	int pid, ppid;
	uint64_t starttime; /* ticks since boot: with pid it names the process */
	int rank;           /* of MPI, -1 when it has none or it is not known */
	bool main;          /* one of those that the job's end is told by */
	uint64_t job; /* its number in the list of the node's jobs; 0: there is no such list */
};

/* A control group of the job, and the controller that it is for ("" is version 2). */
struct watch_group {
	char controller[16];
	char *path; /* the directory, root included */
};

struct watch {
	struct watched *list; /* those alive when last looked, sorted by pid; zombies are not */
	size_t count, cap;
	struct watch_group *groups;
	size_t group_count;
	char *how;                   /* for people: "job 4711 of Slurm by scontrol listpids" */
	bool found_any;              /* a process was there at least once */
	struct watch_finder *finder; /* private to watch*.c; NULL: the owner keeps the list */
};

/* Begins; finds nothing yet. -ENOENT when what was named does not exist at all (a job may come). */
int watch_open(struct watch *w, const struct watch_options *o, struct strbuf *why);
void watch_close(struct watch *w);
/*
 * Looks who is alive now. The number of processes, or a negative errno. Costs a few microseconds
 * when nothing began or ended since the last call. The first calls may wait for scontrol, 5 s at
 * most, where a job can be found in no other way.
 */
int watch_update(struct watch *w);
/* Are all main processes gone that once were there? In a batch job this must last for three seconds
 * of updates, as one command or step may follow another. */
bool watch_over(const struct watch *w);
/* Does nothing of it run now, and is it too early to say that it is over? */
bool watch_quiet(const struct watch *w);
/* The process of this id among those alive; NULL when there is none. */
const struct watched *watch_find(const struct watch *w, int pid);
/* Directory of the job's group for a controller ("" for version 2); NULL when there is none. */
const char *watch_group(const struct watch *w, const char *controller);
/* What started us on this host: "srun", "mpirun", "orted" ...; NULL when nothing known did. */
const char *watch_launcher(const struct watch *w);

#endif
