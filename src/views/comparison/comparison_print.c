/* Prints a comparison as a table, CSV, JSON or findings; see run_comparison.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/log.h"
#include "core/text/text.h"
#include "views/comparison/run_comparison.h"
#include "views/stream_table.h"

/* ---- values --------------------------------------------------------------------------------- */

void comparison_add_percent(struct strbuf *out, double share)
{
	/* not -0.00 */
	const double p = fabs(share) < 0.00005 ? 0 : 100 * share;

	if (!isfinite(p))
		return;
	if (p >= 99950)
		strbuf_addf(out, "%.0f x", share + 1);
	else if (p >= 999.5)
		strbuf_addf(out, "%.3g x", share + 1);
	else
		strbuf_addf(out, "%+.*f %%", fabs(p) >= 9.95 ? 1 : 2, p);
}

void comparison_add_value(struct strbuf *out, const struct figure_metric *m, double v, bool human)
{
	if (!isfinite(v))
		return;
	if (human)
		unit_add_value(out, v, metric_unit_name(m->unit));
	else
		strbuf_addf(out, "%.15g", v);
}

/* "+1.20 % to +3.40 %"; an end that is not known is left open. */
static void add_interval(struct strbuf *out, const struct comparison *c)
{
	const bool low = c->low > -1, high = isfinite(c->high);

	if (!low && !high)
		return;
	if (low && high) {
		comparison_add_percent(out, c->low);
		strbuf_addstr(out, " to ");
		comparison_add_percent(out, c->high);
	} else {
		strbuf_addstr(out, low ? "at least " : "at most ");
		comparison_add_percent(out, low ? c->low : c->high);
	}
}

/* "7 more runs", "7 more of each", "7 more runs, 3 more of the baseline" */
static void add_plan(struct strbuf *out, const struct comparison *c)
{
	if (c->more_a == SIZE_MAX)
		strbuf_addf(out, "more than %d runs needed", COMPARE_RUNS_MAX);
	else if (c->more_a && c->more_a == c->more_b)
		strbuf_addf(out, "%zu more runs of each", c->more_a);
	else if (c->more_a)
		strbuf_addf(out, "%zu more %s", c->more_a, plural(c->more_a, "run", "runs"));
	if (c->more_b && c->more_b != c->more_a)
		strbuf_addf(out, "%s%zu more %sof the baseline", c->more_a ? ", " : "", c->more_b,
			    c->more_a ? "" : "runs ");
}

static const char *verdict_word(const struct comparison *c)
{
	return c->absent ? "absent" : c->better ? "better" : verdict_name(c->verdict);
}

static void add_absent(struct strbuf *out, const struct comparison *c)
{
	strbuf_addstr(out, !c->a_runs && !c->b_runs ? "not recorded"
			   : !c->a_runs             ? "not recorded in the first set"
						    : "not recorded in the baseline");
}

/* ---- table ---------------------------------------------------------------------------------- */

enum { COL_NAME, COL_BASE, COL_NOW, COL_CHANGE, COL_INTERVAL, COL_VERDICT, COL_COUNT };

static void add_table_row(struct terminal_table *t, const struct run_comparison *c, size_t i,
			  bool human)
{
	const struct comparison *r = &c->rows[i];
	const struct figure_metric *m = c->labels[i].metric;
	_cleanup_strbuf_ struct strbuf base = STRBUF_INIT, now = STRBUF_INIT, change = STRBUF_INIT,
				       interval = STRBUF_INIT, verdict = STRBUF_INIT;

	terminal_table_row(t, r->verdict == VERDICT_WORSE                        ? 'r'
			      : r->better                                        ? 'g'
			      : r->verdict == VERDICT_INCONCLUSIVE && !r->absent ? 'y'
										 : 0);
	comparison_add_value(&base, m, r->b_median, human);
	comparison_add_value(&now, m, r->a_median, human);
	comparison_add_percent(&change, r->change);
	add_interval(&interval, r);
	strbuf_addstr(&verdict, verdict_word(r));
	if (r->absent) {
		strbuf_reset(&verdict);
		add_absent(&verdict, r);
	} else if (r->verdict == VERDICT_INCONCLUSIVE) {
		strbuf_addstr(&verdict, ": ");
		add_plan(&verdict, r);
	} else if (r->verdict == VERDICT_NOT_WORSE && r->change > r->relative) {
		strbuf_addstr(&verdict, ", not by ");
		comparison_add_value(&verdict, m, r->absolute, true);
	}
	terminal_table_cell(t, COL_NAME, m->name);
	terminal_table_cell(t, COL_BASE, base.buf);
	terminal_table_cell(t, COL_NOW, now.buf);
	terminal_table_cell(t, COL_CHANGE, change.buf);
	terminal_table_cell(t, COL_INTERVAL, interval.buf);
	terminal_table_cell(t, COL_VERDICT, verdict.buf);
}

