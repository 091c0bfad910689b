/* Prints the history of runs; see history_view.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/comparison/bootstrap.h"
#include "core/text/text.h"
#include "views/comparison/history_view.h"
#include "views/comparison/run_comparison.h"
#include "views/stream_table.h"
#include "analysis/sorted.h"

#define CHART_WIDTH 100 /* at most; also of the terminal */

/* ---- for people ----------------------------------------------------------------------------- */

static double median_of(const double *v, size_t n)
{
	_cleanup_free_ double *copy = xcalloc(n + 1, sizeof(*copy));

	memcpy(copy, v, n * sizeof(*copy));
	sort_values(copy, n);
	return sorted_median(copy, n);
}

/* One character for each run, or for several: the median of these. */
static void print_chart(const struct history *v, size_t width, FILE *f)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const marks[] = {"_", ".", "-", "~", "=", "+", "*", "#"};
	const char *const *levels = text_is_utf8() ? blocks : marks;
	const size_t columns = v->count < width ? v->count : width;
	double least = INFINITY, most = -INFINITY;
	_cleanup_free_ double *values = xcalloc(columns + 1, sizeof(*values));

	for (size_t i = 0; i < columns; i++) {
		const size_t begin = i * v->count / columns, end = (i + 1) * v->count / columns;

		values[i] = median_of(v->values + begin, end - begin);
		least = values[i] < least ? values[i] : least;
		most = values[i] > most ? values[i] : most;
	}
	for (size_t i = 0; i < columns; i++) {
		const double share = most > least ? (values[i] - least) / (most - least) : 0;

		fputs(levels[(size_t)(share * 7.999)], f);
	}
	fputc('\n', f);
}

static void add_level_row(struct terminal_table *t, const struct history *v, size_t i, bool human)
{
	const size_t begin = i ? v->changes[i - 1].first : 0;
	const size_t end = i < v->change_count ? v->changes[i].first : v->count;
	_cleanup_strbuf_ struct strbuf when = STRBUF_INIT, median = STRBUF_INIT,
				       change = STRBUF_INIT;

	text_add_local_time(&when, v->times[begin]);
	comparison_add_value(&median, v->metric, median_of(v->values + begin, end - begin), human);
	if (i && v->changes[i - 1].before > 0)
		comparison_add_percent(&change,
				       v->changes[i - 1].after / v->changes[i - 1].before - 1);
	terminal_table_row(t, !i                                                   ? 0
			      : v->changes[i - 1].after > v->changes[i - 1].before ? 'r'
										   : 'g');
	terminal_table_cell(t, 0, when.buf);
	terminal_table_cellf(t, 1, "%zu", end - begin);
	terminal_table_cell(t, 2, median.buf);
	terminal_table_cell(t, 3, change.buf);
	terminal_table_cell(t, 4, v->jobs[begin]);
}

static void print_history(const struct histories *h, const struct history *v, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"SINCE", 0},
		{"RUNS", COLUMN_RIGHT},
		{"MEDIAN", COLUMN_RIGHT},
		{"CHANGE", COLUMN_RIGHT},
		{"FIRST JOB", COLUMN_CUT},
	};
	const size_t width = terminal_width(f), needed = 2 * h->how.least_runs;
	struct terminal_table t;

	fprintf(f, "\n%s: %zu %s", v->metric->name, v->count, plural(v->count, "run", "runs"));
	if (v->absent)
		fprintf(f, ", not recorded in %zu more", v->absent);
	if (v->count < needed)
		fprintf(f, "; change points need %zu runs", needed);
	else if (!v->change_count)
		fprintf(f, "; no change");
	else
		fprintf(f, "; %zu %s", v->change_count,
			plural(v->change_count, "change", "changes"));
	fputc('\n', f);
	if (!v->count)
		return;
	if (width)
		print_chart(v, width < CHART_WIDTH ? width : CHART_WIDTH, f);
	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i <= v->change_count; i++)
		add_level_row(&t, v, i, width > 0);
	terminal_table_print(&t, f);
	terminal_table_release(&t);
}

