/*
 * Shared by the files of the sources `counters` and `job_counters`: events, the descriptors that
 * count them, and the processes they cover. Calls to the kernel go through a table, so that tests
 * can simulate a machine with hardware counters.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/system/process_table.h"
#include "sources/columns.h"
#include "sources/counters/counters_groups.h"
#include "sources/counters/events.h"
#include "sources/source.h"

struct counters_ops {
	/* As perf_event_open: a descriptor or a negative errno. */
	int (*open)(struct perf_event_attr *attr, int pid, int cpu, int group, unsigned long flags);
	/* As read: bytes or a negative errno. */
	ssize_t (*read)(int fd, void *buffer, size_t size);
	void (*close)(int fd);
	int (*resolve)(const char *const *pmus, size_t count, const char *name,
		       struct event_code *ret, struct strbuf *why);
	const char *groups_dir; /* NULL: the installed files */
	bool live;              /* calls the kernel: not for a recorded tree */
};
extern const struct counters_ops counters_kernel;

#define COUNTERS_MAX (SAMPLE_METRICS_MAX - 1)

/* One event: its sum over all descriptors. */
struct counter {
	const struct group_event *event;
	unsigned metric;
	struct event_code code;
	char *problem;   /* why it is not counted; NULL: it is */
	bool user_only;  /* counted in user mode only */
	bool system;     /* of the machine, not of the job */
	unsigned group;  /* number of the chosen group it belongs to */
	unsigned leader; /* the first counter of those that share the CPU */
	uint64_t total;  /* since the beginning, scaled to the time that it was enabled */
	uint64_t enabled_ever, running_ever;
	/* over the last reading, in ns: enabled, on the CPU, and enabled without a count yet */
	uint64_t enabled, running, pending;
};

/* A group of events that was never on the CPU in this time does not fit on it as a whole. */
#define NEVER_ON_CPU_NS 100000000u

/* The share of time since the last reading that an event was on the CPU; 2: unknown, since it still
 * waits for its first turn. */
static inline double counter_share(const struct counter *n)
{
	if (!n->enabled || (!n->running_ever && n->enabled_ever < NEVER_ON_CPU_NS))
		return 2;
	return (double)n->running / (double)n->enabled;
}

/* A descriptor; those of one perf group are adjacent. */
struct counter_fd {
	int fd; /* -1: it did not open, or vanished */
	uint16_t counter;
	int cpu;                          /* -1: of a task */
	uint16_t members;                 /* read with it, including itself; 0: read with another */
	uint64_t value, enabled, running; /* when last added to the total */
	uint64_t seen_enabled, seen_running;
};

struct fd_list {
	struct counter_fd *list;
	size_t count, cap;
	bool grouped; /* a group is read at once */
};

/* A process whose threads have descriptors, which also count its later children and threads. */
struct attachment {
	int pid;             /* 0: the place is free */
	uint64_t begin_tick; /* when it was attached */
	struct fd_list fds;
	unsigned users; /* living processes that it counts */
	unsigned idle;  /* readings without one */
};

#define COVER_DENIED (-1) /* not counted: no permission, or gone */
#define COVER_ORPHAN (-2) /* counted by an unknown attachment */

/* Process ids, or those of sessions and process groups. */
struct pids {
	int *list;
	size_t count, cap;
};

/* A process of the job and what counts it. */
struct covered {
	int pid;
	uint64_t starttime;
	int by;        /* number of the attachment, or one of the above */
	bool attached; /* it has its own descriptors */
};

struct coverage {
	const char *root;           /* in front of /proc */
	struct process_table known; /* of struct covered */
	struct attachment *attachments;
	size_t attachment_count, attachment_cap;
	struct pids sessions, groups; /* and process groups of all that were ever covered */
	/* processes attached after the first ones, and the CPU time that they had used by then */
	unsigned late;
	uint64_t late_ticks;
	bool begun;
	bool counts; /* there was a process that could be attached */
	uint64_t begin_tick;
	bool no_children_files; /* this kernel does not list the children of a thread */
	unsigned denied;        /* processes that we may not count */
	int denied_error;
};

