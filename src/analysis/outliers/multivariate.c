/* See multivariate.h; the functions themselves are in its module. */
#include "analysis/outliers/multivariate.h"

#include <stdlib.h>
#include <string.h>

#include "core/module.h"

const struct detector_row detectors[DETECTOR_COUNT] = {
	[DETECTOR_ABOD] = {"abod", "pyod.models.abod", 6,
			   "variance of the angles to the 5 nearest neighbours"},
	[DETECTOR_COF] = {"cof", "pyod.models.cof", 3,
			  "how loosely connected to its 20 nearest neighbours"},
	[DETECTOR_HBOS] = {"hbos", "pyod.models.hbos", 2, "histograms of all features"},
	[DETECTOR_IFOREST] = {"iforest", "pyod.models.iforest", 4,
			      "how few random cuts isolate it"},
	[DETECTOR_KNN] = {"knn", "pyod.models.knn", 6, "distance to the 5th nearest neighbour"},
	[DETECTOR_MCD] = {"mcd", "pyod.models.mcd", 6,
			  "distance to the mean by the minimum covariance determinant"},
	[DETECTOR_OCSVM] = {"ocsvm", "pyod.models.ocsvm", 2,
			    "outside the boundary of a one-class support vector machine"},
	[DETECTOR_PCA] = {"pca", "pyod.models.pca", 3, "distance to the principal components"},
};

enum detector detector_by_name(const char *name)
{
	enum detector k = 0;

	while (k < DETECTOR_COUNT && strcmp(name, detectors[k].name) != 0 &&
	       strcmp(name, detectors[k].stored) != 0)
		k++;
	return k;
}

void pca_release(struct pca *p)
{
	free(p->ratios);
	free(p->loadings);
	free(p->scores);
	*p = (struct pca){0};
}

const struct multivariate_functions *multivariate(struct strbuf *why)
{
	const struct module *m = module_load("multivariate", why);

	return m ? m->functions : NULL;
}

size_t pca_count(const struct pca *p, double desired)
{
	double sum = 0;
	size_t n = 0, all = 0;

	/* what has no variance but rounding is no component */
	while (all < p->components && p->ratios[all] > 1e-12)
		all++;
	if (desired >= 1)
		return desired < (double)all ? (size_t)desired : all ? all : 1;
	while (n < all && sum <= desired)
		sum += p->ratios[n++];
	return n ? n : 1;
}
