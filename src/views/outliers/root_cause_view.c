/* Root causes of a job; see root_cause_view.h. */
#include "views/outliers/root_cause_view.h"

#include <errno.h>
#include <math.h>

#include "analysis/outliers/model.h"
#include "core/text/text.h"
#include "store/analysis/carriers.h"
#include "views/outliers/feature_text.h"
#include "views/stream_table.h"

/* So many executables and hosts are named. */
#define CARRIERS_SHOWN 3

void root_causes_release(struct root_causes *c)
{
	free(c->v);
	feature_table_release(&c->t);
	strbuf_release(&c->notes);
}

/* ---- finding -------------------------------------------------------------------------------- */

/* Row 0 is the job, the others are the reference. */
static int load_rows(const struct root_cause_request *q, struct store *s,
		     struct outlier_result *res, struct strbuf *why)
{
	size_t n = 1 + (q->job.model ? 0 : q->ref_count);
	_cleanup_free_ int64_t *jobs = xcalloc(n, sizeof(*jobs));
	_cleanup_free_ char **labels = xcalloc(n, sizeof(*labels));
	struct outlier_request all = q->job;

	jobs[0] = q->job.jobs[0];
	labels[0] = q->job.labels[0];
	for (size_t i = 1; i < n; i++) {
		jobs[i] = q->ref_jobs[i - 1];
		labels[i] = q->ref_labels[i - 1];
	}
	all.jobs = jobs;
	all.labels = labels;
	all.job_count = n;
	int r = load_features(&all, s, res, why);
	if (r == 0 && (!res->t.row_count || res->t.rows[0].id != 0))
		r = strbuf_fail(why, -ENOENT, "job %s has no process with these tags", labels[0]);
	if (r == 0 && !q->job.model && res->t.row_count < n)
		strbuf_addf(&res->notes, "%zu of %zu reference jobs %s this operation\n",
			    res->t.row_count - 1, n - 1,
			    plural(res->t.row_count - 1, "has", "have"));
	if (r == 0 && !q->job.model && res->t.row_count < 1 + MODEL_MIN_ROWS)
		r = strbuf_fail(why, -ENODATA,
				"a reference needs at least %d jobs, and there %s %zu",
				MODEL_MIN_ROWS, plural(res->t.row_count - 1, "is", "are"),
				res->t.row_count - 1);
	return r == 0 ? choose_features(&all, res, why) : r;
}

static int rank_features(const struct root_cause_request *q, const struct outlier_result *res,
			 struct root_causes *ret, struct strbuf *why)
{
	const struct value *computed = NULL;

	if (q->job.model)
		computed = model_computed(q->job.model->json,
					  q->job.op_tags ? q->job.op_tags->list.items[0] : NULL);
	ret->v = xcalloc(res->t.column_count + 1, sizeof(*ret->v));
	for (size_t c = 0; c < res->t.column_count; c++) {
		const struct feature_column *column = &res->t.columns[c];
		struct root_cause *cause = &ret->v[ret->count];
		struct feature_model m;

		if (q->job.model && !model_feature(computed, column->name, &m))
			continue;
		cause->feature = c;
		int r = root_cause_of(&q->job.rules, q->job.model ? &m : NULL,
				      q->job.model ? NULL : column->v + 1, res->t.row_count - 1,
				      column->v[0], cause);
		if (r < 0)
			return strbuf_fail(why, r, "feature '%s' has a value that is not a number",
					   column->name);
		ret->count++;
	}
	root_causes_sort(ret->v, ret->count);
	if (!ret->count && q->job.model)
		return strbuf_fail(why, -ENOENT, "model '%s' does not have this operation",
				   q->job.model->name);
	return 0;
}

int root_causes_find(const struct root_cause_request *q, struct store *s, struct root_causes *ret,
		     struct strbuf *why)
{
	_cleanup_outliers_ struct outlier_result res = OUTLIER_RESULT_INIT;
	int r = 0;

	if (q->job.model && !q->job.model->enabled)
		r = strbuf_fail(why, -EACCES, "model '%s' is disabled", q->job.model->name);
	else if (q->job.model &&
		 (q->job.level == LEVEL_OPERATIONS) != model_of_operations(q->job.model->json))
		r = strbuf_fail(why, -EINVAL, "model '%s' is a model of %s: use it %s --op",
				q->job.model->name,
				q->job.level == LEVEL_OPERATIONS ? "whole jobs" : "operations",
				q->job.level == LEVEL_OPERATIONS ? "without" : "with");
	if (r == 0)
		r = load_rows(q, s, &res, why);
	if (r == 0)
		r = rank_features(q, &res, ret, why);
	strbuf_addstr(&ret->notes, res.notes.buf);
	ret->t = res.t;
	res.t = (struct feature_table){0};
	return r;
}

/* ---- carriers ------------------------------------------------------------------------------- */

/* An executable or host with what it adds to the difference. */
struct share {
	const struct carrier *c;
	double reference; /* mean of the reference jobs */
	double part;      /* of the change, 0 to 1 */
};

