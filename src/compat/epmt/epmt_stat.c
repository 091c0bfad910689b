/*
 * Called as `epmt stat`: the statistics of numbers that the Python modules have, so that there is
 * one implementation of them. Standard input is one JSON object, standard output another:
 *
 *   {"method": "z_score", "columns": [[1, 2, 3], ...], "params": [[max, center, spread], null ...]}
 *       iqr and modified_z_score likewise: an array with scores, max, center and spread of each
 *   {"method": "rca", "methods": [...], "columns": [[...], ...], "values": [1, ...]}
 *       an array with the statistics of each column, and the scores and ratios of its value
 *   {"method": "components", "rows": [[1, 2], ...]}: ratios, loadings and scores
 *   {"method": "cof", "rows": [[1, 2], ...], "more": [[3, 4], ...]}
 *       every detector: scores of the rows; with "more": of each of these as one more row
 *   {"method": "distribution", "values": [1, ...]}: {test: p value}, without those not done
 *   {"method": "modes", "values": [1, ...]}: an array of the modes
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/distribution/distribution.h"
#include "analysis/distribution/modes.h"
#include "analysis/outliers/model.h"
#include "analysis/outliers/multivariate.h"
#include "analysis/outliers/root_cause.h"
#include "compat/epmt/epmt.h"

#define INPUT_MAX (256u << 20)

/* ---- numbers in and out --------------------------------------------------------------------- */

/* Rows or columns of numbers, all with the same count. */
struct matrix {
	double *x; /* one after the other */
	size_t count, width;
};

static void matrix_release(struct matrix *m)
{
	free(m->x);
}
#define _cleanup_matrix_ _cleanup_(matrix_release)

static int take_numbers(const struct value *list, const char *name, double **ret, size_t *ret_n)
{
	size_t n = list && list->kind == VALUE_LIST ? list->list.count : 0;
	double *x = xcalloc(n + 1, sizeof(*x));

	for (size_t i = 0; i < n; i++)
		if (!value_number(list->list.items[i], &x[i])) {
			free(x);
			return fail_with(-EINVAL, "stat: '%s' has an item that is not a number",
					 name);
		}
	*ret = x;
	*ret_n = n;
	return 0;
}

static int take_matrix(const struct value *request, const char *name, struct matrix *m)
{
	const struct value *list = value_get(request, name);

	if (!list || list->kind != VALUE_LIST || !list->list.count)
		return fail_with(-EINVAL, "stat: '%s' must be a list of lists of numbers", name);
	for (size_t i = 0; i < list->list.count; i++) {
		_cleanup_free_ double *x = NULL;
		size_t n = 0;
		int r = take_numbers(list->list.items[i], name, &x, &n);

		if (r < 0)
			return r;
		if (!n || (m->x && n != m->width))
			return fail_with(-EINVAL,
					 "stat: the lists of '%s' are empty or differ "
					 "in length",
					 name);
		if (!m->x)
			m->x = xcalloc(list->list.count * n, sizeof(*m->x));
		memcpy(m->x + i * n, x, n * sizeof(*x));
		m->width = n;
		m->count = i + 1;
	}
	return 0;
}

/* JSON has no infinity. */
static void add_number(struct json_writer *j, const char *key, double v)
{
	if (isinf(v))
		json_str(j, key, v > 0 ? "inf" : "-inf");
	else
		json_f64(j, key, v);
}

static void add_numbers(struct json_writer *j, const char *key, const double *v, size_t n)
{
	json_begin_array(j, key);
	for (size_t i = 0; i < n; i++)
		add_number(j, NULL, v[i]);
	json_end_array(j);
}

static int say_failure(int r)
{
	if (r == -ENODATA)
		return fail_with(r, "stat: too few values");
	if (r == -EDOM)
		return fail_with(r, "stat: a value or a score is not finite");
	return fail_with(r, "stat: %s", strerror(-r));
}

/* ---- one variable --------------------------------------------------------------------------- */

static int take_params(const struct value *all, size_t i, struct score_params *ret)
{
	const struct value *one =
		all && all->kind == VALUE_LIST && i < all->list.count ? all->list.items[i] : NULL;

	if (!one || one->kind != VALUE_LIST)
		return 0;
	return one->list.count == 3 && value_number(one->list.items[0], &ret->max) &&
			       value_number(one->list.items[1], &ret->center) &&
			       value_number(one->list.items[2], &ret->spread)
		       ? 1
		       : fail_with(-EINVAL, "stat: params are three numbers each");
}

static int add_scores(const struct value *request, enum outlier_method method,
		      struct json_writer *j)
{
	_cleanup_matrix_ struct matrix m = {0};
	int r = take_matrix(request, "columns", &m);

