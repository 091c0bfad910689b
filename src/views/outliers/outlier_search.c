/* See outlier_search.h. */
#include "views/outliers/outlier_search.h"

#include <errno.h>
#include <math.h>

#include "analysis/outliers/model.h"
#include "analysis/sorted.h"
#include "store/query.h"

const char *const level_words[] = {"job", "operation", "process", "thread"};
const char *const level_plurals[] = {"jobs", "operations", "processes", "threads"};

void outlier_result_release(struct outlier_result *r)
{
	feature_table_release(&r->t);
	feature_operations_release(&r->ops);
	free(r->flags);
	free(r->typical);
	free(r->excess);
	free(r->group_order);
	free(r->column_order);
	for (size_t i = 0; r->inputs && i < r->pca.features; i++)
		free(r->inputs[i]);
	free(r->inputs);
	free(r->weighted);
	pca_release(&r->pca);
	strbuf_release(&r->notes);
}

bool outlier_row(const struct outlier_result *r, size_t row)
{
	for (size_t c = 0; c < r->t.column_count; c++)
		if (outlier_flags(r, row, c))
			return true;
	return false;
}

/* ---- loading -------------------------------------------------------------------------------- */

/* What is compared unless --features names others. */
static const char *const *default_features(enum outlier_level level, size_t *ret_count)
{
	static const char *const jobs[] = {"cpu_time", "duration", "num_procs"};
	static const char *const processes[] = {"cpu_time", "duration"};
	static const char *const threads[] = {"rssmax", "systemtime", "usertime"};

	*ret_count = level == LEVEL_PROCESSES ? ARRAY_SIZE(processes) : ARRAY_SIZE(jobs);
	return level == LEVEL_PROCESSES ? processes : level == LEVEL_THREADS ? threads : jobs;
}

static const char *const *wanted_features(const struct outlier_request *q, size_t *ret_count)
{
	*ret_count = q->feature_count;
	/* with a model, those that it has */
	if (q->all_features || (q->model && !q->features))
		return NULL;
	return q->features ? q->features : default_features(q->level, ret_count);
}

int load_features(const struct outlier_request *q, struct store *s, struct outlier_result *ret,
		  struct strbuf *why)
{
	size_t gone = 0, n;
	const char *const *wanted = wanted_features(q, &n);
	const struct value *op_tags = q->op_tags;
	int r;

	/* the operations of a model may be fewer tags than the processes have */
	if (!op_tags && q->model && model_of_operations(q->model->json))
		op_tags = value_get(q->model->json, "op_tags");
	if (q->level == LEVEL_JOBS)
		r = features_of_jobs(&ret->t, s, q->jobs, q->job_count, &gone);
	else if (q->level == LEVEL_OPERATIONS)
		r = features_of_operations(&ret->t, &ret->ops, s, q->jobs, q->job_count, op_tags);
	else if (q->level == LEVEL_PROCESSES)
		r = features_of_processes(&ret->t, s, q->jobs, q->job_count, wanted, n);
	else
		r = features_of_threads(&ret->t, s, q->jobs, q->job_count, wanted, n);
	if (r == -ENOENT)
		return strbuf_fail(why, r,
				   "job %s was deleted while it was being read; run the command "
				   "again without it",
				   q->labels[gone]);
	if (r < 0)
		return strbuf_fail(why, r, "%s", store_error(s));
	return 0;
}

/* ---- features ------------------------------------------------------------------------------- */

static const char *row_label(const struct outlier_request *q, const struct outlier_result *res,
			     size_t row)
{
	int64_t id = res->t.rows[row].id;

	if (q->level == LEVEL_JOBS || q->level == LEVEL_OPERATIONS)
		return q->labels[id];
	for (size_t i = 0; i < q->job_count; i++)
		if (q->jobs[i] == id >> JOB_SHIFT)
			return q->labels[i];
	return "";
}

