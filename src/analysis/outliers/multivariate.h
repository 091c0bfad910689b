/*
 * Principal components, and outlier detectors that look at all features of a row together. They
 * need LAPACK and libm, and are in the module "multivariate". Matrices are row after row. Every
 * result is the same for the same input: signs of components are fixed, and random choices have a
 * fixed seed.
 */
#pragma once

#include <stddef.h>

#include "core/strbuf.h"

enum detector {
	DETECTOR_ABOD,
	DETECTOR_COF,
	DETECTOR_HBOS,
	DETECTOR_IFOREST,
	DETECTOR_KNN,
	DETECTOR_MCD,
	DETECTOR_OCSVM,
	DETECTOR_PCA,
	DETECTOR_COUNT
};

struct detector_row {
	const char *name;   /* as on the command line */
	const char *stored; /* as models call it */
	size_t min_rows;
	const char *help;
};
extern const struct detector_row detectors[DETECTOR_COUNT];
/* By either name; DETECTOR_COUNT: none. */
enum detector detector_by_name(const char *name);

/* Larger models take too long: most detectors compare all pairs of rows. */
#define DETECTOR_ROWS_MAX 2000

struct pca {
	size_t components, features;
	double *ratios;   /* share of the variance of each component */
	double *loadings; /* components x features */
	double *scores;   /* rows x components */
};
void pca_release(struct pca *p);
#define _cleanup_pca_ _cleanup_(pca_release)

struct multivariate_functions {
	/* All components of n rows with d features, which are standardized first. -EIO: LAPACK
	 * failed. */
	int (*pca)(const double *x, size_t n, size_t d, struct pca *ret);
	/* A score for each row, rounded to four decimals; higher is more unusual. The order of rows
	 * does not matter. -ENODATA: too few rows, -E2BIG: too many, -EDOM: a score is not finite.
	 */
	int (*detect)(enum detector k, const double *x, size_t n, size_t d, double *scores);
};

/* Loads the module; NULL with the reason in *why. */
const struct multivariate_functions *multivariate(struct strbuf *why);

/* How many components: desired of 1 or more is their number, below 1 the share of the variance that
 * they explain together. */
size_t pca_count(const struct pca *p, double desired);
