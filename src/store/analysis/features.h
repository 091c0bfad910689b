/*
 * Features of stored jobs, and of what they consist of, for the analysis: numbers by name, one row
 * per job, operation, process or thread. jobs: numbers of jobs.
 */
#pragma once

#include "core/feature_table.h"
#include "core/value.h"
#include "store/store.h"

/* One row per job, in the order given; the id of a row is the index of its job. -ENOENT: a job is
 * no longer there; *ret_gone is its index. */
int features_of_jobs(struct feature_table *t, struct store *s, const int64_t *jobs, size_t count,
		     size_t *ret_gone);

/* The distinct tags of operations, sorted by their JSON text. */
struct feature_operations {
	struct operation {
		struct value *tags; /* dict, sorted by keys */
		char *text;         /* the same as JSON, in the form of Python's dumps() */
	} * v;
	size_t count, cap;
};
void feature_operations_release(struct feature_operations *l);
#define _cleanup_operations_ _cleanup_(feature_operations_release)
/* {"op": "build", "op_instance": "4"} */
void operation_text(const struct value *tags, struct strbuf *out);

/*
 * One row per job and operation: sums over the processes that have the tags. An operation is a set
 * of tags that is exactly that of the processes, or one that `tags` (a list of dicts, NULL: all)
 * names, of which the processes have at least these tags. The id of a row is the index of its job,
 * its group the number of the operation; rows are sorted by group, then by job.
 */
int features_of_operations(struct feature_table *t, struct feature_operations *ops, struct store *s,
			   const int64_t *jobs, size_t count, const struct value *tags);

/* One row per process, id: its key in the store; one per thread, id: that of its process, part: the
 * number of the thread. wanted: names of the only columns, NULL: all. */
int features_of_processes(struct feature_table *t, struct store *s, const int64_t *jobs,
			  size_t count, const char *const *wanted, size_t wanted_count);
int features_of_threads(struct feature_table *t, struct store *s, const int64_t *jobs, size_t count,
			const char *const *wanted, size_t wanted_count);
