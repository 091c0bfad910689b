/*
 * Univariate statistics for outlier detection: percentiles, z score, interquartile range and
 * modified z score. Formulas and rounding are those of the reference models that can be imported.
 * Pure functions: no allocation is left behind, the input stays as it is.
 */
#pragma once

#include <stddef.h>

enum outlier_method { METHOD_IQR, METHOD_MADZ, METHOD_Z, METHOD_COUNT };

/*
 * What a model keeps of the values of one feature:
 *              max             center          spread
 *   IQR        0               lower quartile  upper quartile, both such that all values just fit
 *   MADZ       highest score   median          median absolute deviation, or the mean if it is 0
 *   Z          highest score   mean            standard deviation of the population
 */
struct score_params {
	double max, center, spread;
};

struct method_row {
	const char *name;   /* as on the command line */
	const char *stored; /* as models call it */
	double threshold;   /* a value with a higher score is an outlier */
	const char *help;
};
extern const struct method_row outlier_methods[METHOD_COUNT];
/* By either name; METHOD_COUNT: none. */
enum outlier_method outlier_method_by_name(const char *name);

/* To four decimals, halves to even as in NumPy. */
double round4(double v);
/* Percentile q (0 to 100) of n > 0 sorted values, interpolated linearly. */
double percentile(const double *sorted, size_t n, double q);
double mean_of(const double *v, size_t n);
/* Standard deviation; ddof 0: of the population, 1: of a sample. 0 for too few values. */
double deviation_of(const double *v, size_t n, unsigned ddof);

/*
 * Scores of n values, not negative: for IQR 1 or 0, whether the value is outside the fences. With a
 * model, its center and spread are used instead of those of the values. *ret_params (may be NULL)
 * gets what a model of these values keeps. -ENODATA without values, -EDOM if a value is not finite.
 */
int score_values(enum outlier_method method, const double *v, size_t n,
		 const struct score_params *model, double *scores, struct score_params *ret_params);
