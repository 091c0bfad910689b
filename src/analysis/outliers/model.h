/*
 * The numbers of a reference model, in the JSON shape that store/analysis/models.h describes:
 * finding and setting them.
 */
#pragma once

#include "analysis/outliers/multivariate.h"
#include "analysis/outliers/outliers.h"
#include "core/value.h"

/* The numbers of whole jobs, or of an operation by its tags (a dict); NULL: it has none. */
const struct value *model_computed(const struct value *model, const struct value *tags);
/* Is it a model of operations? */
bool model_of_operations(const struct value *model);

/* Of one feature, by all methods that the model has; false: none has the feature. */
bool model_feature(const struct value *computed, const char *feature, struct feature_model *ret);
void model_set_feature(struct value *computed, const char *feature, const struct feature_model *m);

/* Names of all features that the model has; a list for the caller to free. */
struct value *model_all_features(const struct value *model);
/* The same of those that are active: all of them, unless the model names some. */
struct value *model_features(const struct value *model);
bool model_uses(const struct value *features, const char *feature);
/* Does any part of the model have this method? */
bool model_has_method(const struct value *model, enum outlier_method m);

bool model_has_detector(const struct value *model, enum detector k);
/* Those of a model that was made with detectors, as bits; 0: it was made with methods. */
unsigned model_only_detectors(const struct value *model);

/* What a model keeps for a detector: the rows of its jobs, d features each. */
struct detector_model {
	double max; /* highest score */
	double *x;
	size_t n;
};
/* Of these features, names separated by commas; false: the model has none. The caller frees x. */
bool model_detector(const struct value *computed, enum detector k, const char *features, size_t d,
		    struct detector_model *ret);
void model_set_detector(struct value *computed, enum detector k, const char *features, size_t d,
			const struct detector_model *m);

struct value *value_real(double v);
/* A number of either kind; false: it is not a number. */
bool value_number(const struct value *v, double *ret);
