/* Comparisons and summaries for other programs: JSON and CSV; see run_comparison.h. */
#include <errno.h>
#include <math.h>

#include "core/text/text.h"
#include "views/comparison/run_comparison.h"
#include "views/stream_table.h"

/* -1 and INFINITY are unknown bounds. */
static double known_bound(double v)
{
	return v > -1 && isfinite(v) ? v : NAN;
}

static void json_label(struct json_writer *j, const struct comparison_label *l)
{
	json_str(j, "group", figure_group_names[l->group]);
	if (l->name)
		json_str(j, "name", l->name);
	json_str(j, "metric", l->metric->name);
	json_str(j, "unit", metric_unit_name(l->metric->unit));
}

static void json_plan(struct json_writer *j, const char *key, size_t more)
{
	if (more == SIZE_MAX)
		json_none(j, key);
	else
		json_u64(j, key, more);
}

static void json_row(struct json_writer *j, const struct run_comparison *c, size_t i)
{
	const struct comparison *r = &c->rows[i];

	json_begin_object(j, NULL);
	json_label(j, &c->labels[i]);
	json_u64(j, "runs", r->a_runs);
	json_u64(j, "baseline_runs", r->b_runs);
	json_f64(j, "median", r->a_median);
	json_f64(j, "baseline_median", r->b_median);
	json_f64(j, "change", r->change);
	json_f64(j, "low", known_bound(r->low));
	json_f64(j, "high", known_bound(r->high));
	json_f64(j, "least", r->absolute);
	if (r->absent) {
		json_none(j, "verdict");
	} else {
		json_f64(j, "p", r->p);
		json_f64(j, "p_adjusted", r->p_adjusted);
		json_str(j, "verdict", verdict_name(r->verdict));
		json_bool(j, "better", r->better);
	}
	if (!r->absent && r->verdict == VERDICT_INCONCLUSIVE) {
		json_plan(j, "more_runs", r->more_a);
		json_plan(j, "more_baseline_runs", r->more_b);
	}
	json_end_object(j);
}

static void json_runs(struct json_writer *j, const char *key, const char *const *names, size_t n)
{
	json_begin_array(j, key);
	for (size_t i = 0; i < n; i++)
		json_str(j, NULL, names[i]);
	json_end_array(j);
}

int run_comparison_json(const struct run_comparison *c, FILE *f)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	j.pretty = true;
	json_begin_object(&j, NULL);
	json_str(&j, "verdict", verdict_name(c->verdict));
	json_f64(&j, "min_effect", c->min_effect);
	json_f64(&j, "confidence", 1 - c->alpha);
	json_runs(&j, "runs", c->run_names, c->a_count);
	json_runs(&j, "baseline_runs", c->run_names + c->a_count, c->b_count);
	json_u64(&j, "failed_runs", c->a_failed);
	json_u64(&j, "failed_baseline_runs", c->b_failed);
	if (c->fingerprint)
		json_str(&j, "fingerprint", c->fingerprint);
	json_begin_array(&j, "comparisons");
	for (size_t i = 0; i < c->count; i++)
		json_row(&j, c, i);
	json_end_array(&j);
	json_end_object(&j);
	return json_write(&j, f);
}

static void cell(struct stream_table *t, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isfinite(v))
		strbuf_addf(&text, "%.15g", v);
	stream_table_figure(t, &text);
}

static void label_cells(struct stream_table *t, const struct comparison_label *l)
{
	stream_table_str(t, figure_group_names[l->group]);
	stream_table_str(t, l->name);
	stream_table_str(t, l->metric->name);
	stream_table_str(t, metric_unit_name(l->metric->unit));
}

int run_comparison_csv(const struct run_comparison *c, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"group", 0},
		{"name", 0},
		{"metric", 0},
		{"unit", 0},
		{"runs", 0},
		{"median", 0},
		{"baseline_runs", 0},
		{"baseline_median", 0},
		{"change", 0},
		{"low", 0},
		{"high", 0},
		{"p", 0},
		{"p_adjusted", 0},
		{"verdict", 0},
		{"better", 0},
		{"more_runs", 0},
		{"more_baseline_runs", 0},
	};
	struct stream_table t;

	stream_table_begin(&t, columns, ARRAY_SIZE(columns), true, f);
	for (size_t i = 0; i < c->count; i++) {
		const struct comparison *r = &c->rows[i];
		const bool plan =
			!r->absent && r->verdict == VERDICT_INCONCLUSIVE && r->more_a != SIZE_MAX;

		label_cells(&t, &c->labels[i]);
		stream_table_number(&t, (int64_t)r->a_runs);
		cell(&t, r->a_median);
		stream_table_number(&t, (int64_t)r->b_runs);
		cell(&t, r->b_median);
		cell(&t, r->change);
		cell(&t, known_bound(r->low));
		cell(&t, known_bound(r->high));
		cell(&t, r->absent ? NAN : r->p);
		cell(&t, r->absent ? NAN : r->p_adjusted);
		stream_table_str(&t, r->absent ? NULL : verdict_name(r->verdict));
		stream_table_str(&t, r->absent ? NULL : r->better ? "true" : "false");
		stream_table_number(&t, plan ? (int64_t)r->more_a : UNKNOWN);
		stream_table_number(&t, plan ? (int64_t)r->more_b : UNKNOWN);
		stream_table_row(&t, 0);
	}
	return stream_table_end(&t);
}

