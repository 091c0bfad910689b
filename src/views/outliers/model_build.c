/* Making reference models; see model_build.h. */
#include "views/outliers/model_build.h"

#include <errno.h>
#include <math.h>

#include "analysis/outliers/model.h"
#include "core/clock.h"

struct builder {
	const struct outlier_request *q;
	struct outlier_result *res;
	struct value *computed, *op_tags;
	size_t few, gaps; /* operations that too few jobs have, or that lack a feature */
	unsigned failed;  /* detectors that cannot score */
	struct strbuf *why;
};

/* The rows of a group: those from *first to before *end. */
static void group_rows(const struct feature_table *t, size_t group, size_t *first, size_t *end)
{
	*first = 0;
	while (*first < t->row_count && t->rows[*first].group != group)
		(*first)++;
	*end = *first;
	while (*end < t->row_count && t->rows[*end].group == group)
		(*end)++;
}

/* What detectors keep of the rows; those that cannot score them are left out. */
static int fit_detectors(struct builder *b, size_t first, size_t end, struct value *computed)
{
	size_t d = b->res->t.column_count, n = end - first, kept = 0;
	const struct multivariate_functions *fn = multivariate(b->why);
	_cleanup_free_ double *x = xcalloc(n * d + 1, sizeof(*x));
	_cleanup_free_ double *scores = xcalloc(n + 1, sizeof(*scores));
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;

	if (!fn)
		return -ENOSYS;
	add_feature_names(&b->res->t, &names);
	for (size_t i = 0; i < n; i++)
		for (size_t c = 0; c < d; c++)
			x[i * d + c] = b->res->t.columns[c].v[first + i];
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		struct detector_model m = {-INFINITY, x, n};

		if (!(b->q->detectors & 1u << k))
			continue;
		int r = fn->detect(k, x, n, d, scores);
		if (r < 0) {
			b->failed |= 1u << k;
			continue;
		}
		for (size_t i = 0; i < n; i++)
			m.max = scores[i] > m.max ? scores[i] : m.max;
		model_set_detector(computed, k, names.buf, d, &m);
		kept++;
	}
	return kept ? 0 : -ENODATA;
}

static int fit_rows(struct builder *b, size_t first, size_t end, struct value *computed)
{
	if (b->q->detectors)
		return fit_detectors(b, first, end, computed);
	for (size_t c = 0; c < b->res->t.column_count; c++) {
		const struct feature_column *column = &b->res->t.columns[c];
		struct feature_model m;

		int r = fit_feature(&b->q->rules, column->v + first, end - first, &m);
		if (r < 0)
			return r;
		model_set_feature(computed, column->name, &m);
	}
	return 0;
}

static void fit_operation(struct builder *b, size_t op)
{
	struct value *computed = value_new(VALUE_DICT);
	size_t first, end;

	group_rows(&b->res->t, op, &first, &end);
	if (end - first < MODEL_MIN_ROWS) {
		b->few++;
	} else if (fit_rows(b, first, end, computed) < 0) {
		b->gaps++;
	} else {
		value_set(b->computed, b->res->ops.v[op].text, value_ref(computed));
		value_append(b->op_tags, value_ref(b->res->ops.v[op].tags));
	}
	value_free(computed);
}

static void add_notes(const struct builder *b, struct strbuf *notes)
{
	strbuf_addstr(notes, b->res->notes.buf);
	if (b->few)
		strbuf_addf(notes, "left out %zu %s that fewer than %d jobs have\n", b->few,
			    plural(b->few, "operation", "operations"), MODEL_MIN_ROWS);
	if (b->gaps)
		strbuf_addf(notes, "left out %zu %s that %s a feature in a job\n", b->gaps,
			    plural(b->gaps, "operation", "operations"),
			    plural(b->gaps, "lacks", "lack"));
}

static void note_detectors(const struct builder *b, struct strbuf *notes)
{
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		if (!(b->failed & 1u << k))
			continue;
		strbuf_addf(notes,
			    "%s cannot score these jobs and is left out: ", detectors[k].name);
		if (b->q->job_count < detectors[k].min_rows)
			strbuf_addf(notes, "it needs %zu of them\n", detectors[k].min_rows);
		else
			strbuf_addf(notes, "its scores are not finite; %s\n",
				    k == DETECTOR_MCD ? "it needs twice as many jobs as features"
						      : "features must vary, and jobs differ");
	}
}

