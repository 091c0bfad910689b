/*
 * The share of operations in the CPU time, or another metric, of their jobs; see operation_list.h.
 * The cost is the share of a set of operations, by default those that move data: the sum
 * over its operations, so that an image in two of them counts twice. Rounded to three
 * decimals, and to whole percent for a job.
 */
#include <math.h>
#include <string.h>

#include "views/operations/operation_rows.h"

/* Sums of the set, of a job or of all jobs. */
struct share {
	int64_t value, total;
	double percent; /* NAN: unknown */
};

static struct share share_of_job(const struct job_operations *jo, int64_t total,
				 const struct operation_output *o)
{
	struct share s = {.total = total};

	for (size_t i = 0; i < jo->operations.count; i++)
		if (!jo->names[i].rest)
			s.value = operation_add(
				s.value, operation_value(&jo->operations.v[i], o->metric, o->how));
	s.percent = operation_round(operation_share(s.value, total), 0);
	return s;
}

/* Jobs whose total is unknown do not count. */
static struct share share_of_all(const struct operation_list *l, const struct operation_cost *c,
				 const struct operation_output *o)
{
	struct share all = {0};

	for (size_t i = 0; i < l->count; i++) {
		struct share s = share_of_job(&l->jobs[i], c->totals[i], o);

		if (s.total == UNKNOWN)
			continue;
		all.value = operation_add(all.value, s.value);
		all.total = operation_add(all.total, s.total);
	}
	all.percent = operation_round(operation_share(all.value, all.total), 3);
	return all;
}

