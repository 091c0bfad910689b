/*
 * Modes of values: the centers of their clusters. k-means for 1 to 9 clusters; the elbow of the
 * remaining distances (the kneedle method of Satopaa and others, 2011) and the highest mean
 * silhouette must agree on the number of clusters, otherwise there is one. In one dimension the
 * best clusters are found exactly, so that no choice is random.
 */
#pragma once

#include <stddef.h>

#define MODES_MAX 9
/* The silhouette of 9 clusters needs more values than clusters. */
#define MODES_MIN_VALUES (MODES_MAX + 1)

/*
 * The modes of n values, the smallest first. -ENODATA: fewer than MODES_MIN_VALUES, -EDOM: a value
 * is not finite.
 */
int modes_find(const double *v, size_t n, double modes[MODES_MAX], size_t *ret_count);
