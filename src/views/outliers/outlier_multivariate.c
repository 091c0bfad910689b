/* Outliers by all features together: detectors, and principal components; see outlier_search.h. */
#include <errno.h>
#include <math.h>

#include "analysis/outliers/model.h"
#include "views/outliers/outlier_search.h"

void add_feature_names(const struct feature_table *t, struct strbuf *out)
{
	for (size_t i = 0; i < t->column_count; i++)
		strbuf_addf(out, "%s%s", i ? "," : "", t->columns[i].name);
}

static void copy_row(const struct feature_table *t, size_t row, double *to)
{
	for (size_t c = 0; c < t->column_count; c++)
		to[c] = t->columns[c].v[row];
}

static size_t group_count(const struct outlier_request *q, const struct outlier_result *res)
{
	return q->level == LEVEL_OPERATIONS ? res->ops.count : 1;
}

/* Replaces the features by others of the same rows. */
static void replace_table(const struct outlier_request *q, struct outlier_result *res,
			  struct feature_table *by)
{
	size_t cells = by->column_count;

	feature_table_release(&res->t);
	res->t = *by;
	*by = (struct feature_table){0};
	res->groups = group_count(q, res);
	res->excess = xcalloc(res->groups + 1, cells * sizeof(*res->excess));
}

/* ---- detectors ------------------------------------------------------------------------------ */

struct detection {
	const struct outlier_request *q;
	struct outlier_result *res;
	const struct multivariate_functions *fn;
	struct strbuf names;    /* of the features */
	struct feature_table t; /* column 0: how many detectors; then one per detector */
	bool failed[DETECTOR_COUNT];
	unsigned used;
};

/* Every row is scored as one more row of the model. */
static int score_rows(struct detection *d, enum detector k, size_t column, size_t group)
{
	const struct feature_table *in = &d->res->t;
	size_t features = in->column_count;
	struct detector_model m = {0};
	const struct value *computed =
		model_computed(d->q->model->json,
			       d->q->level == LEVEL_OPERATIONS ? d->res->ops.v[group].tags : NULL);
	int r = 0;

	if (!model_detector(computed, k, d->names.buf, features, &m))
		return -ENOENT;
	_cleanup_free_ double *x = m.x;
	_cleanup_free_ double *scores = xcalloc(m.n + 2, sizeof(*scores));
	x = xreallocarray(x, (m.n + 1) * features + 1, sizeof(*x));
	for (size_t i = 0; i < in->row_count && r == 0; i++) {
		if (in->rows[i].group != group)
			continue;
		copy_row(in, i, x + m.n * features);
		r = d->fn->detect(k, x, m.n + 1, features, scores);
		if (r < 0)
			break;
		d->t.columns[column].v[i] = scores[m.n];
		d->res->typical[group * d->t.column_count + column] = m.max;
		if (scores[m.n] > m.max) {
			d->res->flags[i * d->t.column_count + column] = (uint8_t)(1u << k);
			d->res->flags[i * d->t.column_count] |= (uint8_t)(1u << k);
		}
	}
	return r;
}

static void run_detector(struct detection *d, enum detector k, size_t column)
{
	size_t groups = group_count(d->q, d->res);
	int r = -ENOENT;

	for (size_t g = 0; g < groups; g++) {
		int one = score_rows(d, k, column, g);

		r = one == -ENOENT ? r : one;
		if (r < 0 && r != -ENOENT)
			break;
	}
	if (r == 0) {
		d->used++;
		return;
	}
	strbuf_addf(&d->res->notes,
		    r == -ENOENT ? "model '%s' has no %s of these features\n"
				 : "model '%s': %s cannot score these jobs\n",
		    d->q->model->name, detectors[k].name);
	for (size_t i = 0; i < d->t.row_count; i++)
		d->res->flags[i * d->t.column_count] &= (uint8_t) ~(1u << k);
	d->failed[k] = true;
}

/* How many detectors flag a row, in the first column. */
static void count_flags(struct detection *d)
{
	for (size_t i = 0; i < d->t.row_count; i++)
		d->t.columns[0].v[i] = flag_count(d->res->flags[i * d->t.column_count]);
}

int search_detectors(const struct outlier_request *q, struct outlier_result *res,
		     struct strbuf *why)
{
	struct detection d = {.q = q, .res = res, .fn = multivariate(why), .names = STRBUF_INIT};

	if (!d.fn)
		return -ENOSYS;
	add_feature_names(&res->t, &d.names);
	for (size_t i = 0; i < res->t.row_count; i++)
		(void)feature_table_row(&d.t, res->t.rows[i].id, res->t.rows[i].group);
	(void)feature_table_column(&d.t, "outlier");
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		res->bits[k] = detectors[k].name;
		if (q->detectors & 1u << k)
			(void)feature_table_column(&d.t, detectors[k].name);
	}
	res->flags = xcalloc(d.t.row_count + 1, d.t.column_count);
	res->typical = xcalloc(group_count(q, res) + 1, d.t.column_count * sizeof(double));
	for (enum detector k = 0; k < DETECTOR_COUNT; k++)
		if (q->detectors & 1u << k)
			run_detector(&d, k, feature_table_find(&d.t, detectors[k].name));
	count_flags(&d);
	strbuf_release(&d.names);
	replace_table(q, res, &d.t);
	return d.used ? 0
		      : strbuf_fail(
				why, -ENOENT,
				"model '%s' cannot be used with any of these detectors; `plimsoll "
				"model show` lists its detectors and their features",
				q->model->name);
}

