/*
 * Root causes: by which features a job is unlike a reference. The score of the job is divided by
 * the highest score of the reference; features are ranked by that ratio.
 */
#pragma once

#include "analysis/outliers/outliers.h"

/* The values of the reference, as in a table of statistics. */
struct description {
	size_t count; /* 0: not known, only the model is */
	double mean, std, min, q1, median, q3, max;
};

struct root_cause {
	size_t feature; /* its number */
	double value;   /* of the job */
	struct description reference;
	bool has[METHOD_COUNT];
	double ref_max[METHOD_COUNT], score[METHOD_COUNT], ratio[METHOD_COUNT];
	double total; /* sum of the ratios; infinite if the reference has no spread at all */
};

void describe_values(const double *v, size_t n, struct description *ret);

/* One feature: with the values of the reference, or with what a model keeps of them (v NULL).
 * Errors as score_values(). */
int root_cause_of(const struct outlier_rules *rules, const struct feature_model *model,
		  const double *v, size_t n, double value, struct root_cause *ret);
/* The highest ratio first, equal ones in the order of their features. */
void root_causes_sort(struct root_cause *v, size_t n);
