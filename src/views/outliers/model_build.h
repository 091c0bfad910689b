/* Makes reference models from stored jobs, and prints them. */
#pragma once

#include <stdio.h>

#include "views/outliers/outlier_print.h"

/*
 * The JSON of a model, see store/analysis/models.h, of the jobs of a request: of whole jobs, or of
 * their operations. before: an older model of the same name, whose tags and time of creation are
 * kept; NULL: none. notes: lines about what was left out. 0, or a negative errno with the reason in
 * *why.
 */
int model_build(const struct outlier_request *q, struct store *s, const char *name,
		const struct value *tags, const struct model *before, struct value **ret,
		struct strbuf *notes, struct strbuf *why);

/* One line per model; the number of models or a negative errno. */
int model_print_list(struct store *s, enum outlier_form form, FILE *f);
/* What it is made of, and its numbers. */
int model_print(const struct model *m, enum outlier_form form, FILE *f);
/* Its features, and which of them are active. */
int model_print_features(const struct model *m, enum outlier_form form, FILE *f);
