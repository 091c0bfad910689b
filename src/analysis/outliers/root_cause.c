/* See root_cause.h. */
#include "analysis/outliers/root_cause.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"
#include "analysis/sorted.h"

void describe_values(const double *v, size_t n, struct description *ret)
{
	_cleanup_free_ double *sorted = xmalloc((n + 1) * sizeof(*sorted));

	*ret = (struct description){.count = n};
	if (!n)
		return;
	memcpy(sorted, v, n * sizeof(*sorted));
	sort_values(sorted, n);
	ret->mean = mean_of(sorted, n);
	ret->std = deviation_of(sorted, n, 1);
	ret->min = sorted[0];
	ret->q1 = percentile(sorted, n, 25);
	ret->median = percentile(sorted, n, 50);
	ret->q3 = percentile(sorted, n, 75);
	ret->max = sorted[n - 1];
}

static double ratio_of(double score, double ref_max)
{
	if (ref_max != 0)
		return score / ref_max;
	return score == 0 ? 0 : INFINITY;
}

int root_cause_of(const struct outlier_rules *rules, const struct feature_model *model,
		  const double *v, size_t n, double value, struct root_cause *ret)
{
	struct feature_model own = {0};
	int r = v ? fit_feature(rules, v, n, &own) : 0;

	ret->value = value;
	ret->reference = (struct description){0};
	ret->total = 0;
	if (v && r == 0)
		describe_values(v, n, &ret->reference);
	for (enum outlier_method m = 0; m < METHOD_COUNT && r == 0; m++) {
		const struct feature_model *use = v ? &own : model;

		ret->has[m] = rules->use[m] && use->has[m];
		if (!ret->has[m])
			continue;
		r = score_values(m, &value, 1, &use->params[m], &ret->score[m], NULL);
		ret->ref_max[m] = use->params[m].max;
		ret->ratio[m] = ratio_of(ret->score[m], ret->ref_max[m]);
		ret->total += ret->ratio[m];
	}
	return r;
}

static int by_ratio(const void *a, const void *b)
{
	const struct root_cause *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->feature < y->feature ? -1 : x->feature > y->feature;
}

void root_causes_sort(struct root_cause *v, size_t n)
{
	if (n)
		qsort(v, n, sizeof(*v), by_ratio);
}