static void add_available(const struct feature_table *t, struct strbuf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < t->column_count; i++)
		if (feature_table_known(t, i))
			strbuf_addf(out, "%s%s", n++ ? ", " : "", t->columns[i].name);
}

/* A feature that the user named: somebody must have it, and everybody. */
static int check_named(const struct outlier_request *q, struct outlier_result *res,
		       const char *name, struct strbuf *why)
{
	size_t c = feature_table_find(&res->t, name);

	if (c == FEATURE_NONE || !feature_table_known(&res->t, c)) {
		strbuf_addf(why, "none of the %s has the feature '%s'; they have ",
			    level_plurals[q->level], name);
		add_available(&res->t, why);
		return -ENOENT;
	}
	size_t row = feature_table_gap(&res->t, c);
	if (row != FEATURE_NONE && q->level == LEVEL_JOBS && !q->gaps)
		return strbuf_fail(why, -EDOM,
				   "job %s has no feature '%s', which others have; leave out the "
				   "job or the feature",
				   row_label(q, res, row), name);
	return 0;
}

static void note_left_out(const struct outlier_request *q, struct outlier_result *res,
			  const bool *partial)
{
	_cleanup_value_ struct value *features = q->model ? model_features(q->model->json) : NULL;
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < res->t.column_count; i++)
		if (partial[i] && (!features || model_uses(features, res->t.columns[i].name)))
			strbuf_addf(&names, "%s%s", names.len ? ", " : "", res->t.columns[i].name);
	if (names.len)
		strbuf_addf(&res->notes, "left out features that not all have: %s\n", names.buf);
}

/* Leaves only features that the model has. */
static void intersect(const struct outlier_request *q, struct outlier_result *res, bool *keep)
{
	_cleanup_value_ struct value *features = model_features(q->model->json);
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;

	for (size_t i = 0; i < res->t.column_count; i++) {
		const char *name = res->t.columns[i].name;

		if (!keep[i] || model_uses(features, name))
			continue;
		keep[i] = false;
		if (q->features)
			strbuf_addf(&names, "%s%s", names.len ? ", " : "", name);
	}
	if (names.len)
		strbuf_addf(&res->notes, "model '%s' does not have: %s\n", q->model->name,
			    names.buf);
}

int choose_features(const struct outlier_request *q, struct outlier_result *res, struct strbuf *why)
{
	struct feature_table *t = &res->t;
	_cleanup_free_ bool *keep = xcalloc(t->column_count + 1, sizeof(*keep));
	_cleanup_free_ bool *partial = xcalloc(t->column_count + 1, sizeof(*partial));
	size_t n, kept = 0;
	const char *const *wanted = wanted_features(q, &n);

	for (size_t i = 0; wanted && i < n; i++) {
		int r = check_named(q, res, wanted[i], why);
		if (r < 0)
			return r;
		keep[feature_table_find(t, wanted[i])] = true;
	}
	for (size_t i = 0; i < t->column_count; i++) {
		if (!wanted)
			keep[i] = feature_table_known(t, i);
		/* a process without a value is left out later; a job must not be */
		if (keep[i] && feature_table_gap(t, i) != FEATURE_NONE && !wanted && !q->gaps) {
			partial[i] = true;
			keep[i] = false;
		}
	}
	note_left_out(q, res, partial);
	if (q->model)
		intersect(q, res, keep);
	for (size_t i = 0; i < t->column_count; i++)
		kept += keep[i];
	if (!kept)
		return strbuf_fail(why, -ENOENT, "no feature is left to compare%s",
				   q->model ? "; `plimsoll model show` lists those of the model"
					    : "");
	feature_table_keep(t, keep);
	return 0;
}

/* ---- flagging ------------------------------------------------------------------------------- */

struct group_rows {
	size_t *rows; /* of one group */
	size_t count;
	double *v;     /* values of a feature, of rows that have one */
	size_t *known; /* their rows */
	uint8_t *flags;
};

