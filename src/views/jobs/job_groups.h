/* Jobs that can be compared with each other: grouped by the values of some of their tags. */
#pragma once

#include <stdio.h>

#include "views/processes/process_list.h"

/*
 * Groups the jobs that a filter selects by the values of these tags; a job without a tag has an
 * empty value. One row per group, that with the longest jobs together first; limit and offset count
 * groups. The number of all groups, or a negative errno.
 */
int job_groups_print(struct store *s, const struct job_filter *f, const char *const *keys,
		     size_t key_count, enum proc_form form, FILE *out);
