/*
 * Outliers among values of one feature, by one or more methods of statistics.h. Which rows and
 * features these are is up to the caller.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analysis/outliers/statistics.h"

/* Without a model, this many jobs are needed: of three, the median is always one of them. */
#define OUTLIERS_MIN_ROWS 4
/* For a model, whose values are known to be good. */
#define MODEL_MIN_ROWS 3

struct outlier_rules {
	bool use[METHOD_COUNT];
	double threshold[METHOD_COUNT];
};

/* All methods with their default thresholds. */
void outlier_rules_init(struct outlier_rules *r);
/* Number of methods in use. */
unsigned outlier_rules_count(const struct outlier_rules *r);

/* What a model keeps of one feature. */
struct feature_model {
	bool has[METHOD_COUNT];
	struct score_params params[METHOD_COUNT];
};

/*
 * Sets bit m of flags[i] if method m says that value i is an outlier: its score is above the
 * threshold, or with a model above the highest score of the model. *ret_excess (may be NULL) is by
 * how much the highest scores are above, added over the methods, which ranks operations. Methods
 * that the model does not have are skipped. Errors as score_values().
 */
int flag_outliers(const struct outlier_rules *rules, const struct feature_model *model,
		  const double *v, size_t n, uint8_t *flags, double *ret_excess);
/* Number of methods in flags. */
unsigned flag_count(uint8_t flags);
/* What a model of these values keeps. Errors as score_values(). */
int fit_feature(const struct outlier_rules *rules, const double *v, size_t n,
		struct feature_model *ret);