static int fit(struct builder *b, struct strbuf *why)
{
	if (b->q->level == LEVEL_JOBS) {
		int r = fit_rows(b, 0, b->res->t.row_count, b->computed);

		if (r < 0 && b->q->detectors && !why->len)
			return strbuf_fail(
				why, r,
				"none of the detectors can score these %zu jobs: abod, knn "
				"and mcd need 6 jobs, iforest 4, mcd twice as many as features, "
				"pca features that vary",
				b->q->job_count);
		return r < 0 && !why->len ? strbuf_fail(why, r, "a value is not a number") : r;
	}
	for (size_t i = 0; i < b->res->ops.count; i++)
		fit_operation(b, i);
	if (!b->op_tags->list.count)
		return strbuf_fail(why, -ENODATA,
				   "no operation occurs in %d of the jobs with all features",
				   MODEL_MIN_ROWS);
	/* what cannot be read back is not written */
	size_t numbers = b->op_tags->list.count * b->res->t.column_count * METHOD_COUNT;
	if (numbers * 5 > VALUE_NODES_MAX)
		return strbuf_fail(why, -E2BIG,
				   "the model would hold %zu operations by %zu features, which is "
				   "too many; name fewer with --op or --features",
				   b->op_tags->list.count, b->res->t.column_count);
	return 0;
}

static struct value *list_of_jobs(const struct outlier_request *q)
{
	struct value *list = value_new(VALUE_LIST);

	for (size_t i = 0; i < q->job_count; i++)
		value_append(list, value_str(q->labels[i]));
	return list;
}

static struct value *copy_of(const struct model *before, const char *key, struct value *otherwise)
{
	struct value *v = before ? value_get(before->json, key) : NULL;

	if (!v)
		return otherwise;
	value_free(otherwise);
	return value_ref(v);
}

static struct value *document(const struct builder *b, const char *name, const struct value *tags,
			      const struct model *before)
{
	struct value *model = value_new(VALUE_DICT), *own = value_new(VALUE_DICT);

	for (size_t i = 0; i < value_pairs(tags); i++)
		value_set(own, value_key(tags, i)->str.data, value_ref(value_at(tags, i)));
	value_set(model, "version", value_int(MODEL_VERSION));
	value_set(model, "name", value_str(name));
	value_set(model, "enabled", value_bool(before ? before->enabled : true));
	value_set(model, "created_at",
		  copy_of(before, "created_at", value_time_us(clock_realtime_us())));
	value_set(model, "updated_at", value_time_us(clock_realtime_us()));
	value_set(model, "tags", copy_of(before, "tags", own));
	value_set(model, "op_tags", value_ref(b->op_tags));
	value_set(model, "computed", value_ref(b->computed));
	value_set(model, "info_dict", copy_of(before, "info_dict", value_new(VALUE_DICT)));
	value_set(model, "jobs", list_of_jobs(b->q));
	return model;
}

int model_build(const struct outlier_request *q, struct store *s, const char *name,
		const struct value *tags, const struct model *before, struct value **ret,
		struct strbuf *notes, struct strbuf *why)
{
	_cleanup_outliers_ struct outlier_result res = OUTLIER_RESULT_INIT;
	struct builder b = {q, &res, value_new(VALUE_DICT), value_new(VALUE_LIST), 0, 0, 0, why};
	int r = 0;

	if (q->job_count < MODEL_MIN_ROWS)
		r = strbuf_fail(why, -ENODATA, "a model needs at least %d jobs, and %s %zu",
				MODEL_MIN_ROWS, plural(q->job_count, "there is", "there are"),
				q->job_count);
	if (r == 0)
		r = load_features(q, s, &res, why);
	if (r == 0 && !res.t.row_count)
		r = strbuf_fail(why, -ENODATA, "no process of these jobs has %s tags",
				q->op_tags ? "these" : "any");
	if (r == 0)
		r = choose_features(q, &res, why);
	if (r == 0)
		r = fit(&b, why);
	if (r == 0) {
		add_notes(&b, notes);
		note_detectors(&b, notes);
		*ret = document(&b, name, tags, before);
	}
	value_free(b.computed);
	value_free(b.op_tags);
	return r;
}
