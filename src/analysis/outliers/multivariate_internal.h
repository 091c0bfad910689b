/* What the files of the module "multivariate" share. */
#pragma once

#include <stdint.h>

#include "analysis/outliers/multivariate.h"

/* A copy of a matrix with each column at mean 0 and standard deviation 1; constant ones at 0. Freed
 * by the caller. */
double *standardized(const double *x, size_t n, size_t d);
/* The next of a series of random numbers; the same for the same seed, which is not 0. */
uint64_t next_random(uint64_t *state);
/* Detectors; n rows of d features. 0, -EIO, or -ENODATA: too few rows for so many features. */
int detect_abod(const double *x, size_t n, size_t d, double *scores);
int detect_cof(const double *x, size_t n, size_t d, double *scores);
int detect_hbos(const double *x, size_t n, size_t d, double *scores);
int detect_iforest(const double *x, size_t n, size_t d, double *scores);
int detect_mcd(const double *x, size_t n, size_t d, double *scores);
int detect_knn(const double *x, size_t n, size_t d, double *scores);
int detect_ocsvm(const double *x, size_t n, size_t d, double *scores);