	json_begin_array(j, NULL);
	for (size_t i = 0; r >= 0 && i < m.count; i++) {
		_cleanup_free_ double *scores = xcalloc(m.width, sizeof(*scores));
		struct score_params model = {0}, fitted = {0};

		r = take_params(value_get(request, "params"), i, &model);
		if (r < 0)
			break;
		r = score_values(method, m.x + i * m.width, m.width, r ? &model : NULL, scores,
				 &fitted);
		if (r < 0)
			return say_failure(r);
		json_begin_object(j, NULL);
		add_numbers(j, "scores", scores, m.width);
		add_number(j, "max", fitted.max);
		add_number(j, "center", fitted.center);
		add_number(j, "spread", fitted.spread);
		json_end_object(j);
	}
	json_end_array(j);
	return r;
}

/* ---- root causes ---------------------------------------------------------------------------- */

static int take_rules(const struct value *list, struct outlier_rules *rules)
{
	outlier_rules_init(rules);
	for (size_t m = 0; m < METHOD_COUNT; m++)
		rules->use[m] = false;
	for (size_t i = 0; list && list->kind == VALUE_LIST && i < list->list.count; i++) {
		const struct value *name = list->list.items[i];
		enum outlier_method m = name->kind == VALUE_STR
						? outlier_method_by_name(name->str.data)
						: METHOD_COUNT;

		if (m == METHOD_COUNT)
			return fail_with(-EINVAL, "stat: root causes are found by iqr, "
						  "modified_z_score and z_score");
		rules->use[m] = true;
	}
	return outlier_rules_count(rules) ? 0 : fail_with(-EINVAL, "stat: no method is named");
}

static void add_cause(struct json_writer *j, const struct root_cause *c)
{
	const struct description *d = &c->reference;

	json_begin_object(j, NULL);
	json_u64(j, "count", d->count);
	add_number(j, "mean", d->mean);
	add_number(j, "std", d->std);
	add_number(j, "min", d->min);
	add_number(j, "25%", d->q1);
	add_number(j, "50%", d->median);
	add_number(j, "75%", d->q3);
	add_number(j, "max", d->max);
	add_number(j, "input", c->value);
	for (size_t m = 0; m < METHOD_COUNT; m++) {
		const char *name = outlier_methods[m].stored;
		_cleanup_free_ char *highest = xasprintf("ref_max_%s", name);
		_cleanup_free_ char *ratio = xasprintf("%s_ratio", name);

		if (!c->has[m])
			continue;
		add_number(j, highest, c->ref_max[m]);
		add_number(j, name, c->score[m]);
		add_number(j, ratio, c->ratio[m]);
	}
	json_end_object(j);
}

static int add_causes(const struct value *request, struct json_writer *j)
{
	_cleanup_matrix_ struct matrix m = {0};
	_cleanup_free_ double *values = NULL;
	struct outlier_rules rules;
	size_t n = 0;
	int r = take_rules(value_get(request, "methods"), &rules);

	if (r == 0)
		r = take_matrix(request, "columns", &m);
	if (r == 0)
		r = take_numbers(value_get(request, "values"), "values", &values, &n);
	if (r == 0 && n != m.count)
		r = fail_with(-EINVAL, "stat: every column needs one value");
	json_begin_array(j, NULL);
	for (size_t i = 0; r == 0 && i < m.count; i++) {
		struct root_cause c = {0};

		r = root_cause_of(&rules, NULL, m.x + i * m.width, m.width, values[i], &c);
		if (r < 0)
			return say_failure(r);
		add_cause(j, &c);
	}
	json_end_array(j);
	return r;
}

/* ---- several variables ---------------------------------------------------------------------- */

static int add_components(const struct multivariate_functions *f, const struct matrix *m,
			  struct json_writer *j)
{
	_cleanup_pca_ struct pca p = {0};
	int r = f->pca(m->x, m->count, m->width, &p);

	if (r < 0)
		return say_failure(r);
	json_begin_object(j, NULL);
	add_numbers(j, "ratios", p.ratios, p.components);
	json_begin_array(j, "loadings");
	for (size_t i = 0; i < p.components; i++)
		add_numbers(j, NULL, p.loadings + i * p.features, p.features);
	json_end_array(j);
	json_begin_array(j, "scores");
	for (size_t i = 0; i < m->count; i++)
		add_numbers(j, NULL, p.scores + i * p.components, p.components);
	json_end_array(j);
	json_end_object(j);
	return 0;
}

