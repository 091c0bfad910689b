/* Prints outliers: how many methods flag each row and feature, and what the flagged values are. */
#pragma once

#include <stdio.h>

#include "views/outliers/outlier_search.h"

enum outlier_form { OUTLIER_TABLE, OUTLIER_JSON, OUTLIER_CSV };

/*
 * Jobs and operations: one line each, with the number of methods that flag it by each feature.
 * Processes and threads: only those that are flagged. A table is followed by the flagged values
 * with what is typical. 0 or a negative errno.
 */
int outlier_print(const struct outlier_request *q, const struct outlier_result *res,
		  struct store *s, enum outlier_form form, FILE *f);
