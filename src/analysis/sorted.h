/* Sorted values. */
#pragma once

#include <stddef.h>

/* Sorts in place; values must not be NaN. */
void sort_values(double *v, size_t n);
/* The median of sorted values, n > 0. */
double sorted_median(const double *v, size_t n);
