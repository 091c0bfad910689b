/*
 * formulas: applies functions of the analysis to numbers, for comparison with other programs. Reads
 * lines "KIND ROWS COLUMNS NUMBER...", and prints one line of numbers for each; "error ERRNO" if
 * the function fails. Kinds are z, madz and iqr (the scores, then what a model keeps), distribution
 * (its number, whether each test was done, its statistic and p), modes, components (shares of
 * variance, then scores), and the names of detectors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/distribution/distribution.h"
#include "analysis/distribution/modes.h"
#include "analysis/outliers/multivariate.h"
#include "analysis/outliers/outliers.h"
#include "core/util.h"

static void print(const double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%.17g ", v[i]);
}

static int score(enum outlier_method m, const double *x, size_t n)
{
	_cleanup_free_ double *scores = xcalloc(n + 1, sizeof(*scores));
	struct score_params p = {0};

	int r = score_values(m, x, n, NULL, scores, &p);
	if (r == 0) {
		print(scores, n);
		print((double[]){p.max, p.center, p.spread}, 3);
	}
	return r;
}

static int distribution(const double *x, size_t n)
{
	struct dist_result results[TEST_COUNT];
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct distribution_functions *fn = distributions(&why);
	enum distribution d = DIST_UNKNOWN;

	int r = fn ? fn->check(x, n, results, &d) : -1;
	for (size_t i = 0; i < TEST_COUNT && r == 0; i++)
		print((double[]){(double)d, results[i].done, results[i].statistic, results[i].p},
		      4);
	return r;
}

static int modes(const double *x, size_t n)
{
	double found[MODES_MAX];
	size_t count = 0;

	int r = modes_find(x, n, found, &count);
	if (r == 0)
		print(found, count);
	return r;
}

static int multivariate_scores(const char *kind, const double *x, size_t n, size_t d)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_pca_ struct pca p = {0};
	_cleanup_free_ double *scores = xcalloc(n + 1, sizeof(*scores));
	const struct multivariate_functions *fn = multivariate(&why);
	bool components = !strcmp(kind, "components");

	if (!fn)
		return -1;
	int r = components ? fn->pca(x, n, d, &p)
			   : fn->detect(detector_by_name(kind), x, n, d, scores);
	if (r == 0 && components) {
		print(p.ratios, p.components);
		print(p.scores, n * p.components);
	} else if (r == 0) {
		print(scores, n);
	}
	return r;
}

int main(void)
{
	char kind[32];
	size_t n, d;

	while (scanf("%31s %zu %zu", kind, &n, &d) == 3) {
		_cleanup_free_ double *x = xcalloc(n * d + 1, sizeof(*x));
		enum outlier_method m = outlier_method_by_name(kind);
		int r;

		for (size_t i = 0; i < n * d; i++)
			if (scanf("%lf", &x[i]) != 1)
				return 1;
		if (m < METHOD_COUNT)
			r = score(m, x, n);
		else if (!strcmp(kind, "distribution"))
			r = distribution(x, n);
		else if (!strcmp(kind, "modes"))
			r = modes(x, n);
		else
			r = multivariate_scores(kind, x, n, d);
		if (r < 0)
			printf("error %d", -r);
		printf("\n");
	}
	return 0;
}
