/*
 * Where the core time of a job went (analysis/core_time), in total and over time, for the job, a
 * host, or some of its processes; from samples where there are any, else from records. Times are us
 * since 1970 unless the name says seconds; texts come from users.
 */
#pragma once

#include "analysis/core_time/core_time.h"
#include "core/value.h"
#include "samples/resample.h"
#include "store/series.h"
#include "views/output.h"

/* Which part of a job; NULL, -1: all of it. Texts are patterns of * and ?. */
struct where_scope {
	const char *host, *executable;
	const char *step;    /* the name of a step; see store/analysis/job_steps.h */
	const char *process; /* PID, or PID.START as samples name it */
	int64_t rank;
};

/* A program that a process ran, by its record. Unknown numbers are NAN. */
struct where_image {
	int64_t start, end;
	double user, system, runnable, blocked; /* s */
	double minor_faults, major_faults, reads, writes, read_bytes, write_bytes;
	double threads;
	uint32_t host, name; /* numbers of strings of the store */
	uint32_t pid;
	int64_t ticks;         /* start of the process since boot, as samples name it; UNKNOWN */
	uint32_t parent, last; /* places; a root is its own parent; last: its last descendant */
	bool replaced;         /* it executed another program */
	bool sleeps;           /* `sleep`: all of its time is waiting for a timer */
	bool chosen;           /* by the scope */
	int32_t rank;
	uint32_t step, run_step; /* see store/analysis/job_steps.h; run_step: while loading */
};

struct where_host {
	char *name;
	double cores;  /* granted */
	double places; /* cores without a quota */
	double cpus;   /* of the host; NAN: unknown */
	double used;   /* part of its CPU time that was used during the runs; NAN: unknown */
	struct core_time total;
	bool sampled, looked; /* samples of its CPU time; of what threads waited for */
};

struct where {
	struct resample_grid grid;
	struct core_time *steps; /* of all hosts, by step of the grid */
	struct core_time total;
	double *busy; /* cores busy on average in each step */
	struct where_host *hosts;
	size_t host_count, host_cap;
	double seconds, cores;
	bool sampled, looked; /* on all hosts */
	bool part;            /* of the job */
};
void where_release(struct where *w);

/* What a batch system and control groups granted, by the metadata of a job. */
struct job_grant {
	int64_t cores; /* of all hosts; UNKNOWN */
	int64_t hosts; /* 0: unknown */
	double quota;  /* cores by a CPU quota on a host; NAN */
	bool batch;    /* by a batch system */
};
/* hosts: so many the job was seen on. */
void job_grant_take(struct job_grant *g, const struct value *metadata, size_t hosts);
/* Cores of one host that the job may use: those that the batch system lists for it, else an equal
 * part of its grant; without a batch system by the affinity. NAN: unknown. */
double job_grant_host(const struct job_grant *g, const struct value *metadata, const char *host);
/* CPUs that a host has; NAN: unknown. */
double where_host_cpus(const struct value *metadata, const char *host);
/* The part of a host's CPU time that was used during the runs of the job, 0 to 1; NAN: unknown. */
double job_host_busy(const struct value *metadata, const char *host);
/* s for which control groups around a run on one host stopped it; NAN: unknown. */
double job_throttled(const struct value *metadata);

/* The images of a job in the order of the tree; *ret is freed by the caller. */
int where_images_load(struct store *s, int64_t job, const struct where_scope *scope,
		      struct where_image **ret, size_t *ret_count);

/*
 * Fills an empty structure. series: those of the job, if they are loaded already; NULL: they are
 * read. -ENOENT: nothing of the job is in the scope. store_error() has the reason of others.
 */
int where_load(struct where *w, struct store *s, int64_t job, const struct where_scope *scope,
	       const struct series_list *series);

/* A few steps for a picture: the grid in at most max columns; *ret is freed by the caller. */
size_t where_columns(const struct where *w, size_t max, struct core_time **ret);

/* ---- where_print.c -------------------------------------------------------------------------- */

/* Bars of so many columns; over: also over time. color: for terminals. */
void where_text(const struct where *w, bool over, bool color, size_t width, struct strbuf *out);
/* Keys of an object: cores, seconds, total, parts[], hosts[], times and steps. */
void where_json(const struct where *w, struct json_writer *j);
int where_csv(const struct where *w, FILE *f);
/* A color of a part, "#rrggbb". */
const char *where_color(enum core_part part);
