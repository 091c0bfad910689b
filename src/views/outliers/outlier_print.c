/* See outlier_print.h. */
#include "views/outliers/outlier_print.h"

#include <errno.h>
#include <math.h>

#include "core/text/text.h"
#include "views/outliers/feature_text.h"
#include "views/stream_table.h"

/* A table with more features than this has only those that flag something. */
#define FEATURES_SHOWN 8

/* ---- rows ----------------------------------------------------------------------------------- */

/* What is printed of a row in front of its counts. */
struct row_names {
	const char *job;
	struct strbuf tags;
	int64_t process, part, pid;
	struct strbuf exename;
};

static void names_release(struct row_names *n)
{
	strbuf_release(&n->tags);
	strbuf_release(&n->exename);
}

struct printer {
	const struct outlier_request *q;
	const struct outlier_result *res;
	struct store *s;
	struct stmt *process; /* details of one */
	FILE *f;
};

static bool by_job(const struct printer *p)
{
	return p->q->level == LEVEL_JOBS || p->q->level == LEVEL_OPERATIONS;
}

static int name_process(struct printer *p, struct row_names *n)
{
	if (!p->process)
		p->process =
			stmt_prepare(p->s, "SELECT p.pid, s.bytes FROM process p LEFT JOIN "
					   "string s ON s.id = $1 + p.exename WHERE p.id = $2");
	if (!p->process)
		return -EIO;
	stmt_bind(p->process, db_int(store_key(n->process >> JOB_SHIFT, 0)), db_int(n->process));
	int r = stmt_step(p->process);
	if (r == 1) {
		size_t size;
		const char *exe = stmt_get_text(p->process, 1, &size);

		n->pid = stmt_get_optional(p->process, 0);
		strbuf_add(&n->exename, exe ? exe : "", exe ? size : 0);
		stmt_reset(p->process);
	}
	return r < 0 ? r : 0;
}

static int name_row(struct printer *p, size_t row, struct row_names *n)
{
	const struct feature_row *r = &p->res->t.rows[row];

	*n = (struct row_names){.tags = STRBUF_INIT, .exename = STRBUF_INIT, .pid = UNKNOWN};
	if (by_job(p)) {
		n->job = p->q->labels[r->id];
		if (p->q->level == LEVEL_OPERATIONS)
			add_tags_text(&n->tags, p->res->ops.v[r->group].tags);
		return 0;
	}
	n->process = r->id;
	n->part = r->part;
	n->job = "";
	for (size_t i = 0; i < p->q->job_count; i++)
		if (p->q->jobs[i] == r->id >> JOB_SHIFT)
			n->job = p->q->labels[i];
	return name_process(p, n);
}

/* Calls for every row that is to be printed, in the order of the groups. */
static int each_row(struct printer *p,
		    int (*call)(struct printer *p, size_t row, const struct row_names *n,
				void *user),
		    void *user)
{
	const struct feature_table *t = &p->res->t;
	_cleanup_free_ size_t *first = xcalloc(p->res->groups + 1, sizeof(*first));
	int r = 0;

	/* rows are sorted by group */
	for (size_t i = t->row_count; i-- > 0;)
		first[t->rows[i].group] = i;
	for (size_t g = 0; g < p->res->groups; g++) {
		size_t group = p->res->group_order[g];

		for (size_t i = first[group];
		     i < t->row_count && t->rows[i].group == group && r == 0; i++) {
			_cleanup_(names_release) struct row_names n = {.tags = STRBUF_INIT,
								       .exename = STRBUF_INIT};

			if (!by_job(p) && !outlier_row(p->res, i))
				continue;
			r = name_row(p, i, &n);
			if (r == 0)
				r = call(p, i, &n, user);
		}
	}
	return r;
}

/* ---- CSV and the table of counts ------------------------------------------------------------ */

static const char *const front_csv[4][4] = {{"jobid"},
					    {"jobid", "tags"},
					    {"jobid", "process", "pid", "exename"},
					    {"jobid", "process", "n", "exename"}};
static const char *const front_table[4][4] = {{"JOB"},
					      {"JOB", "TAGS"},
					      {"JOB", "PROCESS", "PID", "EXENAME"},
					      {"JOB", "PROCESS", "THREAD", "EXENAME"}};

