/*
 * The parts of the source `counters`: what is counted, the descriptors it is counted with, and who
 * is covered by them. The calls to the kernel go through a table, so that tests can pretend a
 * machine with hardware counters.
 */
#ifndef PL_SOURCES_COUNTERS_COUNTERS_H
#define PL_SOURCES_COUNTERS_COUNTERS_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

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
	const char *groups_dir; /* NULL: where they are installed */
	bool live;              /* the kernel's own: means nothing on a recorded tree */
};
extern const struct counters_ops counters_kernel;

#define COUNTERS_MAX (SAMPLE_METRICS_MAX - 1)

/* One event: its sum over all descriptors. */
struct counter {
	const struct group_event *event;
	unsigned metric;
	struct event_code code;
	char *problem;   /* why it is not counted; NULL: it is */
	bool user_only;  /* not while the kernel runs for the job */
	bool system;     /* of the machine, not of the job */
	unsigned group;  /* number of the chosen group that brought it */
	unsigned leader; /* the first counter of those that are on the CPU together */
	uint64_t total;  /* since the beginning, scaled to the time that it was enabled */
	uint64_t enabled_ever, running_ever;
	/* over the last reading, in ns: enabled, on the CPU, and enabled without a count yet */
	uint64_t enabled, running, pending;
};

/* A group of events that was never on the CPU in this time does not fit on it as a whole. */
#define NEVER_ON_CPU_NS 100000000u

/* The part of the time since the last reading that an event was on the CPU; 2 where nothing can be
 * said: one that was just begun waits for its first turn. */
static inline double counter_share(const struct counter *n)
{
	if (!n->enabled || (!n->running_ever && n->enabled_ever < NEVER_ON_CPU_NS))
		return 2;
	return (double)n->running / (double)n->enabled;
}

/* A descriptor; those of one perf group stand side by side. */
struct counter_fd {
	int fd; /* -1: it did not open, or vanished */
	uint16_t counter;
	int cpu;                          /* -1: of a task */
	uint16_t members;                 /* read with it, itself included; 0: read with another */
	uint64_t value, enabled, running; /* when last taken into the total */
	uint64_t seen_enabled, seen_running;
};

struct fd_list {
	struct counter_fd *list;
	size_t count, cap;
	bool grouped; /* a group is read at once */
};

/* A process whose threads have descriptors; its later children and threads are counted by them. */
struct attachment {
	int pid;             /* 0: the place is free */
	uint64_t begin_tick; /* when it was attached */
	struct fd_list fds;
	unsigned users; /* processes known to be alive that it counts */
	unsigned idle;  /* readings since there was one */
};

#define COVER_DENIED (-1) /* not counted: no permission, or gone */
#define COVER_ORPHAN (-2) /* counted by one of the attachments, it is not known which */

/* A process of the job and what counts it. */
struct covered {
	int pid;
	uint64_t starttime;
	int by;        /* number of the attachment, or one of the above */
	bool attached; /* it has descriptors of its own */
};

struct coverage {
	const char *root;     /* in front of /proc */
	struct covered *list; /* sorted by pid */
	size_t count, cap;
	struct attachment *attachments;
	size_t attachment_count, attachment_cap;
	int *sessions; /* of all that were ever covered */
	size_t session_count, session_cap;
	int *groups; /* their process groups */
	size_t group_count, group_cap;
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
	char *names[SAMPLE_METRICS_MAX]; /* those that are not the group file's */
	size_t metric_count;
	unsigned running_metric;
	bool any_user_only;
	char *left_out;        /* groups there was no room for, or that are none, with the reason */
	char *unknown;         /* names that are none */
	char *cgroup;          /* counted by control group; NULL: by process */
	struct fd_list cpus;   /* of the control group */
	char *online;          /* the CPUs that it was opened on, as the kernel names them */
	struct fd_list system; /* of the machine */
	struct coverage cover;
};

/* counters.c: what the source does, with other calls than the kernel's. */
int counters_open(const struct counters_ops *ops, const struct source_context *ctx,
		  struct sample_set *set, void **state, struct strbuf *why);
int counters_read(void *state, struct sample_set *set);
void counters_close(void *state);

/* counters_perf.c */

/* Fills in code, problem and leader of all counters, by opening them on ourselves for a moment. */
void counters_try(struct counters *c, bool user_only);
/* Opens all that work for a task (pid, or the descriptor of a control group) or a CPU. The number
 * of descriptors, or the error when none could be opened. */
int counters_attach(struct counters *c, struct fd_list *fds, int pid, int cpu, unsigned long flags);
/* The same for one, into the group that begins at this place; -1: a new one. 0 or the error. */
int counters_attach_one(struct counters *c, struct fd_list *fds, unsigned counter, int pid, int cpu,
			ssize_t group, unsigned long flags);
/* Takes what the descriptors say into the totals. */
void counters_take(struct counters *c, struct fd_list *fds);
void counters_detach(struct counters *c, struct fd_list *fds);
/* Only those from this place on. */
void counters_detach_from(struct counters *c, struct fd_list *fds, size_t first);
/* "0-3,8" of sysfs: a call for each; stops at the first negative result, which it returns. */
int counters_each_cpu(const char *text, int (*call)(void *user, int cpu), void *user);
/* Opens a job's control group, a path as openat() has it, on every CPU. Negative errno when it
 * cannot be done. */
int counters_attach_cgroup(struct counters *c, int at, const char *path);
/* Takes what they say; then opens it on CPUs that came online since, and gives up those that went:
 * what these counted stays. */
void counters_take_cgroup(struct counters *c, int at, const char *path);

/* perf_attach.c */

/* Attaches to what is new in the job and not yet covered, gives up what nobody needs. */
void coverage_update(struct counters *c, const struct job_processes *w);
/* Gives everything up, to begin again. */
void coverage_release(struct counters *c);

/* counters_uncore.c */

/* Opens the events of the machine: "<pmu>/<event>" of sysfs, on all units whose name begins so. */
void counters_open_system(struct counters *c);
/* Code of an event of a PMU in sysfs, and the CPUs that it is to be opened on. */
int system_event(const char *root, const char *pmu, const char *event, struct event_code *ret,
		 struct strbuf *why);

#endif
