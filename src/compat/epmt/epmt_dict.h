/* Jobs and processes of the store as EPMT has them: dicts with its keys. */
#pragma once

#include "store/query.h"
#include "views/processes/process_list.h"

struct epmt_filter;

/* A job, with its sums among its keys or in a separate dict. store_error() has the reason. */
int epmt_job_dict(struct store *s, int64_t job, bool separate_sums, struct value **ret);

/* The reference models of the store, one dict each. */
int epmt_models(struct store *s, struct value **ret);
/* A list with a dict per job and operation, or with f->by_tag per operation. */
int epmt_op_metrics(struct store *s, const struct epmt_filter *f, char *const *ids, size_t count,
		    struct value **ret);

/* The processes that a filter selects, one after the other. */
struct epmt_processes {
	const struct epmt_filter *filter;
	struct store *store;
	struct stmt *st, *events;
	struct proc_list list;
	size_t next; /* in the list: the first that was not asked for yet */
	int64_t job; /* whose zone is known */
	char *zone;
};
/* ids: of jobs; none: of all. */
int epmt_processes_begin(struct epmt_processes *p, struct store *s, const struct epmt_filter *f,
			 char *const *ids, size_t id_count);
/* 1: the next one, 0: no more. */
int epmt_processes_next(struct epmt_processes *p);
int64_t epmt_process_id(const struct epmt_processes *p);
int epmt_process_dict(struct epmt_processes *p, struct value **ret);
void epmt_processes_end(struct epmt_processes *p);

/* The threads of a process, one dict each; -ENOENT when there is no such process. */
int epmt_thread_dicts(struct store *s, int64_t process, struct value *list);
