/* Sums over the jobs of a store as table, JSON and CSV. */
#pragma once

#include "store/analysis/usage.h"
#include "views/processes/process_list.h"

/* title: of the first column and, in small letters, its key in JSON and CSV. limit: rows at most.
 * Returns the number of rows or a negative errno. */
int usage_print(const struct usage_table *t, const char *title, uint64_t limit, enum proc_form form,
		FILE *f);