/* Each row of `more` is scored as one more row of the model, as models do it. */
static int add_each(const struct multivariate_functions *f, enum detector k, const struct matrix *m,
		    const struct matrix *more, struct json_writer *j)
{
	size_t n = m->count, d = m->width;
	_cleanup_free_ double *x = xcalloc((n + 1) * d, sizeof(*x));
	_cleanup_free_ double *scores = xcalloc(n + 1, sizeof(*scores));
	_cleanup_free_ double *last = xcalloc(more->count, sizeof(*last));

	if (more->width != d)
		return fail_with(-EINVAL, "stat: 'rows' and 'more' differ in their columns");
	memcpy(x, m->x, n * d * sizeof(*x));
	for (size_t i = 0; i < more->count; i++) {
		memcpy(x + n * d, more->x + i * d, d * sizeof(*x));
		int r = f->detect(k, x, n + 1, d, scores);
		if (r < 0)
			return say_failure(r);
		last[i] = scores[n];
	}
	add_numbers(j, NULL, last, more->count);
	return 0;
}

static int add_detected(const struct multivariate_functions *f, enum detector k,
			const struct matrix *m, struct json_writer *j)
{
	_cleanup_free_ double *scores = xcalloc(m->count, sizeof(*scores));
	int r = f->detect(k, m->x, m->count, m->width, scores);

	if (r < 0)
		return say_failure(r);
	add_numbers(j, NULL, scores, m->count);
	return 0;
}

static int add_multivariate(const struct value *request, enum detector k, struct json_writer *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_matrix_ struct matrix m = {0}, more = {0};
	int r = take_matrix(request, "rows", &m);

	if (r == 0 && value_get(request, "more"))
		r = take_matrix(request, "more", &more);
	if (r < 0)
		return r;
	const struct multivariate_functions *f = multivariate(&why);
	if (!f)
		return fail_with(-ENOENT, "%s", why.buf);
	if (k == DETECTOR_COUNT)
		return add_components(f, &m, j);
	return more.x ? add_each(f, k, &m, &more, j) : add_detected(f, k, &m, j);
}

/* ---- distributions -------------------------------------------------------------------------- */

static int add_tests(const double *v, size_t n, struct json_writer *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct distribution_functions *f = distributions(&why);
	struct dist_result results[TEST_COUNT] = {0};
	enum distribution d;

	if (!f)
		return fail_with(-ENOENT, "%s", why.buf);
	int r = f->check(v, n, results, &d);
	if (r < 0)
		return say_failure(r);
	json_begin_object(j, NULL);
	for (size_t i = 0; i < TEST_COUNT; i++)
		if (results[i].done)
			json_f64(j, dist_test_names[i], results[i].p);
	json_end_object(j);
	return 0;
}

static int add_modes(const double *v, size_t n, struct json_writer *j)
{
	double modes[MODES_MAX];
	size_t count = 0;
	int r = modes_find(v, n, modes, &count);

	if (r < 0)
		return say_failure(r);
	add_numbers(j, NULL, modes, count);
	return 0;
}

static int add_of_values(const struct value *request, bool modes, struct json_writer *j)
{
	_cleanup_free_ double *v = NULL;
	size_t n = 0;
	int r = take_numbers(value_get(request, "values"), "values", &v, &n);

	return r < 0 ? r : modes ? add_modes(v, n, j) : add_tests(v, n, j);
}

/* ---- requests ------------------------------------------------------------------------------- */

static int answer(const struct value *request, struct json_writer *j)
{
	const char *name = value_get_str(request, "method");
	enum outlier_method method = name ? outlier_method_by_name(name) : METHOD_COUNT;
	enum detector k = name ? detector_by_name(name) : DETECTOR_COUNT;

	if (!name)
		return fail_with(-EINVAL, "stat: the request has no method");
	if (method != METHOD_COUNT)
		return add_scores(request, method, j);
	if (!strcmp(name, "rca"))
		return add_causes(request, j);
	if (!strcmp(name, "distribution") || !strcmp(name, "modes"))
		return add_of_values(request, !strcmp(name, "modes"), j);
	if (k != DETECTOR_COUNT || !strcmp(name, "components"))
		return add_multivariate(request, k, j);
	return fail_with(-EINVAL, "stat: there is no method '%s'", name);
}

static int read_request(struct strbuf *text)
{
	char block[65536];
	size_t n;

	while ((n = fread(block, 1, sizeof(block), stdin)) > 0) {
		if (text->len + n > INPUT_MAX)
			return fail_with(-E2BIG, "stat: the request has more than %u MiB",
					 INPUT_MAX >> 20);
		strbuf_add(text, block, n);
	}
	return ferror(stdin) ? fail_with(-EIO, "stat: cannot read standard input") : 0;
}

int epmt_stat(struct context *ctx, const struct epmt *e)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_value_ struct value *request = NULL;

	(void)ctx;
	(void)e;
	if (read_request(&text) < 0)
		return EXIT_FAILED;
	if (value_from_json(text.buf, text.len, &request, &why) < 0)
		return fail_with(EXIT_FAILED, "stat: standard input is not JSON: %s", why.buf);
	if (answer(request, &j) < 0)
		return EXIT_FAILED;
	return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}
