/*
 * Operations of jobs: what was loaded of each job, and the forms in which commands print it. Images
 * are grouped by their tags in one pass over the job; the order of keys in tags does not matter.
 */
#pragma once

#include "analysis/operations.h"
#include "core/hash_map.h"
#include "store/analysis/image_reader.h"
#include "views/processes/process_list.h"

/* Which images form an operation. */
struct operation_query {
	const struct value *tags; /* list of dicts, see operation_tags(); an image is in the
				   * operation of each dict that its tags contain; empty: any */
	const char *by;           /* images with the same value of this key; NULL: with equal tags,
				   * or in the same one of `tags` */
	bool rest;   /* those that none of `tags` contains form operations by the value of `by` */
	bool whole;  /* all metrics; else those of the table */
	int metric;  /* and this one, see operation_metric_find() */
	bool events; /* also sums of counted events */
	bool roots;  /* also the images whose parent is not in the operation */
};
/* Parses "KEY:VALUE;KEY" into a dict; a key without a value has VALUE_NONE, which matches any. NULL
 * with the reason in *why. */
struct value *operation_tags(const char *text, struct strbuf *why);

struct operation_event {
	char *name;
	int64_t *sums; /* of each operation; UNKNOWN: it has none */
};

/* An image whose parent is not in the operation. */
struct operation_root {
	size_t operation;
	uint32_t number, parent, descendants;
	uint32_t name; /* number of the string */
	int64_t pid, start, duration, cpu_us;
	char *exename; /* NULL: unknown */
};

struct operation_name {
	char *text;         /* "key:value;key:value", sorted by key */
	struct value *tags; /* a dict */
	bool rest;          /* by operation_query.rest */
	const char *phase;  /* a phase: who marked it (phase_origins); NULL: images with tags */
	size_t jobs;        /* that have it, of a total */
};

/* The operations of one job. */
struct job_operations {
	int64_t job;
	char *label; /* the job's id */
	struct operations operations;
	struct operation_name *names; /* of each operation */
	size_t name_cap;
	struct hash_map by_name; /* into names */
	struct operation_event *events;
	size_t event_count, event_cap;
	struct operation_root *roots;
	size_t root_count, root_cap;
	uint64_t images; /* of the job */
	size_t phases;   /* of the job, if they were asked for */
};
/* The operation of this name; a new one if there is none. phase: of phase_origins; NULL: of tags.
 */
size_t operation_named(struct job_operations *jo, const char *text, struct value *tags, bool rest,
		       const char *phase);
void job_operations_release(struct job_operations *jo);
/* Reads the job. 0 or a negative errno, with the store's message. */
int job_operations_load(struct job_operations *jo, struct store *s, int64_t job, const char *label,
			const struct operation_query *q);

/* The metrics of an operation: those of processes that can be added up, then the sum of rssmax over
 * all threads. */
#define OPERATION_METRICS_MAX 48
extern const char operation_rssmax_sum[];
size_t operation_metrics(const enum metric_id **ret); /* without the last */
/* Reads "cpu_time", "duration", "processes", "images", "runs" or the name of a metric. */
#define OPERATION_BY_CPU (-1)
#define OPERATION_BY_DURATION (-2)
#define OPERATION_BY_PROCESSES (-3)
#define OPERATION_BY_IMAGES (-4)
#define OPERATION_BY_RUNS (-5)
bool operation_metric_find(const char *name, int *ret);
int64_t operation_value(const struct operation *o, int metric, enum operation_duration how);

/* ---- all jobs -------------------------------------------------------------------------------- */

/* Adds the operations of a job to those of others with the same tags. *total is zero at first. */
void job_operations_merge(struct job_operations *total, const struct job_operations *from);

struct operation_list {
	struct job_operations *jobs;
	size_t count, cap;
};
void operation_list_release(struct operation_list *l);

struct operation_output {
	int metric; /* sorted by it, in descending order */
	const char *metric_name;
	enum operation_duration how;
	bool total; /* the same operation of all jobs as one */
	uint64_t limit;
	enum proc_form form;
	FILE *f;
};
/* Each returns the number of rows, or a negative errno. */
int operation_list_print(struct operation_list *l, const struct operation_output *o);
int operation_roots_print(struct operation_list *l, const struct operation_output *o);

/* The share of operations in a metric of their jobs. */
struct operation_cost {
	const char *set; /* "data movement": operations of the query's tags */
	int64_t *totals; /* of each job: the metric of the whole job; UNKNOWN: it has none */
};
/* The metric of a whole job, from the store; UNKNOWN: it has none. */
int operation_job_total(struct store *s, int64_t job, const struct operation_output *o,
			int64_t *ret);
int operation_cost_print(struct operation_list *l, const struct operation_cost *c,
			 const struct operation_output *o);