static int by_part(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->part != y->part)
		return x->part > y->part ? -1 : 1;
	return strcmp(x->c->name, y->c->name);
}

static double sum_of_name(const struct carrier_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->v[i].name, name))
			return l->v[i].sum;
	return 0;
}

struct shares {
	struct carrier_list own;
	struct share *v;
	size_t count;
};

static void shares_release(struct shares *s)
{
	carrier_list_release(&s->own);
	free(s->v);
}

/* Of those that changed in the direction in which the job did. */
static void set_parts(struct shares *sh, double difference)
{
	double all = 0;

	for (size_t i = 0; i < sh->count; i++) {
		double change = sh->v[i].c->sum - sh->v[i].reference;

		sh->v[i].part = change * difference > 0 ? fabs(change) : 0;
		all += sh->v[i].part;
	}
	for (size_t i = 0; i < sh->count && all > 0; i++)
		sh->v[i].part /= all;
	if (sh->count)
		qsort(sh->v, sh->count, sizeof(*sh->v), by_part);
}

/* Hosts of another name did the same work in the reference: they are compared by the job alone. */
static int load_shares(const struct root_cause_request *q, struct store *s, enum carrier_kind kind,
		       const char *feature, struct shares *ret)
{
	const struct value *tags = q->job.op_tags ? q->job.op_tags->list.items[0] : NULL;
	size_t refs = kind == CARRIER_HOST ? 0 : q->ref_count;
	double difference = 0;
	int r = carriers_of(&ret->own, s, q->job.jobs[0], kind, feature, tags);

	ret->count = ret->own.count;
	ret->v = xcalloc(ret->count + 1, sizeof(*ret->v));
	for (size_t i = 0; i < ret->count; i++)
		ret->v[i].c = &ret->own.v[i];
	for (size_t k = 0; k < refs && r >= 0; k++) {
		_cleanup_carriers_ struct carrier_list other = {0};

		r = carriers_of(&other, s, q->ref_jobs[k], kind, feature, tags);
		for (size_t i = 0; i < ret->count; i++)
			ret->v[i].reference +=
				sum_of_name(&other, ret->v[i].c->name) / (double)refs;
		for (size_t i = 0; i < other.count; i++)
			difference -= other.v[i].sum / (double)refs;
	}
	for (size_t i = 0; i < ret->count; i++)
		difference += ret->v[i].c->sum;
	set_parts(ret, difference);
	return r;
}

/* ---- printing ------------------------------------------------------------------------------- */

static double typical(const struct root_cause_request *q, const struct root_causes *c,
		      const struct root_cause *cause)
{
	struct feature_model m;

	if (cause->reference.count || !q->job.model)
		return cause->reference.median;
	const struct value *computed = model_computed(
		q->job.model->json, q->job.op_tags ? q->job.op_tags->list.items[0] : NULL);
	if (model_feature(computed, c->t.columns[cause->feature].name, &m) && m.has[METHOD_MADZ])
		return m.params[METHOD_MADZ].center;
	return NAN;
}

static void add_carriers(struct strbuf *out, const struct shares *sh)
{
	size_t n = 0;

	for (size_t i = 0; i < sh->count && n < CARRIERS_SHOWN; i++) {
		if (!(sh->v[i].part >= 0.05))
			continue;
		strbuf_addf(out, "%s%s %.0f %%", n++ ? ", " : "",
			    *sh->v[i].c->name ? sh->v[i].c->name : "?", sh->v[i].part * 100);
	}
}

static void ratio_cell(struct stream_table *g, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isinf(v))
		strbuf_addstr(&text, "inf");
	else if (g->csv)
		text_add_real(&text, v);
	else
		strbuf_addf(&text, "%.1f", v);
	stream_table_figure(g, &text);
}

static int print_cause(const struct root_cause_request *q, const struct root_causes *c,
		       const struct root_cause *cause, struct store *s, struct stream_table *g)
{
	const char *name = c->t.columns[cause->feature].name;
	_cleanup_(shares_release) struct shares exes = {0}, hosts = {0};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = 0;

	if (carriers_known(name) && cause->total > 1) {
		r = load_shares(q, s, CARRIER_EXECUTABLE, name, &exes);
		if (r >= 0)
			r = load_shares(q, s, CARRIER_HOST, name, &hosts);
	}
	stream_table_str(g, q->job.labels[0]);
	stream_table_str(g, name);
	ratio_cell(g, cause->total);
	add_feature(&text, name, cause->value, g->human);
	stream_table_figure(g, &text);
	strbuf_reset(&text);
	add_feature(&text, name, typical(q, c, cause), g->human);
	stream_table_figure(g, &text);
	strbuf_reset(&text);
	add_carriers(&text, &exes);
	stream_table_text(g, text.buf, text.len);
	strbuf_reset(&text);
	add_carriers(&text, &hosts);
	stream_table_text(g, text.buf, text.len);
	stream_table_row(g, cause->total > 1 ? 'y' : 0);
	return r < 0 ? r : 0;
}

