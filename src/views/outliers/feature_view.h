/* Prints features: the range of each over jobs, processes or threads, its distribution and modes.
 */
#pragma once

#include <stdio.h>

#include "views/outliers/outlier_search.h"
#include "views/processes/process_list.h"

/* One row per feature. 0, or a negative errno with the reason in *why; without a reason, the output
 * failed. */
int features_print(const struct outlier_request *q, struct store *s, enum proc_form form, FILE *f,
		   struct strbuf *why);
