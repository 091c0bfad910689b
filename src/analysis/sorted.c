/* Sorted values. */
#include "analysis/sorted.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void sort_values(double *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), by_value);
}

double sorted_median(const double *v, size_t n)
{
	return n % 2 ? v[n / 2] : v[n / 2 - 1] + (v[n / 2] - v[n / 2 - 1]) / 2;
}
