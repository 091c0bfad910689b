/*
 * The jobs of a node, found by their control groups: directories below one or more roots whose
 * names match a pattern. The list is kept up to date by inotify, with a rescan where that was not
 * enough; a root that is not there yet is waited for. A job is one id with all directories that
 * belong to it (one for each controller of version 1, those of its steps below them are its own).
 */
#ifndef PL_JOBS_DISCOVERY_CGROUP_JOBS_H
#define PL_JOBS_DISCOVERY_CGROUP_JOBS_H

#include <stdint.h>
#include <sys/types.h>

#include "core/strbuf.h"

/* Controllers whose files are read; of version 2 there is one directory for all. */
enum job_controller {
	CGROUP_JOBS_CPUACCT, /* cpuacct.usage, cpuacct.stat; version 2: cpu.stat */
	CGROUP_JOBS_CPU,     /* cpu.stat */
	CGROUP_JOBS_MEMORY,
	CGROUP_JOBS_BLKIO, /* version 2: io */
	CGROUP_JOBS_PIDS,
	CGROUP_JOBS_PERF,    /* perf_event */
	CGROUP_JOBS_MEMBERS, /* where its processes are listed: cpuset, freezer, whichever is there
			      */
	CGROUP_JOBS_CONTROLLERS
};

enum job_state {
	JOB_WAITING, /* its group is there and has had no process yet */
	JOB_RUNNING,
	JOB_ENDED, /* its groups are gone, or empty again: one last reading, then it is forgotten */
};

struct job {
	char *id;        /* as the scheduler has it: "1234" */
	char *user;      /* name or number where the path tells it; NULL otherwise */
	char *owner;     /* of its processes, where the path tells no name: a name, else a number;
			    NULL: not known (yet) */
	char *manager;   /* "oar", "slurm", "pbs", "systemd", "kubernetes", "" */
	char *path;      /* below the root, for people */
	uint64_t number; /* of this job in this list: never used again */
	enum job_state state;
	bool version2;
	bool empty;                               /* RUNNING, but nobody is in it at the moment */
	int dirs[CGROUP_JOBS_CONTROLLERS];        /* of the directories; -1: no such group */
	uint64_t inodes[CGROUP_JOBS_CONTROLLERS]; /* the kernel's cgroup ids; 0 where there is none
						   */
	uint64_t begin_ns;                        /* boot time at which it was found running */
};

struct cgroup_jobs_options {
	const char *root;         /* in front of /proc, /sys and /dev; "" on a live machine */
	const char *const *roots; /* directories to look below; none: all known managers' places */
	size_t root_count;
	const char *const
		*patterns; /* extended regular expressions on the path below the root; the
			      first parenthesis is the job's id; none: the managers' own */
	size_t pattern_count;
	const char *const *groups; /* directories that are a job each, whatever their names, besides
				      what is found below the roots */
	size_t group_count;
	const char *const *only; /* job ids: no others; none: all */
	size_t only_count;
	bool containers;    /* Kubernetes pods and container scopes are jobs too */
	uint64_t linger_ns; /* a job that is empty for so long has ended; 0: half a minute */
};

struct cgroup_jobs;

/* The pattern that one of Python or Rust is ("_(\d+)$") as an extended regular expression, for
 * options that have always taken those. -EINVAL with the reason where there is no equal. */
int cgroup_jobs_pattern_translate(const char *text, struct strbuf *out, struct strbuf *why);

/* 0 even when no root is there yet. -EINVAL: a pattern that is none, in *why. */
int cgroup_jobs_open(struct cgroup_jobs **ret, const struct cgroup_jobs_options *o,
		     struct strbuf *why);
void cgroup_jobs_close(struct cgroup_jobs *j);
/* Readable when something may have changed; for poll(). -1: there is none, call
 * cgroup_jobs_update() from time to time. */
int cgroup_jobs_descriptor(const struct cgroup_jobs *j);
/* Takes in what changed: new jobs are WAITING or RUNNING, those whose groups went are ENDED (their
 * descriptors are still open; whoever holds a kept descriptor may have a last reading). The number
 * of changes, or a negative errno. That the last process of a job went is a change: a reading taken
 * then is exact, while a moment later the manager may have removed its groups. */
int cgroup_jobs_update(struct cgroup_jobs *j);
/* Forgets jobs that were ENDED at the last call. To be called when they had their last reading. */
void cgroup_jobs_forget(struct cgroup_jobs *j);

size_t cgroup_jobs_count(const struct cgroup_jobs *j);
struct job *cgroup_jobs_at(struct cgroup_jobs *j, size_t i);          /* sorted by number */
struct job *cgroup_jobs_by_id(struct cgroup_jobs *j, const char *id); /* NULL: none */
struct job *cgroup_jobs_by_number(struct cgroup_jobs *j, uint64_t number);
/* The job of a process by its control groups (/proc/PID/cgroup); NULL: none. */
struct job *cgroup_jobs_of_process(struct cgroup_jobs *j, pid_t pid);
/* Calls for every process (thread group) of a job; the number of them or a negative errno. */
int cgroup_jobs_visit_processes(const struct cgroup_jobs *j, const struct job *job,
				void (*visit)(void *user, pid_t pid), void *user);
/* What is missing here that a site could set, a line each with the remedy ("memory: jobs of OAR
 * have no memory group: set $Enable_mem_cg = "YES" in job_resource_manager_cgroups.pl"). */
void cgroup_jobs_shortcomings(const struct cgroup_jobs *j, struct strbuf *out);

#endif
