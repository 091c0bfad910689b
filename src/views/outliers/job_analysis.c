/* One job and its models, and the results of a search; see job_analysis.h. */
#include "views/outliers/job_analysis.h"

#include <errno.h>
#include <math.h>

#include "analysis/outliers/model.h"
#include "core/clock.h"
#include "core/text/text.h"
#include "store/sql.h"

/* Flagged values in one result; the count has all of them. */
#define OUTLIERS_KEPT 20

/* ---- results -------------------------------------------------------------------------------- */

/* JSON has no infinity. */
static struct value *number(double v)
{
	return isinf(v)                                      ? value_str("inf")
	       : isnan(v)                                    ? value_new(VALUE_NONE)
	       : fabs(v) < 9e15 && v == (double)round_i64(v) ? value_int(round_i64(v))
							     : value_real(v);
}

static void add_score(struct value *methods, const char *name, double score, double threshold)
{
	struct value *one = value_new(VALUE_DICT);

	value_set(one, "score", number(round4(score)));
	value_set(one, "threshold", number(round4(threshold)));
	value_set(methods, name, one);
}

/* What one method says of one row: again, because a search keeps only flags. */
static void score_of(const struct outlier_request *q, const struct outlier_result *res, size_t row,
		     size_t column, enum outlier_method m, double *score, double *threshold)
{
	const struct feature_column *c = &res->t.columns[column];
	size_t group = res->t.rows[row].group, n = 0, at = 0;
	struct feature_model model;

	*score = NAN;
	*threshold = res->rules.threshold[m];
	if (q->model) {
		const struct value *computed = model_computed(
			q->model->json,
			q->level == LEVEL_OPERATIONS ? res->ops.v[group].tags : NULL);

		if (!model_feature(computed, c->name, &model))
			return;
		*threshold = model.params[m].max;
		(void)score_values(m, &c->v[row], 1, &model.params[m], score, NULL);
		return;
	}
	_cleanup_free_ double *v = xcalloc(res->t.row_count + 1, sizeof(*v));
	_cleanup_free_ double *scores = xcalloc(res->t.row_count + 1, sizeof(*scores));
	for (size_t i = 0; i < res->t.row_count; i++) {
		if (res->t.rows[i].group != group || isnan(c->v[i]))
			continue;
		at = i == row ? n : at;
		v[n++] = c->v[i];
	}
	if (score_values(m, v, n, NULL, scores, NULL) == 0)
		*score = scores[at];
}

/* A flagged value. The columns of detectors are their scores; typical is the highest of the model.
 */
static struct value *outlier_value(const struct outlier_request *q,
				   const struct outlier_result *res, size_t row, size_t column)
{
	struct value *one = value_new(VALUE_DICT), *methods = value_new(VALUE_DICT);
	const struct feature_column *c = &res->t.columns[column];
	size_t group = res->t.rows[row].group;
	double typical = res->typical[group * res->t.column_count + column];
	uint8_t flags = outlier_flags(res, row, column);

	value_set(one, "feature", value_str(c->name));
	if (q->level == LEVEL_OPERATIONS)
		value_set(one, "tags", value_ref(res->ops.v[group].tags));
	value_set(one, "value", number(c->v[row]));
	value_set(one, "typical", number(typical));
	if (q->detectors)
		add_score(methods, c->name, c->v[row], typical);
	for (enum outlier_method m = 0; m < METHOD_COUNT && !q->detectors; m++) {
		double score, threshold;

		if (!(flags & 1u << m))
			continue;
		score_of(q, res, row, column, m, &score, &threshold);
		add_score(methods, outlier_methods[m].name, score, threshold);
	}
	value_set(one, "methods", methods);
	return one;
}

static struct value *new_result(const struct outlier_request *q, size_t compared)
{
	struct value *result = value_new(VALUE_DICT);
	_cleanup_strbuf_ struct strbuf time = STRBUF_INIT;

	text_add_time(&time, clock_realtime_us(), false);
	value_set(result, "model", q->model ? value_str(q->model->name) : value_new(VALUE_NONE));
	value_set(result, "level", value_str(level_plurals[q->level]));
	value_set(result, "compared", value_int((int64_t)compared));
	value_set(result, "analysed", value_str(time.buf));
	value_set(result, "count", value_int(0));
	value_set(result, "outliers", value_new(VALUE_LIST));
	return result;
}

void analysis_add_results(const struct outlier_request *q, const struct outlier_result *res,
			  size_t compared, struct value *const *results)
{
	_cleanup_free_ struct value **own = xcalloc(q->job_count + 1, sizeof(struct value *));

	for (size_t i = 0; i < q->job_count; i++)
		value_append(results[i], own[i] = new_result(q, compared));
	for (size_t row = 0; row < res->t.row_count; row++) {
		struct value *result = own[res->t.rows[row].id];
		struct value *list = value_get(result, "outliers");

		/* the first column of detectors is their number */
		for (size_t i = 0; i < res->t.column_count; i++) {
			size_t c = res->column_order[i];

			if ((q->detectors && c == 0) || !outlier_flags(res, row, c))
				continue;
			value_set(result, "count", value_int(value_get_int(result, "count") + 1));
			if (list->list.count < OUTLIERS_KEPT)
				value_append(list, outlier_value(q, res, row, c));
		}
	}
}

