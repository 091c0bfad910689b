/*
 * The jobs of a node, found by their control groups: directories below one or more roots whose
 * names match a pattern. inotify keeps the list up to date; what inotify misses is found by a
 * rescan. A root that does not exist yet is waited for. A job is one id with all its directories,
 * one per controller of version 1; the directories of its steps are below them.
 */
#pragma once

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
	CGROUP_JOBS_MEMBERS, /* lists its processes: freezer, cpuset or another */
	CGROUP_JOBS_CONTROLLERS
};

enum job_state {
	JOB_WAITING, /* its group exists and has had no process yet */
	JOB_RUNNING,
	JOB_ENDED, /* its groups are gone or empty again: it is read once more, then forgotten */
};

struct job {
	char *id;        /* as the scheduler names it: "1234" */
	char *user;      /* name or number, if the path contains it; NULL otherwise */
	char *owner;     /* of its processes, if the path has no user name: a name, else a number;
			    NULL: not known (yet) */
	char *manager;   /* "oar", "slurm", "pbs", "systemd", "kubernetes", "" */
	char *path;      /* below the root, for people */
	uint64_t number; /* of this job in this list: never reused */
	enum job_state state;
	bool version2;
	bool empty;                               /* RUNNING, but without a process now */
	int dirs[CGROUP_JOBS_CONTROLLERS];        /* descriptors of its directories; -1: none */
	uint64_t inodes[CGROUP_JOBS_CONTROLLERS]; /* the kernel's cgroup ids; 0: none */
	uint64_t begin_ns;                        /* boot time when it was found running */
};

struct cgroup_jobs_options {
	const char *root; /* in front of /proc, /sys and /dev; "" on a live machine */
	const char *const
		*roots; /* directories to search; none: the places of all known managers */
	size_t root_count;
	const char *const
		*patterns; /* extended regular expressions on the path below the root; the
			      first parenthesis is the job's id; none: the managers' own */
	size_t pattern_count;
	const char *const *groups; /* more directories that are a job each, whatever their names */
	size_t group_count;
	const char *const *only; /* ids of the only jobs to list; none: all jobs */
	size_t only_count;
	bool containers;    /* Kubernetes pods and container scopes are jobs too */
	uint64_t linger_ns; /* a job that stays empty for this long has ended; 0: 30 seconds */
};

struct cgroup_jobs;

/* Translates a pattern of Python or Rust ("_(\d+)$") to an extended regular expression. -EINVAL
 * with the reason if there is no equivalent. */
int cgroup_jobs_pattern_translate(const char *text, struct strbuf *out, struct strbuf *why);

/* 0 even if no root exists yet. -EINVAL: *why names the invalid pattern. */
int cgroup_jobs_open(struct cgroup_jobs **ret, const struct cgroup_jobs_options *o,
		     struct strbuf *why);
void cgroup_jobs_close(struct cgroup_jobs *j);
/* For poll(): readable when something may have changed. -1: there is none; call
 * cgroup_jobs_update() from time to time. */
int cgroup_jobs_descriptor(const struct cgroup_jobs *j);
/* Updates the list: new jobs are WAITING or RUNNING, those whose groups are gone are ENDED. Their
 * descriptors stay open for a last reading. Returns the number of changes or a negative errno. The
 * end of a job's last process is a change too: read then, its counters are complete, while a moment
 * later the manager may have removed its groups. */
int cgroup_jobs_update(struct cgroup_jobs *j);
/* Forgets the jobs that were ENDED at the last update; call it after their last reading. */
void cgroup_jobs_forget(struct cgroup_jobs *j);

size_t cgroup_jobs_count(const struct cgroup_jobs *j);
struct job *cgroup_jobs_at(struct cgroup_jobs *j, size_t i);          /* sorted by number */
struct job *cgroup_jobs_by_id(struct cgroup_jobs *j, const char *id); /* NULL: none */
struct job *cgroup_jobs_by_number(struct cgroup_jobs *j, uint64_t number);
/* A controller of version 1 by its name; CGROUP_JOBS_MEMBERS: any other name. */
enum job_controller cgroup_jobs_controller(const char *name);
/* The job of a process by its control groups (/proc/PID/cgroup); NULL: none. */
struct job *cgroup_jobs_of_process(struct cgroup_jobs *j, pid_t pid);
/* Calls for every process (thread group) of a job; the number of them or a negative errno. */
int cgroup_jobs_visit_processes(const struct cgroup_jobs *j, const struct job *job,
				void (*visit)(void *user, pid_t pid), void *user);
/* Lists what a site could enable, one line each with the remedy ("memory: jobs of OAR have no
 * memory group: set $Enable_mem_cg = "YES" in job_resource_manager_cgroups.pl"). */
void cgroup_jobs_shortcomings(const struct cgroup_jobs *j, struct strbuf *out);
