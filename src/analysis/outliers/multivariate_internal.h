/* What the files of the module "multivariate" share. */
#pragma once

#include "analysis/outliers/multivariate.h"

/* A copy of a matrix with each column at mean 0 and standard deviation 1; constant ones at 0. Freed
 * by the caller. */
double *standardized(const double *x, size_t n, size_t d);
/* Detectors; n rows of d features. 0 or -EIO. */
int detect_abod(const double *x, size_t n, size_t d, double *scores);
int detect_cof(const double *x, size_t n, size_t d, double *scores);
int detect_hbos(const double *x, size_t n, size_t d, double *scores);
int detect_iforest(const double *x, size_t n, size_t d, double *scores);
int detect_knn(const double *x, size_t n, size_t d, double *scores);
int detect_ocsvm(const double *x, size_t n, size_t d, double *scores);
