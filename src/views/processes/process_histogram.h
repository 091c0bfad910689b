/* How many processes have each value of a key, such as each executable, and the sum of a metric
 * over them. */
#pragma once

#include "views/processes/process_list.h"

struct proc_histogram {
	const char *key; /* of filters of processes, one that they can be sorted by */
	const char *sum; /* the same, a number; NULL: none */
};
/* Are its keys ones that can be counted and summed? -EINVAL with the reason in *why. */
int proc_histogram_check(const struct proc_histogram *h, struct strbuf *why);
/*
 * Counts the processes of all the jobs together that match the filter, and prints one row per
 * value: that with the largest sum, or number of processes, first. The limit and the offset of the
 * filter are about these rows. The number of rows, or a negative errno.
 */
int proc_histogram_print(const struct proc_histogram *h, struct store *s, const int64_t *jobs,
			 size_t count, const struct proc_filter *filter, enum proc_form form,
			 FILE *f);