struct counts {
	struct stream_table table;
	const bool *show; /* by column */
};

static int count_row(struct printer *p, size_t row, const struct row_names *n, void *user)
{
	struct counts *k = user;

	stream_table_str(&k->table, n->job);
	if (p->q->level == LEVEL_OPERATIONS)
		stream_table_text(&k->table, n->tags.buf, n->tags.len);
	if (!by_job(p)) {
		stream_table_number(&k->table, n->process);
		stream_table_number(&k->table, p->q->level == LEVEL_THREADS ? n->part : n->pid);
		stream_table_text(&k->table, n->exename.buf, n->exename.len);
	}
	if (p->res->weighted) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		strbuf_addf(&text, "%.1f", p->res->weighted[row]);
		stream_table_figure(&k->table, &text);
	}
	for (size_t i = 0; i < p->res->t.column_count; i++) {
		size_t c = p->res->column_order[i];

		if (k->show[c])
			stream_table_number(&k->table, flag_count(outlier_flags(p->res, row, c)));
	}
	stream_table_row(&k->table, outlier_row(p->res, row) ? 'y' : 0);
	return 0;
}

static int print_counts(struct printer *p, bool csv, const bool *show)
{
	const struct feature_table *t = &p->res->t;
	const char *const *front = csv ? front_csv[p->q->level] : front_table[p->q->level];
	_cleanup_free_ struct terminal_table_column *columns =
		xcalloc(5 + t->column_count, sizeof(*columns));
	struct counts k = {.show = show};
	size_t n = 0;

	for (; n < 4 && front[n]; n++)
		columns[n] = (struct terminal_table_column){
			front[n], !by_job(p) && (n == 1 || n == 2) ? COLUMN_RIGHT : 0};
	if (p->res->weighted)
		columns[n++] = (struct terminal_table_column){"pca_weighted", COLUMN_RIGHT};
	for (size_t i = 0; i < t->column_count; i++)
		if (show[p->res->column_order[i]])
			columns[n++] = (struct terminal_table_column){
				t->columns[p->res->column_order[i]].name, COLUMN_RIGHT};
	stream_table_begin(&k.table, columns, n, csv, p->f);
	int r = each_row(p, count_row, &k);
	int e = stream_table_end(&k.table);
	return r < 0 ? r : e;
}

/* ---- the flagged values --------------------------------------------------------------------- */

static void add_methods(const struct outlier_result *res, struct strbuf *out, uint8_t flags)
{
	size_t n = 0;

	for (size_t m = 0; m < ARRAY_SIZE(res->bits); m++)
		if (flags & 1u << m)
			strbuf_addf(out, "%s%s", n++ ? "," : "", res->bits[m]);
}

static double typical(const struct printer *p, size_t row, size_t column)
{
	return p->res->typical[p->res->t.rows[row].group * p->res->t.column_count + column];
}

static int value_rows(struct printer *p, size_t row, const struct row_names *n, void *user)
{
	struct stream_table *g = user;

	for (size_t i = 0; i < p->res->t.column_count; i++) {
		size_t c = p->res->column_order[i];
		const struct feature_column *column = &p->res->t.columns[c];
		uint8_t flags = outlier_flags(p->res, row, c);
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		if (!flags)
			continue;
		stream_table_str(g, n->job);
		if (p->q->level == LEVEL_OPERATIONS)
			stream_table_text(g, n->tags.buf, n->tags.len);
		if (!by_job(p))
			stream_table_number(g, n->process);
		stream_table_str(g, column->name);
		add_feature(&text, column->name, column->v[row], g->human);
		stream_table_text(g, text.buf, text.len);
		strbuf_reset(&text);
		add_feature(&text, column->name, typical(p, row, c), g->human);
		stream_table_text(g, text.buf, text.len);
		strbuf_reset(&text);
		add_methods(p->res, &text, flags);
		stream_table_text(g, text.buf, text.len);
		stream_table_row(g, 0);
	}
	return 0;
}