/* ---- one set -------------------------------------------------------------------------------- */

static struct median_interval interval_of(const struct run_comparison *c, size_t i)
{
	return median_interval_of(c->rows[i].a, c->rows[i].a_count, c->alpha);
}

/* The median lies outside of all n values with a probability of 2 / 2^n. */
static int runs_of_interval(double alpha)
{
	int runs = 1;

	for (double outside = 1; outside > alpha && runs < 64; outside /= 2)
		runs++;
	return runs;
}

int run_summary_table(const struct run_comparison *c, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"METRIC", 0},
		{"MIN", COLUMN_RIGHT},
		{"MEDIAN", COLUMN_RIGHT},
		{"INTERVAL", COLUMN_RIGHT},
		{"MAX", COLUMN_RIGHT},
	};
	const bool human = terminal_width(f) > 0;
	bool with_interval = false;
	struct terminal_table t;

	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < c->count; i++) {
		const struct figure_metric *m = c->labels[i].metric;
		const struct median_interval v = interval_of(c, i);
		struct strbuf text[4] = {STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT};

		if (!v.runs)
			continue;
		terminal_table_row(&t, 0);
		comparison_add_value(&text[0], m, v.least, human);
		comparison_add_value(&text[1], m, v.median, human);
		with_interval = with_interval || isfinite(v.low);
		if (isfinite(v.low)) {
			comparison_add_value(&text[2], m, v.low, human);
			strbuf_addstr(&text[2], " to ");
			comparison_add_value(&text[2], m, v.high, human);
		}
		comparison_add_value(&text[3], m, v.most, human);
		terminal_table_cell(&t, 0, m->name);
		for (size_t k = 0; k < 4; k++) {
			terminal_table_cell(&t, k + 1, text[k].buf);
			strbuf_release(&text[k]);
		}
	}
	terminal_table_print(&t, f);
	terminal_table_release(&t);
	if (!with_interval)
		fprintf(f, "\nan interval needs %d runs\n", runs_of_interval(c->alpha));
	return output_error(f);
}

int run_summary_json(const struct run_comparison *c, FILE *f)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	j.pretty = true;
	json_begin_object(&j, NULL);
	json_f64(&j, "confidence", 1 - c->alpha);
	json_runs(&j, "runs", c->run_names, c->a_count);
	json_begin_array(&j, "metrics");
	for (size_t i = 0; i < c->count; i++) {
		const struct median_interval v = interval_of(c, i);

		json_begin_object(&j, NULL);
		json_label(&j, &c->labels[i]);
		json_u64(&j, "runs", v.runs);
		json_f64(&j, "min", v.least);
		json_f64(&j, "median", v.median);
		json_f64(&j, "low", v.low);
		json_f64(&j, "high", v.high);
		json_f64(&j, "max", v.most);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	return json_write(&j, f);
}

int run_summary_csv(const struct run_comparison *c, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"group", 0}, {"name", 0},   {"metric", 0}, {"unit", 0}, {"runs", 0},
		{"min", 0},   {"median", 0}, {"low", 0},    {"high", 0}, {"max", 0},
	};
	struct stream_table t;

	stream_table_begin(&t, columns, ARRAY_SIZE(columns), true, f);
	for (size_t i = 0; i < c->count; i++) {
		const struct median_interval v = interval_of(c, i);

		label_cells(&t, &c->labels[i]);
		stream_table_number(&t, (int64_t)v.runs);
		cell(&t, v.least);
		cell(&t, v.median);
		cell(&t, v.low);
		cell(&t, v.high);
		cell(&t, v.most);
		stream_table_row(&t, 0);
	}
	return stream_table_end(&t);
}