void analysis_features(const struct value *result, struct strbuf *out)
{
	const struct value *list = value_get(result, "outliers");
	_cleanup_value_ struct value *seen = value_new(VALUE_DICT);

	for (size_t i = 0; list && i < list->list.count; i++) {
		const char *name = value_get_str(list->list.items[i], "feature");

		if (!name || value_get(seen, name))
			continue;
		strbuf_addf(out, "%s%s", value_pairs(seen) ? ", " : "", name);
		value_set(seen, name, value_bool(true));
	}
}

int64_t analysis_count(const struct value *results)
{
	int64_t n = 0;

	for (size_t i = 0; i < results->list.count; i++)
		n += value_get_int(results->list.items[i], "count");
	return n;
}

/* ---- models --------------------------------------------------------------------------------- */

void analysis_models_release(struct analysis_models *m)
{
	for (size_t i = 0; i < m->count; i++)
		model_release(&m->v[i]);
	free(m->v);
	*m = (struct analysis_models){0};
}

struct loading {
	struct analysis_models *models;
	struct strbuf *notes;
};

static int take_model(void *user, const struct model *m, const char *why)
{
	struct loading *l = user;

	if (!m->json && m->enabled)
		strbuf_addf(l->notes, "%s\n", why);
	if (!m->json || !m->enabled || !value_pairs(value_get(m->json, "tags")))
		return 0;
	GROW(l->models->v, l->models->count, l->models->cap);
	l->models->v[l->models->count++] = (struct model){.name = xstrdup(m->name),
							  .enabled = true,
							  .version = m->version,
							  .json = value_ref(m->json)};
	return 0;
}

int analysis_models_load(struct analysis_models *m, struct store *s, struct strbuf *notes)
{
	struct loading l = {m, notes};

	return models_each(s, take_model, &l);
}

int analysis_tags(struct store *s, int64_t job, struct value **ret)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT key, value FROM job_tag WHERE job = $1", db_int(job));
	int r;

	*ret = value_new(VALUE_DICT);
	while ((r = stmt_step(st)) == 1)
		value_set(*ret, stmt_get_str(st, 0), value_str(stmt_get_str(st, 1)));
	return r;
}

/* Has a job all tags of the model? Values of imported models may be numbers. */
static bool is_for(const struct model *m, const struct value *tags)
{
	const struct value *wanted = value_get(m->json, "tags");

	for (size_t i = 0; i < value_pairs(wanted); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		const struct value *key = value_key(wanted, i);
		const char *own =
			key->kind == VALUE_STR ? value_get_str(tags, key->str.data) : NULL;

		value_to_text(value_at(wanted, i), &text);
		if (!own || strcmp(own, text.buf) != 0)
			return false;
	}
	return true;
}

static size_t model_jobs(const struct model *m)
{
	const struct value *jobs = value_get(m->json, "jobs");

	return jobs && jobs->kind == VALUE_LIST ? jobs->list.count : 0;
}

/* By all features that the model and the job have. */
static int compare(struct store *s, const struct model *m, int64_t job, const char *label,
		   struct value *results, struct strbuf *why)
{
	_cleanup_outliers_ struct outlier_result res = OUTLIER_RESULT_INIT;
	char *const labels[] = {(char *)label};
	struct outlier_request q = {.level = model_of_operations(m->json) ? LEVEL_OPERATIONS
									  : LEVEL_JOBS,
				    .jobs = &job,
				    .labels = labels,
				    .job_count = 1,
				    .all_features = true,
				    .model = m,
				    .detectors = model_only_detectors(m->json)};

	outlier_rules_init(&q.rules);
	int r = outlier_search(&q, s, &res, why);
	if (r == 0)
		analysis_add_results(&q, &res, model_jobs(m), &results);
	return r;
}

int analysis_by_models(struct store *s, const struct analysis_models *m, int64_t job,
		       const char *label, struct value **ret, struct strbuf *notes)
{
	_cleanup_value_ struct value *tags = NULL;
	int r = m->count ? analysis_tags(s, job, &tags) : 0;

	*ret = value_new(VALUE_LIST);
	for (size_t i = 0; i < m->count && r >= 0; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

		if (!is_for(&m->v[i], tags))
			continue;
		r = compare(s, &m->v[i], job, label, *ret, &why);
		/* one that cannot be used does not keep others from it */
		if (r < 0 && r != -EIO && r != -EPIPE) {
			strbuf_addf(notes, "job %s, model '%s': %s\n", label, m->v[i].name,
				    why.buf);
			r = 0;
		}
	}
	return r;
}