static int print_values(struct printer *p)
{
	struct terminal_table_column columns[6];
	struct stream_table g;
	size_t n = 0;

	columns[n++] = (struct terminal_table_column){"JOB", 0};
	if (p->q->level == LEVEL_OPERATIONS)
		columns[n++] = (struct terminal_table_column){"TAGS", 0};
	if (!by_job(p))
		columns[n++] = (struct terminal_table_column){"PROCESS", COLUMN_RIGHT};
	columns[n++] = (struct terminal_table_column){"FEATURE", 0};
	columns[n++] = (struct terminal_table_column){"VALUE", COLUMN_RIGHT};
	columns[n++] = (struct terminal_table_column){"TYPICAL", COLUMN_RIGHT};
	struct terminal_table_column all[7];
	memcpy(all, columns, n * sizeof(*all));
	all[n++] = (struct terminal_table_column){"FLAGGED BY", 0};
	fputc('\n', p->f);
	stream_table_begin(&g, all, n, false, p->f);
	int r = each_row(p, value_rows, &g);
	int e = stream_table_end(&g);
	return r < 0 ? r : e;
}

/* ---- features by their weight in the components --------------------------------------------- */

#define RANKED_COMPONENTS 2

struct ranked_feature {
	const char *name;
	double weight, loadings[RANKED_COMPONENTS];
};

