/* Shared by operation_print.c and operation_cost.c. */
#pragma once

#include "views/operations/operation_list.h"

struct operation_row {
	const struct job_operations *jo;
	size_t at;     /* index of the operation in it */
	int64_t value; /* of the metric that rows are sorted by */
};
/* All operations of the jobs by descending value; freed by the caller. */
struct operation_row *operation_rows(const struct job_operations *jobs, size_t count,
				     const struct operation_output *o, size_t *ret);
/* A value of the output's metric. */
void operation_cell(struct stream_table *g, const struct operation_output *o, int64_t v);