static size_t shown(const struct root_cause_request *q, const struct root_causes *c)
{
	return q->limit && q->limit < c->count ? q->limit : c->count;
}

void root_causes_begin(struct stream_table *g, bool csv, FILE *f)
{
	static const struct terminal_table_column titles[] = {{"JOB", 0},
							      {"FEATURE", 0},
							      {"RATIO", COLUMN_RIGHT},
							      {"VALUE", COLUMN_RIGHT},
							      {"TYPICAL", COLUMN_RIGHT},
							      {"EXECUTABLES", COLUMN_CUT},
							      {"HOSTS", COLUMN_CUT}};
	static const struct terminal_table_column heads[] = {
		{"jobid", 0},   {"feature", 0},     {"ratio", 0}, {"value", 0},
		{"typical", 0}, {"executables", 0}, {"hosts", 0}};

	stream_table_begin(g, csv ? heads : titles, ARRAY_SIZE(titles), csv, f);
}

int root_causes_rows(const struct root_cause_request *q, const struct root_causes *c,
		     struct store *s, struct stream_table *g)
{
	int r = 0;

	for (size_t i = 0; i < shown(q, c) && r == 0; i++)
		r = print_cause(q, c, &c->v[i], s, g);
	return r;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* JSON has no infinity. */
static void json_ratio(struct json_writer *j, const char *key, double v)
{
	if (isinf(v))
		json_str(j, key, "inf");
	else
		json_f64(j, key, v);
}

static void json_reference(struct json_writer *j, const struct description *d)
{
	if (!d->count) {
		json_none(j, "reference");
		return;
	}
	json_begin_object(j, "reference");
	json_u64(j, "count", d->count);
	json_f64(j, "mean", d->mean);
	json_f64(j, "std", d->std);
	json_f64(j, "min", d->min);
	json_f64(j, "25%", d->q1);
	json_f64(j, "50%", d->median);
	json_f64(j, "75%", d->q3);
	json_f64(j, "max", d->max);
	json_end_object(j);
}

static int json_carriers(const struct root_cause_request *q, struct store *s, struct json_writer *j,
			 const char *key, enum carrier_kind kind, const char *feature)
{
	_cleanup_(shares_release) struct shares sh = {0};
	int r = load_shares(q, s, kind, feature, &sh);

	json_begin_array(j, key);
	for (size_t i = 0; i < sh.count && i < 10 && r >= 0; i++) {
		const struct carrier *c = sh.v[i].c;

		if (!(sh.v[i].part > 0))
			continue;
		json_begin_object(j, NULL);
		json_str(j, "name", c->name);
		json_f64(j, "share", round4(sh.v[i].part));
		json_f64(j, "value", c->sum);
		if (kind == CARRIER_EXECUTABLE && q->ref_count)
			json_f64(j, "reference", sh.v[i].reference);
		json_i64(j, "processes", c->processes);
		json_time(j, "start", c->start_us);
		json_time(j, "end", c->end_us);
		json_end_object(j);
	}
	json_end_array(j);
	return r;
}

static int json_cause(const struct root_cause_request *q, const struct root_causes *c,
		      const struct root_cause *cause, struct store *s, struct json_writer *j)
{
	const char *name = c->t.columns[cause->feature].name;
	int r = 0;

	json_begin_object(j, NULL);
	json_str(j, "feature", name);
	json_ratio(j, "ratio", cause->total);
	json_f64(j, "value", cause->value);
	json_f64(j, "typical", typical(q, c, cause));
	json_reference(j, &cause->reference);
	json_begin_object(j, "methods");
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		if (!cause->has[m])
			continue;
		json_begin_object(j, outlier_methods[m].name);
		json_ratio(j, "score", cause->score[m]);
		json_ratio(j, "reference_max", cause->ref_max[m]);
		json_ratio(j, "ratio", cause->ratio[m]);
		json_end_object(j);
	}
	json_end_object(j);
	if (carriers_known(name) && cause->total > 1) {
		r = json_carriers(q, s, j, "executables", CARRIER_EXECUTABLE, name);
		if (r >= 0)
			r = json_carriers(q, s, j, "hosts", CARRIER_HOST, name);
	}
	json_end_object(j);
	return r < 0 ? r : 0;
}

int root_causes_json(const struct root_cause_request *q, const struct root_causes *c,
		     struct store *s, struct json_writer *j)
{
	int r = 0;

	json_begin_object(j, NULL);
	json_str(j, "jobid", q->job.labels[0]);
	json_str(j, "model", q->job.model ? q->job.model->name : NULL);
	json_begin_array(j, "reference_jobs");
	for (size_t i = 0; i < q->ref_count; i++)
		json_str(j, NULL, q->ref_labels[i]);
	json_end_array(j);
	if (q->job.op_tags)
		value_to_json(q->job.op_tags->list.items[0], j, "tags");
	json_begin_array(j, "causes");
	for (size_t i = 0; i < shown(q, c) && r == 0; i++)
		r = json_cause(q, c, &c->v[i], s, j);
	json_end_array(j);
	json_end_object(j);
	return r;
}