int histories_table(const struct histories *h, FILE *f)
{
	fprintf(f, "%zu %s", h->runs, plural(h->runs, "run", "runs"));
	if (h->fingerprint)
		fprintf(f, " of %s", h->fingerprint);
	if (h->failed)
		fprintf(f, ", %zu failed %s left out", h->failed, plural(h->failed, "run", "runs"));
	fputc('\n', f);
	for (size_t i = 0; i < h->count; i++)
		print_history(h, &h->v[i], f);
	return output_error(f);
}

/* ---- for programs --------------------------------------------------------------------------- */

/* The change with which run i begins a level; NULL: none. */
static const struct change_point *change_at(const struct history *v, size_t i)
{
	for (size_t k = 0; k < v->change_count; k++)
		if (v->changes[k].first == i)
			return &v->changes[k];
	return NULL;
}

static void number_cell(struct stream_table *t, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isfinite(v))
		strbuf_addf(&text, "%.15g", v);
	stream_table_figure(t, &text);
}

int histories_csv(const struct histories *h, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"metric", 0}, {"unit", 0},  {"start", 0},  {"job", 0},
		{"value", 0},  {"level", 0}, {"change", 0}, {"p", 0},
	};
	struct stream_table t;

	stream_table_begin(&t, columns, ARRAY_SIZE(columns), true, f);
	for (size_t m = 0; m < h->count; m++) {
		const struct history *v = &h->v[m];
		int64_t level = 0;

		for (size_t i = 0; i < v->count; i++) {
			const struct change_point *c = change_at(v, i);

			level += c != NULL;
			stream_table_str(&t, v->metric->name);
			stream_table_str(&t, metric_unit_name(v->metric->unit));
			stream_table_time(&t, v->times[i]);
			stream_table_str(&t, v->jobs[i]);
			number_cell(&t, v->values[i]);
			stream_table_number(&t, level);
			number_cell(&t, c && c->before > 0 ? c->after / c->before - 1 : NAN);
			number_cell(&t, c ? c->p : NAN);
			stream_table_row(&t, 0);
		}
	}
	return stream_table_end(&t);
}

static void json_history(struct json_writer *j, const struct history *v)
{
	json_begin_object(j, NULL);
	json_str(j, "metric", v->metric->name);
	json_str(j, "unit", metric_unit_name(v->metric->unit));
	json_u64(j, "absent", v->absent);
	json_begin_array(j, "changes");
	for (size_t i = 0; i < v->change_count; i++) {
		const struct change_point *c = &v->changes[i];

		json_begin_object(j, NULL);
		json_str(j, "job", v->jobs[c->first]);
		json_time(j, "start", v->times[c->first]);
		json_f64(j, "before", c->before);
		json_f64(j, "after", c->after);
		json_f64(j, "change", c->before > 0 ? c->after / c->before - 1 : NAN);
		json_f64(j, "p", c->p);
		json_end_object(j);
	}
	json_end_array(j);
	json_begin_array(j, "runs");
	for (size_t i = 0; i < v->count; i++) {
		json_begin_object(j, NULL);
		json_str(j, "job", v->jobs[i]);
		json_time(j, "start", v->times[i]);
		json_f64(j, "value", v->values[i]);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

int histories_json(const struct histories *h, FILE *f)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	j.pretty = true;
	json_begin_object(&j, NULL);
	json_u64(&j, "runs", h->runs);
	json_u64(&j, "failed_runs", h->failed);
	if (h->fingerprint)
		json_str(&j, "fingerprint", h->fingerprint);
	json_begin_array(&j, "metrics");
	for (size_t i = 0; i < h->count; i++)
		json_history(&j, &h->v[i]);
	json_end_array(&j);
	json_end_object(&j);
	return json_write(&j, f);
}