/* Rows of one job, executable, operation or phase under its name. Parts of jobs in which nothing
 * became worse or better are only counted. */
static size_t print_part(const struct run_comparison *c, size_t begin, FILE *f)
{
	static const struct terminal_table_column columns[COL_COUNT] = {
		{"METRIC", 0},
		{"BASELINE", COLUMN_RIGHT},
		{"NOW", COLUMN_RIGHT},
		{"CHANGE", COLUMN_RIGHT},
		{"INTERVAL", COLUMN_RIGHT},
		{"VERDICT", COLUMN_WRAP},
	};
	const struct comparison_label *l = &c->labels[begin];
	const bool human = terminal_width(f) > 0;
	struct terminal_table t;
	size_t end = begin;
	bool any = l->group == FIGURES_JOB;

	terminal_table_init(&t, columns, COL_COUNT);
	for (; end < c->count && c->labels[end].name == l->name; end++)
		if (l->group == FIGURES_JOB || c->rows[end].verdict == VERDICT_WORSE ||
		    c->rows[end].better) {
			add_table_row(&t, c, end, human);
			any = true;
		}
	if (l->name && any) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		text_add_printable(&name, l->name, strlen(l->name));
		fprintf(f, "\n%s %s\n", figure_group_names[l->group], name.buf);
	}
	if (any)
		terminal_table_print(&t, f);
	terminal_table_release(&t);
	return end;
}

static void print_head(const struct run_comparison *c, FILE *f)
{
	const struct {
		const char *what, *name;
		size_t count, failed;
	} sets[] = {{"now", c->a_name, c->a_count, c->a_failed},
		    {"baseline", c->b_name, c->b_count, c->b_failed}};

	for (size_t i = 0; i < 2; i++) {
		fprintf(f, "%-10s%zu %s", sets[i].what, sets[i].count,
			plural(sets[i].count, "run", "runs"));
		if (sets[i].name) {
			_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

			text_add_printable(&name, sets[i].name, strlen(sets[i].name));
			fprintf(f, " of %s", name.buf);
		}
		if (sets[i].failed)
			fprintf(f, ", %zu failed %s left out", sets[i].failed,
				plural(sets[i].failed, "run", "runs"));
		if (i && c->fingerprint)
			fprintf(f, ", earlier ones of: %s", c->fingerprint);
		fputc('\n', f);
	}
	fprintf(f, "\n");
}

/* What the parts of a job add to a metric that became worse. */
static void print_parts(const struct run_comparison *c, const struct run_figures *where, size_t row,
			enum figure_group group, FILE *f)
{
	const size_t metric = (size_t)(c->labels[row].metric - c->metrics.v);
	struct {
		const char *name;
		double more;
	} top[3] = {{NULL, 0}};

	for (size_t i = 1; i < where->count; i++) {
		const double *v = where->rows[i].v + metric * where->runs;
		const struct median_interval a = median_interval_of(v, c->a_count, 0.05),
					     b = median_interval_of(v + c->a_count, c->b_count,
								    0.05);
		const double more = a.median - b.median;
		size_t k = 3;

		/* a few per cent of it explain nothing */
		if (where->rows[i].group != group ||
		    !(more > 0.05 * (c->rows[row].a_median - c->rows[row].b_median)))
			continue;
		while (k > 0 && more > top[k - 1].more)
			k--;
		if (k == 3)
			continue;
		memmove(top + k + 1, top + k, (2 - k) * sizeof(*top));
		top[k].name = where->rows[i].name;
		top[k].more = more;
	}
	if (!top[0].name)
		return;
	fprintf(f, "  more %s in%s", c->labels[row].metric->name,
		group == FIGURES_PHASE ? " phase" : "");
	for (size_t k = 0; k < 3 && top[k].name; k++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		text_add_printable(&text, top[k].name, strlen(top[k].name));
		strbuf_addstr(&text, " (+");
		comparison_add_value(&text, c->labels[row].metric, top[k].more, true);
		fprintf(f, "%s %s)", k ? "," : "", text.buf);
	}
	fputc('\n', f);
}

static void print_where(const struct run_comparison *c, const struct run_figures *where, size_t row,
			FILE *f)
{
	print_parts(c, where, row, FIGURES_EXECUTABLE, f);
	print_parts(c, where, row, FIGURES_PHASE, f);
}

