/* What the files that load a report share; see report.h. */
#ifndef PL_REPORT_REPORT_INTERNAL_H
#define PL_REPORT_REPORT_INTERNAL_H

#include "report/report.h"
#include "store/series.h"

/* A process on its way into groups, flame and bars; in the order of a walk through the tree. */
struct report_proc {
	int64_t start, duration, cpu; /* us; UNKNOWN */
	int64_t rssmax, read, written;
	uint32_t parent, last; /* places: its own for a root; of the last one below it */
	uint32_t name, tags;   /* numbers in report.names */
	uint32_t host, pid, lane;
	int32_t rank; /* -1: none */
	uint8_t exitcode;
	bool failed;
};

/* Texts by number while a report is being loaded. */
struct report_naming {
	struct report *r;
	uint32_t *table; /* open addressing: number + 1 */
	size_t size;
};
uint32_t report_name(struct report_naming *n, const char *s, size_t size);

/* What is counted on the way, for the findings. */
struct report_tally {
	int64_t signalled, killed; /* by any signal, by SIGKILL */
	int64_t failed;
	int64_t running;
	int64_t brief, brief_cpu; /* processes below BRIEF_US, and their CPU */
	int64_t without_time, without_cpu;
	int64_t reaped_cpu; /* of roots and all children that were waited for; UNKNOWN */
	size_t signals[65]; /* how many each of them ended; 0: others */
};
#define REPORT_BRIEF_US 100000

struct report_loading {
	struct report *r;
	struct store *store;
	int64_t job;
	const struct report_options *o;
	struct report_naming naming;
	struct report_proc *procs;
	size_t count;
	uint32_t *by_start; /* places of those whose time is known */
	size_t started;
	struct report_tally tally;
	bool granted;      /* cores by a batch system */
	int64_t tasks;     /* that it started; 0: not known */
	int64_t oom_kills; /* in the control groups of its runs; UNKNOWN */
	double link_speed; /* bytes/s of the fastest network adapter; 0: not known */
	struct series_list series;
};

int report_load_processes(struct report_loading *l);
/* "1 by SIGKILL, 2 by SIGTERM" */
void report_add_signals(struct strbuf *out, const size_t signals[65]);
void report_make_groups(struct report_loading *l);
void report_make_flame(struct report_loading *l);
void report_make_bars(struct report_loading *l);
int report_load_curves(struct report_loading *l);
/* Hardware, cores and limits from the metadata. */
int report_load_metadata(struct report_loading *l);
void report_find(struct report_loading *l);
void report_load_energy(struct report_loading *l);

/* The group of a name in a list, made when it is new. */
struct report_group *report_group_add(struct report_groups *g, const char *name);
/* All by CPU, or by name; what is beyond the limit is left out. */
void report_groups_end(struct report_groups *g, bool by_name);

/* The curve of a metric over all hosts; NULL: it has none. */
const struct report_curve *report_curve_of(const struct report *r, const char *metric);

#endif