static double typical_of(const double *v, size_t n)
{
	_cleanup_free_ double *sorted = xmalloc((n + 1) * sizeof(*sorted));

	memcpy(sorted, v, n * sizeof(*sorted));
	sort_values(sorted, n);
	return n ? percentile(sorted, n, 50) : NAN;
}

static int flag_column(const struct outlier_request *q, struct outlier_result *res,
		       struct group_rows *g, size_t group, size_t column)
{
	const struct feature_column *c = &res->t.columns[column];
	struct feature_model model, *use = NULL;
	size_t n = 0, at = group * res->t.column_count + column;

	for (size_t i = 0; i < g->count; i++)
		if (!isnan(c->v[g->rows[i]])) {
			g->known[n] = g->rows[i];
			g->v[n++] = c->v[g->rows[i]];
		}
	if (q->model) {
		const struct value *computed = model_computed(
			q->model->json,
			q->level == LEVEL_OPERATIONS ? res->ops.v[group].tags : NULL);

		if (!model_feature(computed, c->name, &model))
			return 0;
		use = &model;
	}
	if (!n || (!use && n < OUTLIERS_MIN_ROWS))
		return 0;
	memset(g->flags, 0, n);
	int r = flag_outliers(&res->rules, use, g->v, n, g->flags, &res->excess[at]);
	for (size_t i = 0; i < n && r == 0; i++)
		res->flags[g->known[i] * res->t.column_count + column] = g->flags[i];
	res->typical[at] = use && use->has[METHOD_MADZ] ? use->params[METHOD_MADZ].center
							: typical_of(g->v, n);
	return r;
}

static int flag_groups(const struct outlier_request *q, struct outlier_result *res)
{
	const struct feature_table *t = &res->t;
	size_t n = t->row_count, few = 0;
	_cleanup_free_ size_t *rows = xcalloc(n + 1, sizeof(*rows));
	_cleanup_free_ double *v = xcalloc(n + 1, sizeof(*v));
	_cleanup_free_ size_t *known = xcalloc(n + 1, sizeof(*known));
	_cleanup_free_ uint8_t *flags = xcalloc(n + 1, 1);
	struct group_rows g = {rows, 0, v, known, flags};
	int r = 0;

	for (size_t k = 0, i = 0; k < res->groups && r == 0; k++) {
		/* rows are sorted by group */
		for (g.count = 0; i < n && t->rows[i].group == k; i++)
			rows[g.count++] = i;
		if (!q->model && g.count < OUTLIERS_MIN_ROWS) {
			few++;
			continue;
		}
		for (size_t c = 0; c < t->column_count && r == 0; c++)
			r = flag_column(q, res, &g, k, c);
	}
	if (few)
		strbuf_addf(&res->notes, "%zu %s in fewer than %d jobs and %s not compared\n", few,
			    plural(few, "operation occurs", "operations occur"), OUTLIERS_MIN_ROWS,
			    plural(few, "was", "were"));
	return r;
}

/* ---- order ---------------------------------------------------------------------------------- */

struct ranked {
	double score;
	size_t from;
};