static size_t count_verdicts(const struct run_comparison *c, enum verdict v, bool decides)
{
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++)
		n += !c->rows[i].absent && c->rows[i].verdict == v &&
		     (!decides || c->rows[i].decides);
	return n;
}

static void add_label(struct strbuf *out, const struct comparison_label *l)
{
	if (l->group == FIGURES_PHASE)
		strbuf_addstr(out, "phase ");
	if (l->name) {
		text_add_printable(out, l->name, strlen(l->name));
		strbuf_addstr(out, ": ");
	}
	strbuf_addstr(out, l->metric->name);
}

/* The most runs that a row which decides asks for. */
static const struct comparison *largest_plan(const struct run_comparison *c)
{
	const struct comparison *most = NULL;

	for (size_t i = 0; i < c->count; i++) {
		const struct comparison *r = &c->rows[i];

		if (r->decides && !r->absent && r->verdict == VERDICT_INCONCLUSIVE &&
		    (!most || r->more_a > most->more_a ||
		     (r->more_a == most->more_a && r->more_b > most->more_b)))
			most = r;
	}
	return most;
}

void run_comparison_verdict(const struct run_comparison *c, struct strbuf *out)
{
	const size_t worse = count_verdicts(c, VERDICT_WORSE, false);
	const struct comparison *plan = largest_plan(c);

	strbuf_addstr(out, verdict_name(c->verdict));
	if (c->verdict == VERDICT_WORSE) {
		size_t told = 0;

		for (size_t i = 0; i < c->count && told < 3; i++) {
			if (c->rows[i].verdict != VERDICT_WORSE)
				continue;
			strbuf_addstr(out, told++ ? ", " : ": ");
			add_label(out, &c->labels[i]);
			strbuf_addch(out, ' ');
			if (isnan(c->rows[i].change))
				strbuf_addstr(out, "from nothing");
			else
				comparison_add_percent(out, c->rows[i].change);
		}
		if (worse > told)
			strbuf_addf(out, " and %zu more", worse - told);
	} else if (c->verdict == VERDICT_INCONCLUSIVE && plan) {
		strbuf_addf(out, " in %zu of %zu metrics: ",
			    count_verdicts(c, VERDICT_INCONCLUSIVE, true), c->metrics.count);
		add_plan(out, plan);
	} else if (c->verdict == VERDICT_INCONCLUSIVE) {
		strbuf_addstr(out, ": no metric is recorded in both sets");
	} else {
		strbuf_addf(out, " by more than %g %%", 100 * c->min_effect);
	}
}

int run_comparison_table(const struct run_comparison *c, const struct run_figures *where, FILE *f)
{
	_cleanup_strbuf_ struct strbuf verdict = STRBUF_INIT;
	const bool color = color_on(f);

	print_head(c, f);
	for (size_t i = 0; i < c->count;)
		i = print_part(c, i, f);
	fputc('\n', f);
	for (size_t i = 0; where && i < c->count; i++)
		if (c->labels[i].group == FIGURES_JOB && c->rows[i].verdict == VERDICT_WORSE)
			print_where(c, where, i, f);
	run_comparison_verdict(c, &verdict);
	fprintf(f, "%sverdict%s   %s\n", color ? "\033[1m" : "", color ? "\033[0m" : "",
		verdict.buf);
	return output_error(f);
}

/* ---- findings ------------------------------------------------------------------------------- */

int run_comparison_findings(const struct run_comparison *c, FILE *f)
{
	for (int pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < c->count; i++) {
			const struct comparison *r = &c->rows[i];
			_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

			if (r->absent || (pass ? !r->decides || r->verdict != VERDICT_INCONCLUSIVE
					       : r->verdict != VERDICT_WORSE))
				continue;
			strbuf_addf(&line, "%s: ", verdict_name(r->verdict));
			add_label(&line, &c->labels[i]);
			strbuf_addch(&line, ' ');
			comparison_add_value(&line, c->labels[i].metric, r->b_median, true);
			strbuf_addstr(&line, " -> ");
			comparison_add_value(&line, c->labels[i].metric, r->a_median, true);
			strbuf_addstr(&line, ", ");
			if (isfinite(r->change))
				comparison_add_percent(&line, r->change);
			else
				strbuf_addstr(&line, "from nothing");
			if (r->low > -1 || isfinite(r->high)) {
				strbuf_addstr(&line, " (");
				add_interval(&line, r);
				strbuf_addch(&line, ')');
			}
			if (pass) {
				strbuf_addstr(&line, "; ");
				add_plan(&line, r);
			}
			fprintf(f, "%s\n", line.buf);
		}
	return output_error(f);
}
