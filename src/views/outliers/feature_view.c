/* See feature_view.h. */
#include "views/outliers/feature_view.h"

#include <errno.h>
#include <math.h>

#include "analysis/distribution/distribution.h"
#include "analysis/distribution/modes.h"
#include "analysis/outliers/root_cause.h"
#include "views/outliers/feature_text.h"

/* What is known of one feature. */
struct feature_facts {
	const char *name;
	struct description values;
	enum distribution distribution;
	bool tested; /* whether there were enough values */
	struct dist_result tests[TEST_COUNT];
	double modes[MODES_MAX];
	size_t mode_count; /* 0: too few values */
};

static int examine(const struct distribution_functions *fn, const struct feature_table *t,
		   size_t column, struct feature_facts *ret)
{
	_cleanup_free_ double *v = xcalloc(t->row_count + 1, sizeof(*v));
	const struct feature_column *c = &t->columns[column];
	size_t n = 0;

	for (size_t i = 0; i < t->row_count; i++)
		if (!isnan(c->v[i]))
			v[n++] = c->v[i];
	*ret = (struct feature_facts){.name = c->name};
	describe_values(v, n, &ret->values);
	int r = fn->check(v, n, ret->tests, &ret->distribution);
	ret->tested = r == 0;
	if (r == 0 || r == -ENODATA)
		r = modes_find(v, n, ret->modes, &ret->mode_count);
	return r == -ENODATA ? 0 : r;
}

/* ---- output --------------------------------------------------------------------------------- */

static void json_tests(struct json_writer *j, const struct feature_facts *f)
{
	json_begin_object(j, "tests");
	for (enum dist_test t = 0; t < TEST_COUNT; t++) {
		if (!f->tests[t].done)
			continue;
		json_begin_object(j, dist_test_names[t]);
		json_f64(j, "statistic", f->tests[t].statistic);
		json_f64(j, "p", f->tests[t].p);
		json_bool(j, "passed", f->tests[t].p > DIST_ALPHA);
		json_end_object(j);
	}
	json_end_object(j);
}

static void json_feature(struct json_writer *j, const struct feature_facts *f)
{
	json_begin_object(j, NULL);
	json_str(j, "feature", f->name);
	json_u64(j, "count", f->values.count);
	json_f64(j, "mean", f->values.mean);
	json_f64(j, "std", f->values.std);
	json_f64(j, "min", f->values.min);
	json_f64(j, "25%", f->values.q1);
	json_f64(j, "50%", f->values.median);
	json_f64(j, "75%", f->values.q3);
	json_f64(j, "max", f->values.max);
	if (f->tested) {
		json_str(j, "distribution", distribution_names[f->distribution]);
		json_tests(j, f);
	} else {
		json_none(j, "distribution");
	}
	json_begin_array(j, "modes");
	for (size_t i = 0; i < f->mode_count; i++)
		json_f64(j, NULL, f->modes[i]);
	json_end_array(j);
	json_end_object(j);
}

static int print_json(const struct feature_facts *facts, size_t count, FILE *f)
{
	struct json_rows json;

	json_rows_begin(&json, f);
	for (size_t i = 0; i < count; i++) {
		json_feature(&json.j, &facts[i]);
		json_rows_next(&json);
	}
	return json_rows_end(&json);
}

/* For people rounded to what their units show. */
static void add_value(struct strbuf *out, const char *feature, double v, bool human)
{
	if (human)
		add_feature(out, feature, v, true);
	else
		add_plain_number(out, round4(v));
}

static void value_cell(struct stream_table *g, const char *feature, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	add_value(&text, feature, v, g->human);
	stream_table_figure(g, &text);
}

static void modes_cell(struct stream_table *g, const struct feature_facts *f)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < f->mode_count; i++) {
		strbuf_addstr(&text, i ? g->csv ? " " : ", " : "");
		add_value(&text, f->name, f->modes[i], g->human);
	}
	stream_table_text(g, text.buf, text.len);
}

static int print_table(const struct feature_facts *facts, size_t count, enum outlier_level level,
		       bool csv, FILE *f)
{
	static const char *const titles[] = {"JOBS", "OPERATIONS", "PROCESSES", "THREADS"};
	const struct terminal_table_column columns[] = {
		{"FEATURE", 0},           {titles[level], COLUMN_RIGHT}, {"MINIMUM", COLUMN_RIGHT},
		{"MEDIAN", COLUMN_RIGHT}, {"MAXIMUM", COLUMN_RIGHT},     {"DISTRIBUTION", 0},
		{"MODES", COLUMN_CUT}};
	static const struct terminal_table_column names[] = {
		{"feature", 0}, {"count", 0},        {"min", 0},  {"median", 0},
		{"max", 0},     {"distribution", 0}, {"modes", 0}};
	struct stream_table g;

	stream_table_begin(&g, csv ? names : columns, ARRAY_SIZE(names), csv, f);
	for (size_t i = 0; i < count; i++) {
		const struct feature_facts *e = &facts[i];

		stream_table_str(&g, e->name);
		stream_table_count(&g, (int64_t)e->values.count);
		value_cell(&g, e->name, e->values.min);
		value_cell(&g, e->name, e->values.median);
		value_cell(&g, e->name, e->values.max);
		stream_table_str(&g, e->tested ? distribution_names[e->distribution] : "");
		modes_cell(&g, e);
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

int features_print(const struct outlier_request *q, struct store *s, enum proc_form form, FILE *f,
		   struct strbuf *why)
{
	_cleanup_outliers_ struct outlier_result res = OUTLIER_RESULT_INIT;
	const struct distribution_functions *fn = distributions(why);

	int r = fn ? load_features(q, s, &res, why) : -ENOSYS;
	if (r == 0)
		r = choose_features(q, &res, why);
	if (r < 0)
		return r;
	size_t count = res.t.column_count;
	_cleanup_free_ struct feature_facts *facts = xcalloc(count + 1, sizeof(*facts));
	for (size_t c = 0; c < count; c++) {
		r = examine(fn, &res.t, c, &facts[c]);
		if (r < 0)
			return strbuf_fail(why, r, "a value of %s is not a number",
					   res.t.columns[c].name);
	}
	return form == PROC_JSON ? print_json(facts, count, f)
				 : print_table(facts, count, q->level, form == PROC_CSV, f);
}