static int by_weight(const void *a, const void *b)
{
	const struct ranked_feature *x = a, *y = b;

	/* equal weights may differ by rounding */
	if (round4(x->weight) != round4(y->weight))
		return x->weight > y->weight ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* Weights: the loadings without signs, by the share of variance of the first two components. */
static struct ranked_feature *rank_features(const struct outlier_result *res)
{
	const struct pca *pca = &res->pca;
	size_t k = pca->components < RANKED_COMPONENTS ? pca->components : RANKED_COMPONENTS;
	struct ranked_feature *v = xcalloc(pca->features + 1, sizeof(*v));
	double all = 0;

	for (size_t i = 0; i < k; i++)
		all += pca->ratios[i];
	for (size_t c = 0; c < pca->features; c++) {
		v[c].name = res->inputs[c];
		for (size_t i = 0; i < k; i++) {
			v[c].loadings[i] = pca->loadings[i * pca->features + c];
			if (all > 0)
				v[c].weight += fabs(v[c].loadings[i]) * pca->ratios[i] / all;
		}
	}
	qsort(v, pca->features, sizeof(*v), by_weight);
	return v;
}

static int print_ranking(struct printer *p)
{
	static const struct terminal_table_column columns[] = {{"FEATURE", 0},
							       {"WEIGHT", COLUMN_RIGHT},
							       {"PCA_01", COLUMN_RIGHT},
							       {"PCA_02", COLUMN_RIGHT}};
	_cleanup_free_ struct ranked_feature *v = rank_features(p->res);
	struct stream_table g;

	fputc('\n', p->f);
	stream_table_begin(&g, columns, ARRAY_SIZE(columns), false, p->f);
	for (size_t i = 0; i < p->res->pca.features; i++) {
		const double cells[] = {v[i].weight, v[i].loadings[0], v[i].loadings[1]};

		stream_table_str(&g, v[i].name);
		for (size_t k = 0; k < ARRAY_SIZE(cells); k++) {
			_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

			/* without a negative zero */
			strbuf_addf(&text, "%.4f", round4(cells[k]) + 0.0);
			stream_table_text(&g, text.buf, text.len);
		}
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

static void json_components(const struct outlier_result *res, struct json_writer *j)
{
	_cleanup_free_ struct ranked_feature *v = rank_features(res);

	json_begin_object(j, "pca");
	json_begin_array(j, "variances");
	for (size_t k = 0; k < res->t.column_count; k++)
		json_f64(j, NULL, round4(res->pca.ratios[k]));
	json_end_array(j);
	json_begin_array(j, "ranking");
	for (size_t i = 0; i < res->pca.features; i++) {
		json_begin_object(j, NULL);
		json_str(j, "feature", v[i].name);
		json_f64(j, "weight", round4(v[i].weight) + 0.0);
		json_f64(j, "pca_01", round4(v[i].loadings[0]) + 0.0);
		json_f64(j, "pca_02", round4(v[i].loadings[1]) + 0.0);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static int print_table(struct printer *p)
{
	const struct feature_table *t = &p->res->t;
	_cleanup_free_ bool *show = xcalloc(t->column_count + 1, sizeof(*show));
	size_t flagged = 0, rows = 0;

	for (size_t c = 0; c < t->column_count; c++) {
		for (size_t i = 0; i < t->row_count && !show[c]; i++)
			show[c] = outlier_flags(p->res, i, c) != 0;
		flagged += show[c];
	}
	for (size_t i = 0; i < t->row_count; i++)
		rows += outlier_row(p->res, i);
	for (size_t c = 0; c < t->column_count && t->column_count <= FEATURES_SHOWN; c++)
		show[c] = true;
	int r = rows || by_job(p) ? print_counts(p, false, show) : 0;
	if (r == 0 && p->res->weighted)
		r = print_ranking(p);
	else if (r == 0 && rows)
		r = print_values(p);
	if (r < 0)
		return r;
	/* the first column of detectors is their number */
	size_t less = p->q->detectors ? 1 : 0;
	const char *what = p->q->detectors    ? "detectors"
			   : p->res->weighted ? "principal components"
					      : "features";
	fprintf(p->f, "%s%zu of %zu %s %s by %zu of %zu %s\n", rows || by_job(p) ? "\n" : "", rows,
		t->row_count,
		plural(t->row_count, level_words[p->q->level], level_plurals[p->q->level]),
		plural(rows, "is an outlier", "are outliers"), flagged ? flagged - less : 0,
		t->column_count - less, what);
	return output_error(p->f);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_rules(const struct printer *p, struct json_writer *j)
{
	json_str(j, "level", level_plurals[p->q->level]);
	json_str(j, "model", p->q->model ? p->q->model->name : NULL);
	json_begin_object(j, "methods");
	for (enum detector k = 0; k < DETECTOR_COUNT; k++)
		if (p->q->detectors & 1u << k) {
			json_begin_object(j, detectors[k].name);
			json_end_object(j);
		}
	for (enum outlier_method m = 0; m < METHOD_COUNT && !p->q->detectors; m++) {
		if (!p->res->rules.use[m])
			continue;
		json_begin_object(j, outlier_methods[m].name);
		if (!p->q->model && m != METHOD_IQR)
			json_f64(j, "threshold", p->res->rules.threshold[m]);
		json_end_object(j);
	}
	json_end_object(j);
	json_begin_array(j, "features");
	for (size_t i = 0; i < p->res->t.column_count; i++)
		json_str(j, NULL, p->res->t.columns[p->res->column_order[i]].name);
	json_end_array(j);
}

static void json_names(const struct printer *p, struct json_writer *j, size_t row,
		       const struct row_names *n)
{
	json_str(j, "jobid", n->job);
	if (p->q->level == LEVEL_OPERATIONS)
		value_to_json(p->res->ops.v[p->res->t.rows[row].group].tags, j, "tags");
	if (by_job(p))
		return;
	json_i64(j, "process", n->process);
	json_known(j, "pid", n->pid);
	if (p->q->level == LEVEL_THREADS)
		json_i64(j, "n", n->part);
	json_text(j, "exename", n->exename.buf, n->exename.len);
}

static int json_counts(struct printer *p, size_t row, const struct row_names *n, void *user)
{
	struct json_writer *j = user;

	json_begin_object(j, NULL);
	json_names(p, j, row, n);
	if (p->res->weighted)
		json_f64(j, "pca_weighted", p->res->weighted[row]);
	json_begin_object(j, "counts");
	for (size_t i = 0; i < p->res->t.column_count; i++) {
		size_t c = p->res->column_order[i];

		json_u64(j, p->res->t.columns[c].name, flag_count(outlier_flags(p->res, row, c)));
	}
	json_end_object(j);
	json_end_object(j);
	return 0;
}

static int json_values(struct printer *p, size_t row, const struct row_names *n, void *user)
{
	struct json_writer *j = user;

	for (size_t i = 0; i < p->res->t.column_count; i++) {
		size_t c = p->res->column_order[i];
		uint8_t flags = outlier_flags(p->res, row, c);

		if (!flags)
			continue;
		json_begin_object(j, NULL);
		json_names(p, j, row, n);
		json_str(j, "feature", p->res->t.columns[c].name);
		json_f64(j, "value", p->res->t.columns[c].v[row]);
		json_f64(j, "typical", typical(p, row, c));
		json_begin_array(j, "methods");
		for (size_t m = 0; m < ARRAY_SIZE(p->res->bits); m++)
			if (flags & 1u << m)
				json_str(j, NULL, p->res->bits[m]);
		json_end_array(j);
		json_end_object(j);
	}
	return 0;
}

/* The jobs with and without a flag: of a feature, or of an operation by any feature. */
static void json_side(const struct printer *p, struct json_writer *j, const char *key, size_t which,
		      bool outliers)
{
	const struct feature_table *t = &p->res->t;

	json_begin_array(j, key);
	for (size_t i = 0; i < t->row_count; i++) {
		bool is_op = p->q->level == LEVEL_OPERATIONS;

		if (is_op && t->rows[i].group != which)
			continue;
		bool flagged =
			is_op ? outlier_row(p->res, i) : outlier_flags(p->res, i, which) != 0;
		if (flagged == outliers)
			json_str(j, NULL, p->q->labels[t->rows[i].id]);
	}
	json_end_array(j);
}

static void json_partitions(const struct printer *p, struct json_writer *j)
{
	bool is_op = p->q->level == LEVEL_OPERATIONS;
	size_t n = is_op ? p->res->groups : p->res->t.column_count;

	json_begin_object(j, "partitions");
	for (size_t i = 0; i < n; i++) {
		size_t k = is_op ? p->res->group_order[i] : p->res->column_order[i];

		json_begin_object(j, is_op ? p->res->ops.v[k].text : p->res->t.columns[k].name);
		json_side(p, j, "reference", k, false);
		json_side(p, j, "outliers", k, true);
		json_end_object(j);
	}
	json_end_object(j);
}

/* By how much each operation is above the thresholds, the most conspicuous first. */
static void json_scores(const struct printer *p, struct json_writer *j)
{
	size_t columns = p->res->t.column_count;

	json_begin_array(j, "scores");
	for (size_t g = 0; g < p->res->groups; g++) {
		size_t group = p->res->group_order[g];

		json_begin_object(j, NULL);
		value_to_json(p->res->ops.v[group].tags, j, "tags");
		for (size_t i = 0; i < columns; i++) {
			size_t c = p->res->column_order[i];
			double v = p->res->excess[group * columns + c];

			/* JSON has no infinity */
			if (isinf(v))
				json_str(j, p->res->t.columns[c].name, "inf");
			else
				json_f64(j, p->res->t.columns[c].name, round4(v));
		}
		json_end_object(j);
	}
	json_end_array(j);
}

static int print_json(struct printer *p)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	j.pretty = true;
	json_begin_object(&j, NULL);
	json_rules(p, &j);
	if (p->res->weighted)
		json_components(p->res, &j);
	json_u64(&j, "compared", p->res->t.row_count);
	json_begin_array(&j, level_plurals[p->q->level]);
	int r = each_row(p, json_counts, &j);
	json_end_array(&j);
	if (by_job(p))
		json_partitions(p, &j);
	if (p->q->level == LEVEL_OPERATIONS)
		json_scores(p, &j);
	json_begin_array(&j, "outliers");
	if (r == 0)
		r = each_row(p, json_values, &j);
	json_end_array(&j);
	json_end_object(&j);
	return r < 0 ? r : json_write(&j, p->f);
}

int outlier_print(const struct outlier_request *q, const struct outlier_result *res,
		  struct store *s, enum outlier_form form, FILE *f)
{
	struct printer p = {.q = q, .res = res, .s = s, .f = f};
	_cleanup_free_ bool *all = xcalloc(res->t.column_count + 1, sizeof(*all));
	int r;

	for (size_t c = 0; c < res->t.column_count; c++)
		all[c] = true;
	if (form == OUTLIER_JSON)
		r = print_json(&p);
	else if (form == OUTLIER_CSV)
		r = print_counts(&p, true, all);
	else
		r = print_table(&p);
	stmt_finish_ptr(&p.process);
	return r;
}