static int by_score(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

static size_t *order_of(struct ranked *v, size_t n)
{
	size_t *order = xcalloc(n + 1, sizeof(*order));

	qsort(v, n, sizeof(*v), by_score);
	for (size_t i = 0; i < n; i++)
		order[i] = v[i].from;
	return order;
}

static double rounded_excess(const struct outlier_result *res, size_t group, size_t column)
{
	double v = res->excess[group * res->t.column_count + column];

	/* three decimals: what differs less has the same rank */
	return isfinite(v) ? (double)(int64_t)(v * 1000 + 0.5) / 1000 : v;
}

/* Operations by their most conspicuous feature, features by all operations. */
static void rank(const struct outlier_request *q, struct outlier_result *res)
{
	size_t columns = res->t.column_count;
	_cleanup_free_ struct ranked *groups = xcalloc(res->groups + 1, sizeof(*groups));
	_cleanup_free_ struct ranked *features = xcalloc(columns + 1, sizeof(*features));

	for (size_t c = 0; c < columns; c++)
		features[c].from = c;
	for (size_t g = 0; g < res->groups; g++) {
		groups[g].from = g;
		for (size_t c = 0; c < columns && q->level == LEVEL_OPERATIONS; c++) {
			double v = rounded_excess(res, g, c);

			groups[g].score = v > groups[g].score ? v : groups[g].score;
			features[c].score += v;
		}
	}
	res->group_order = order_of(groups, res->groups);
	res->column_order = order_of(features, columns);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The methods that the model has: all of them unless the user named some. */
static int choose_methods(const struct outlier_request *q, struct outlier_result *res,
			  struct strbuf *why)
{
	res->rules = q->rules;
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++)
		res->bits[m] = outlier_methods[m].name;
	if (q->detectors || q->pca > 0)
		return 0;
	for (enum outlier_method m = 0; m < METHOD_COUNT && q->model; m++) {
		if (!res->rules.use[m] || model_has_method(q->model->json, m))
			continue;
		res->rules.use[m] = false;
		if (q->methods_given)
			strbuf_addf(&res->notes, "model '%s' was made without %s\n", q->model->name,
				    outlier_methods[m].name);
	}
	if (q->model && !outlier_rules_count(&res->rules))
		return strbuf_fail(why, -ENOENT,
				   "model '%s' has none of these methods; `plimsoll model show` "
				   "lists those that it has",
				   q->model->name);
	return 0;
}

static int check_request(const struct outlier_request *q, struct strbuf *why)
{
	bool by_job = q->level == LEVEL_JOBS || q->level == LEVEL_OPERATIONS;

	if (!q->job_count)
		return strbuf_fail(why, -ENODATA, "no job is selected");
	if (q->detectors && !q->model)
		return strbuf_fail(why, -EINVAL,
				   "detectors compare with a model; name one with "
				   "--model, or use the methods iqr, madz and z");
	if (!q->model && by_job && q->job_count < OUTLIERS_MIN_ROWS)
		return strbuf_fail(why, -ENODATA,
				   "outliers among jobs need at least %d jobs, and %s %zu; name "
				   "more, or use a model",
				   OUTLIERS_MIN_ROWS, plural(q->job_count, "there is", "there are"),
				   q->job_count);
	if (q->pca > 0 && !by_job)
		return strbuf_fail(why, -EINVAL,
				   "principal components are of jobs and operations, not of %s",
				   level_plurals[q->level]);
	if (q->model && !q->model->enabled)
		return strbuf_fail(why, -EACCES,
				   "model '%s' is disabled; enable it with `plimsoll model enable "
				   "%s`",
				   q->model->name, q->model->name);
	if (q->model && !by_job)
		return strbuf_fail(why, -EINVAL, "models are of jobs and operations, not of %s",
				   level_plurals[q->level]);
	if (q->model && (q->level == LEVEL_OPERATIONS) != model_of_operations(q->model->json))
		return strbuf_fail(why, -EINVAL, "model '%s' is a model of %s: use it %s --ops",
				   q->model->name,
				   q->level == LEVEL_OPERATIONS ? "whole jobs" : "operations",
				   q->level == LEVEL_OPERATIONS ? "without" : "with");
	return 0;
}

static int check_rows(const struct outlier_request *q, const struct outlier_result *res,
		      struct strbuf *why)
{
	size_t n = res->t.row_count;

	if (n && q->level == LEVEL_OPERATIONS)
		return 0;
	if (!n && q->level == LEVEL_OPERATIONS)
		return strbuf_fail(why, -ENODATA,
				   q->op_tags ? "no process of these jobs has these tags"
					      : "no process of these jobs has tags");
	if (!q->model && n < OUTLIERS_MIN_ROWS)
		return strbuf_fail(why, -ENODATA,
				   "outliers among %s need at least %d of them, and there %s %zu",
				   level_plurals[q->level], OUTLIERS_MIN_ROWS,
				   plural(n, "is", "are"), n);
	return 0;
}

/* Room for flags of all rows and columns. */
static void make_room(const struct outlier_request *q, struct outlier_result *res)
{
	size_t cells = res->t.column_count;

	res->groups = q->level == LEVEL_OPERATIONS ? res->ops.count : 1;
	res->flags = xcalloc(res->t.row_count + 1, cells);
	res->typical = xcalloc(res->groups + 1, cells * sizeof(*res->typical));
	res->excess = xcalloc(res->groups + 1, cells * sizeof(*res->excess));
	for (size_t i = 0; i < res->groups * cells; i++)
		res->typical[i] = NAN;
}

static int compare(const struct outlier_request *q, struct outlier_result *res,
		   const bool *is_model, size_t asked, struct strbuf *why)
{
	int r = choose_features(q, res, why);

	if (r < 0)
		return r;
	if (q->detectors)
		return search_detectors(q, res, why);
	if (q->pca > 0)
		return search_components(q, res, is_model, asked, why);
	make_room(q, res);
	r = flag_groups(q, res);
	return r < 0 ? strbuf_fail(why, r, "cannot compare: a value is not a number") : 0;
}

static int search_rows(const struct outlier_request *q, const struct outlier_request *loaded,
		       struct store *s, struct outlier_result *ret, const bool *is_model,
		       struct strbuf *why)
{
	int r = load_features(loaded, s, ret, why);

	if (r == 0)
		r = check_rows(q, ret, why);
	if (r == 0)
		r = compare(loaded, ret, is_model, q->job_count, why);
	if (r == 0)
		rank(q, ret);
	return r;
}

/* Principal components of the jobs together with those of the model, whose rows are left out of the
 * result: jobs of the request come first. */
static int search_with_model_jobs(const struct outlier_request *q, struct store *s,
				  struct outlier_result *ret, struct strbuf *why)
{
	const struct value *jobs = value_get(q->model->json, "jobs");
	size_t n = jobs && jobs->kind == VALUE_LIST ? jobs->list.count : 0, count = q->job_count;
	_cleanup_free_ int64_t *all = xcalloc(count + n + 1, sizeof(*all));
	_cleanup_free_ char **labels = xcalloc(count + n + 1, sizeof(*labels));
	_cleanup_free_ bool *is_model = xcalloc(count + n + 1, sizeof(*is_model));
	struct outlier_request both = *q;

	memcpy(all, q->jobs, count * sizeof(*all));
	memcpy(labels, q->labels, count * sizeof(*labels));
	for (size_t i = 0; i < n; i++) {
		_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
		const struct value *job = jobs->list.items[i];
		size_t k = 0;
		int64_t no;

		if (job->kind != VALUE_STR || job_find_id(s, job->str.data, &no, &ignored) < 0)
			return strbuf_fail(
				why, -ENOENT,
				"job %s of model '%s' is no longer stored, and principal "
				"components need all of them; train the model again",
				job->kind == VALUE_STR ? job->str.data : "?", q->model->name);
		while (k < count && all[k] != no)
			k++;
		all[k] = no;
		labels[k] = job->str.data;
		is_model[k] = true;
		count += k == count;
	}
	both.jobs = all;
	both.labels = labels;
	both.job_count = count;
	return search_rows(q, &both, s, ret, is_model, why);
}

int outlier_search(const struct outlier_request *q, struct store *s, struct outlier_result *ret,
		   struct strbuf *why)
{
	int r = check_request(q, why);

	if (r == 0)
		r = choose_methods(q, ret, why);
	if (r < 0)
		return r;
	if (q->pca > 0 && q->model)
		return search_with_model_jobs(q, s, ret, why);
	return search_rows(q, q, s, ret, NULL, why);
}
