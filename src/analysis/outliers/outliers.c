/* See outliers.h. */
#include "analysis/outliers/outliers.h"

#include "core/util.h"

void outlier_rules_init(struct outlier_rules *r)
{
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		r->use[m] = true;
		r->threshold[m] = outlier_methods[m].threshold;
	}
}

unsigned outlier_rules_count(const struct outlier_rules *r)
{
	unsigned n = 0;

	for (enum outlier_method m = 0; m < METHOD_COUNT; m++)
		n += r->use[m];
	return n;
}

int flag_outliers(const struct outlier_rules *rules, const struct feature_model *model,
		  const double *v, size_t n, uint8_t *flags, double *ret_excess)
{
	_cleanup_free_ double *scores = xmalloc((n + 1) * sizeof(*scores));
	double excess = 0;

	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		const struct score_params *params = model ? &model->params[m] : NULL;
		double threshold = params ? params->max : rules->threshold[m], highest = 0;

		if (!rules->use[m] || (model && !model->has[m]))
			continue;
		int r = score_values(m, v, n, params, scores, NULL);
		if (r < 0)
			return r;
		for (size_t i = 0; i < n; i++) {
			if (scores[i] > threshold)
				flags[i] |= (uint8_t)(1u << m);
			highest = scores[i] > highest ? scores[i] : highest;
		}
		if (highest > threshold)
			excess += highest - threshold;
	}
	if (ret_excess)
		*ret_excess = excess;
	return 0;
}

unsigned flag_count(uint8_t flags)
{
	return (unsigned)__builtin_popcount(flags);
}

int fit_feature(const struct outlier_rules *rules, const double *v, size_t n,
		struct feature_model *ret)
{
	_cleanup_free_ double *scores = xmalloc((n + 1) * sizeof(*scores));
	struct feature_model fit = {0};
	int r = 0;

	for (enum outlier_method m = 0; m < METHOD_COUNT && r == 0; m++) {
		if (!rules->use[m])
			continue;
		fit.has[m] = true;
		r = score_values(m, v, n, NULL, scores, &fit.params[m]);
	}
	if (r == 0)
		*ret = fit;
	return r;
}
