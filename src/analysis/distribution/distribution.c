/* See distribution.h; the tests themselves are in its module. */
#include "analysis/distribution/distribution.h"

#include "core/module.h"

const char *const distribution_names[DIST_COUNT] = {
	[DIST_UNKNOWN] = "unknown",
	[DIST_NORMAL] = "normal",
	[DIST_UNIFORM] = "uniform",
	[DIST_CONSTANT] = "constant",
};

const char *const dist_test_names[TEST_COUNT] = {
	[TEST_SHAPIRO] = "shapiro_wilk",
	[TEST_KS_NORMAL] = "kolmogorov_smirnov_normal",
	[TEST_DAGOSTINO] = "dagostino_k2",
	[TEST_KS_UNIFORM] = "kolmogorov_smirnov_uniform",
};

const struct distribution_functions *distributions(struct strbuf *why)
{
	const struct module *m = module_load("distribution", why);

	return m ? m->functions : NULL;
}