struct group_state {
	const struct group *group;
	unsigned counters[GROUP_EVENTS_MAX]; /* of its events */
	unsigned first_metric;               /* of its values */
	bool seen;                           /* there is a reading to compare with */
	uint64_t time_ns;
	uint64_t last[GROUP_EVENTS_MAX];
};

struct counters {
	const struct counters_ops *ops;
	const struct source_context *ctx;
	struct groups groups;
	struct group_state *chosen;
	size_t chosen_count;
	struct counter counters[COUNTERS_MAX];
	size_t counter_count;
	struct sample_metric metrics[SAMPLE_METRICS_MAX];
	char *names[SAMPLE_METRICS_MAX]; /* owned ones, not from the group file */
	size_t metric_count;
	unsigned running_metric;
	bool any_user_only;
	char *left_out;        /* groups that did not fit or do not exist, with the reason */
	char *unknown;         /* names that do not exist */
	char *cgroup;          /* counted by control group; NULL: by process */
	struct fd_list cpus;   /* of the control group */
	char *online;          /* the CPUs that it was opened on, as sysfs lists them */
	struct fd_list system; /* of the machine */
	struct coverage cover;
};

/* counters.c: the source, with other calls than the kernel's. */
int counters_open(const struct counters_ops *ops, const struct source_context *ctx,
		  struct sample_set *set, void **state, struct strbuf *why);
int counters_read(void *state, struct sample_set *set);
/* The metric of the share of time that events were on the CPU. */
#define COUNTERS_RUNNING                                                             \
	METRIC_ROW("running_percent", PERCENT, MEAN, NONE, 1e-2,                     \
		   "share of time that the event was on the CPU, of the event with " \
		   "the smallest share")
/* Resets the values per reading. */
void counters_begin_reading(struct counters *c);
/* How many events can be counted; 0: the reason of the first is in *why. */
size_t counters_usable(const struct counters *c, struct strbuf *why);
/* Puts the totals of the events of the machine, or of the job, and running_percent. */
void counters_put(const struct counters *c, struct sample_set *set, bool system);
void counters_close(void *state);

/* counters_perf.c */

/* Sets code, problem and leader of all counters, by opening them on our own process for a moment.
 */
void counters_try(struct counters *c, bool user_only);
/* Opens all that work for a task (pid, or the descriptor of a control group) or a CPU. The number
 * of descriptors, or the error when none could be opened. */
int counters_attach(struct counters *c, struct fd_list *fds, int pid, int cpu, unsigned long flags);
/* The same for one, into the group that begins at this place; -1: a new one. 0 or the error. */
int counters_attach_one(struct counters *c, struct fd_list *fds, unsigned counter, int pid, int cpu,
			ssize_t group, unsigned long flags);
/* Reads the descriptors and adds to the totals. */
void counters_take(struct counters *c, struct fd_list *fds);
void counters_detach(struct counters *c, struct fd_list *fds);
/* Only those from this place on. */
void counters_detach_from(struct counters *c, struct fd_list *fds, size_t first);
/* "0-3,8" of sysfs: a call for each; stops at the first negative result, which it returns. */
int counters_each_cpu(const char *text, int (*call)(void *user, int cpu), void *user);
/* Opens a job's control group, a path as openat() has it, on every CPU. Negative errno when it
 * cannot be done. */
int counters_attach_cgroup(struct counters *c, int at, const char *path);
/* Reads them; then opens the group on CPUs that came online, and closes it on those that went
 * offline, whose counts stay. */
void counters_take_cgroup(struct counters *c, int at, const char *path);

/* perf_attach.c */

/* Attaches to new processes that are not yet covered, and closes unused descriptors. */
void coverage_update(struct counters *c, const struct job_processes *w);
/* Closes everything, to begin again. */
void coverage_release(struct counters *c);

/* counters_uncore.c */

/* Opens the events of the machine: "<pmu>/<event>" of sysfs, on all units whose name begins so. */
void counters_open_system(struct counters *c);
/* The code of an event of a PMU in sysfs. */
int system_event(const char *root, const char *pmu, const char *event, struct event_code *ret,
		 struct strbuf *why);
