/* What the files of the module "distribution" share. */
#pragma once

#include <stddef.h>

/* Probability that a standard normal value is above z. */
double normal_tail(double z);
/* The value that a standard normal one is below with probability p, 0 < p < 1. */
double normal_quantile(double p);
/* Probability that the two-sided statistic of Kolmogorov and Smirnov of n values is above d. */
double kolmogorov_tail(size_t n, double d);