int operation_job_total(struct store *s, int64_t job, const struct operation_output *o,
			int64_t *ret)
{
	bool peak = !strcmp(o->metric_name, metric_by_id(METRIC_RSSMAX)->name);
	_cleanup_stmt_ struct stmt *st =
		o->metric == OPERATION_BY_CPU
			? store_query(s, "SELECT cpu_us FROM job WHERE no = $1", db_int(job))
		: o->metric == OPERATION_BY_DURATION
			? store_query(s, "SELECT duration_us FROM job WHERE no = $1", db_int(job))
		: o->metric == OPERATION_BY_PROCESSES
			? store_query(s, "SELECT processes FROM job WHERE no = $1", db_int(job))
		: o->metric == OPERATION_BY_IMAGES
			? store_query(s, "SELECT num_procs FROM job WHERE no = $1", db_int(job))
			: store_query(s, "SELECT sum FROM job_sum WHERE job = $1 AND metric = $2",
				      db_int(job), db_str(o->metric_name));
	int r = peak ? 0 : stmt_step(st);

	*ret = r == 1 ? stmt_get_optional(st, 0) : UNKNOWN;
	return r < 0 ? r : 0;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_share(struct json_writer *j, const struct share *s)
{
	json_number(j, "value", s->value);
	json_number(j, "total", s->total);
	json_f64(j, "percent", s->percent);
}

static int print_json(const struct operation_list *l, const struct operation_cost *c,
		      const struct operation_output *o)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	const struct share all = share_of_all(l, c, o);

	json_begin_object(&j, NULL);
	json_str(&j, "metric", o->metric_name);
	json_str(&j, "set", c->set);
	json_share(&j, &all);
	json_begin_array(&j, "jobs");
	for (size_t i = 0; i < l->count; i++) {
		const struct share s = share_of_job(&l->jobs[i], c->totals[i], o);

		json_begin_object(&j, NULL);
		json_i64(&j, "job", l->jobs[i].job);
		json_str(&j, "jobid", l->jobs[i].label);
		json_share(&j, &s);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_begin_array(&j, "operations");
	for (size_t i = 0; i < l->count; i++) {
		size_t count;
		_cleanup_free_ struct operation_row *rows =
			operation_rows(&l->jobs[i], 1, o, &count);

		for (size_t k = 0; k < count; k++) {
			const struct operation_name *name = &rows[k].jo->names[rows[k].at];

			json_begin_object(&j, NULL);
			json_i64(&j, "job", l->jobs[i].job);
			json_str(&j, "jobid", l->jobs[i].label);
			json_str(&j, "operation", name->text);
			json_str(&j, "origin", name->phase ? name->phase : "tags");
			json_bool(&j, "in_set", !name->rest);
			json_number(&j, "value", rows[k].value);
			json_f64(&j, "percent",
				 operation_round(operation_share(rows[k].value, c->totals[i]), 3));
			json_end_object(&j);
		}
	}
	json_end_array(&j);
	json_end_object(&j);
	return json_write(&j, o->f);
}

/* ---- table and CSV --------------------------------------------------------------------------- */

struct cost_table {
	struct stream_table g;
	const struct operation_output *o;
};

/* decimals: of percent; a terminal gets a short number. */
static void put(struct cost_table *t, const char *job, const char *kind, const char *operation,
		const struct share *s, int decimals)
{
	_cleanup_strbuf_ struct strbuf percent = STRBUF_INIT;
	struct stream_table *g = &t->g;

	if (!isnan(s->percent))
		strbuf_addf(&percent, "%.*f%s", decimals, s->percent, g->human ? " %" : "");
	stream_table_str(g, job);
	stream_table_str(g, kind);
	stream_table_str(g, operation);
	operation_cell(g, t->o, s->value);
	operation_cell(g, t->o, s->total);
	stream_table_figure(g, &percent);
	stream_table_row(g, 0);
}

static void put_operations(struct cost_table *t, const struct job_operations *jo, int64_t total,
			   const char *kind, bool rest)
{
	size_t count;
	_cleanup_free_ struct operation_row *rows = operation_rows(jo, 1, t->o, &count);

	for (size_t i = 0; i < count; i++) {
		const struct operation_name *name = &jo->names[rows[i].at];
		const struct share s = {rows[i].value, total,
					operation_round(operation_share(rows[i].value, total), 3)};

		if (name->rest == rest)
			put(t, jo->label, rest && name->phase ? "phase" : kind, name->text, &s, 3);
	}
}

static int print_rows(const struct operation_list *l, const struct operation_cost *c,
		      const struct operation_output *o)
{
	static const struct terminal_table_column csv[] = {{"jobid", 0},     {"kind", 0},
							   {"operation", 0}, {"value", 0},
							   {"total", 0},     {"percent", 0}};
	const struct terminal_table_column columns[] = {{"JOB", 0},
							{"KIND", 0},
							{"OPERATION", COLUMN_CUT},
							{o->metric_name, COLUMN_RIGHT},
							{"OF JOB", COLUMN_RIGHT},
							{"PERCENT", COLUMN_RIGHT}};
	bool is_csv = o->form == PROC_CSV;
	const struct share all = share_of_all(l, c, o);
	struct cost_table t = {.o = o};

	stream_table_begin(&t.g, is_csv ? csv : columns, ARRAY_SIZE(csv), is_csv, o->f);
	for (size_t i = 0; i < l->count; i++) {
		const struct job_operations *jo = &l->jobs[i];
		const struct share s = share_of_job(jo, c->totals[i], o);

		put(&t, jo->label, "job", c->set, &s, 0);
		put_operations(&t, jo, c->totals[i], c->set, false);
		put_operations(&t, jo, c->totals[i], "other", true);
	}
	put(&t, "", "total", c->set, &all, 3);
	return stream_table_end(&t.g);
}

int operation_cost_print(struct operation_list *l, const struct operation_cost *c,
			 const struct operation_output *o)
{
	size_t rows = 0;
	int r = o->form == PROC_JSON ? print_json(l, c, o) : print_rows(l, c, o);

	for (size_t i = 0; i < l->count; i++)
		rows += l->jobs[i].operations.count;
	return r < 0 ? r : (int)rows;
}