/* ---- principal components ------------------------------------------------------------------- */

static int find_components(struct outlier_result *res, struct strbuf *why)
{
	const struct multivariate_functions *fn = multivariate(why);
	size_t n = res->t.row_count, d = res->t.column_count;
	_cleanup_free_ double *x = xcalloc(n * d + 1, sizeof(*x));

	if (!fn)
		return -ENOSYS;
	if (d < 2)
		return strbuf_fail(
			why, -EINVAL,
			"principal components need at least 2 features; use --features all");
	for (size_t i = 0; i < n; i++)
		copy_row(&res->t, i, x + i * d);
	for (size_t i = 0; i < n * d; i++)
		if (!isfinite(x[i]))
			return strbuf_fail(why, -EDOM,
					   "principal components need all features of all rows");
	int r = fn->pca(x, n, d, &res->pca);
	if (r < 0)
		return strbuf_fail(why, r, "cannot compute principal components");
	res->inputs = xcalloc(d + 1, sizeof(*res->inputs));
	for (size_t c = 0; c < d; c++)
		res->inputs[c] = xstrdup(res->t.columns[c].name);
	return 0;
}

/* Flags of one component of the rows first to before end, which are one group. */
static int flag_component(const struct outlier_result *res, const struct feature_table *t,
			  size_t column, size_t first, size_t end, const bool *is_model,
			  uint8_t *flags)
{
	_cleanup_free_ double *scores = xcalloc(end - first + 1, sizeof(*scores));

	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		double threshold = is_model ? 0 : res->rules.threshold[m];

		if (!res->rules.use[m])
			continue;
		int r = score_values(m, t->columns[column].v + first, end - first, NULL, scores,
				     NULL);
		if (r < 0)
			return r;
		/* what the jobs of the model reach is normal */
		for (size_t i = first; i < end && is_model; i++)
			if (is_model[t->rows[i].id] && scores[i - first] > threshold)
				threshold = scores[i - first];
		for (size_t i = first; i < end; i++)
			if (scores[i - first] > threshold)
				flags[i * t->column_count + column] |= (uint8_t)(1u << m);
	}
	return 0;
}

/* Counts of methods, weighted by how much more a component explains than the last one. */
static void add_weights(struct outlier_result *res, size_t components)
{
	double least = res->pca.ratios[components - 1];

	res->weighted = xcalloc(res->t.row_count + 1, sizeof(*res->weighted));
	for (size_t i = 0; i < res->t.row_count; i++) {
		double sum = 0;

		for (size_t k = 0; k < components; k++) {
			double weight = least > 0 ? res->pca.ratios[k] / least : 1;

			sum += flag_count(outlier_flags(res, i, k)) *
			       ((double)round_i64(weight * 100) / 100);
		}
		res->weighted[i] = (double)round_i64(sum * 10) / 10;
	}
}

/* Rows of jobs that only the model has are not part of the result. */
static void keep_asked(struct outlier_result *res, const struct feature_table *t,
		       const uint8_t *flags, size_t asked, struct feature_table *to)
{
	size_t d = t->column_count;

	for (size_t c = 0; c < d; c++)
		(void)feature_table_column(to, t->columns[c].name);
	res->flags = xcalloc(t->row_count + 1, d);
	for (size_t i = 0; i < t->row_count; i++) {
		if (t->rows[i].id >= (int64_t)asked)
			continue;
		size_t row = feature_table_row(to, t->rows[i].id, t->rows[i].group);
		for (size_t c = 0; c < d; c++)
			to->columns[c].v[row] = t->columns[c].v[i];
		memcpy(res->flags + row * d, flags + i * d, d);
	}
}

int search_components(const struct outlier_request *q, struct outlier_result *res,
		      const bool *is_model, size_t asked, struct strbuf *why)
{
	_cleanup_features_ struct feature_table t = {0}, kept = {0};
	int r = find_components(res, why);

	if (r < 0)
		return r;
	size_t n = pca_count(&res->pca, q->pca), rows = res->t.row_count;
	for (size_t i = 0; i < rows; i++)
		(void)feature_table_row(&t, res->t.rows[i].id, res->t.rows[i].group);
	for (size_t k = 0; k < n; k++) {
		_cleanup_free_ char *name = xasprintf("pca_%02zu", k + 1);
		size_t c = feature_table_column(&t, name);

		for (size_t i = 0; i < rows; i++)
			t.columns[c].v[i] = res->pca.scores[i * res->pca.components + k];
	}
	_cleanup_free_ uint8_t *flags = xcalloc(rows + 1, n);
	for (size_t first = 0, end; first < rows && r == 0; first = end) {
		for (end = first; end < rows && t.rows[end].group == t.rows[first].group;)
			end++;
		for (size_t k = 0; k < n && r == 0; k++)
			if (is_model || end - first >= OUTLIERS_MIN_ROWS)
				r = flag_component(res, &t, k, first, end, is_model, flags);
	}
	if (r < 0)
		return strbuf_fail(why, r, "a principal component is not a number");
	keep_asked(res, &t, flags, asked, &kept);
	replace_table(q, res, &kept);
	res->typical = xcalloc(res->groups + 1, n * sizeof(*res->typical));
	add_weights(res, n);
	return 0;
}
