/* Operations as table, JSON and CSV; see operation_list.h. */
#include <errno.h>
#include <string.h>

#include "views/operations/operation_list.h"
#include "views/operations/operation_rows.h"

/* ---- rows ------------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
	const struct operation_row *x = a, *y = b;

	/* unknown values, the smallest number, come last */
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	if (x->jo != y->jo)
		return x->jo < y->jo ? -1 : 1;
	return strcmp(x->jo->names[x->at].text, y->jo->names[y->at].text);
}

struct operation_row *operation_rows(const struct job_operations *jobs, size_t count,
				     const struct operation_output *o, size_t *ret)
{
	struct operation_row *rows = NULL;
	size_t n = 0, cap = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < jobs[i].operations.count; k++) {
			GROW(rows, n, cap);
			rows[n++] = (struct operation_row){
				&jobs[i], k,
				operation_value(&jobs[i].operations.v[k], o->metric, o->how)};
		}
	if (n)
		qsort(rows, n, sizeof(*rows), compare);
	*ret = n;
	return rows;
}

static const struct operation *op_of(const struct operation_row *r)
{
	return &r->jo->operations.v[r->at];
}

static int64_t metric_of(const struct operation_row *r, enum metric_id id)
{
	int at;

	(void)operation_metric_find(metric_by_id(id)->name, &at);
	return operation_value(op_of(r), at, OPERATION_SUM);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void json_runs(struct json_writer *j, const struct operation *o)
{
	json_u64(j, "runs", o->run_count);
	json_bool(j, "contiguous", operation_is_contiguous(o));
	if (!o->runs)
		return;
	json_begin_array(j, "intervals");
	for (size_t i = 0; i < o->run_count; i++) {
		json_begin_array(j, NULL);
		json_i64(j, NULL, o->runs[i].start);
		json_i64(j, NULL, o->runs[i].end);
		json_end_array(j);
	}
	json_end_array(j);
}

static void json_metrics(struct json_writer *j, const struct operation *o)
{
	const enum metric_id *list;
	size_t n = operation_metrics(&list);

	for (size_t i = 0; i < n; i++)
		json_known(j, metric_by_id(list[i])->name,
			   operation_value(o, (int)i, OPERATION_SUM));
	json_known(j, operation_rssmax_sum, o->metrics[n].sum);
}

static void json_events(struct json_writer *j, const struct operation_row *r)
{
	bool any = false;

	for (size_t i = 0; i < r->jo->event_count; i++)
		any = any || r->jo->events[i].sums[r->at] != UNKNOWN;
	if (!any)
		return;
	json_begin_object(j, "counters");
	for (size_t i = 0; i < r->jo->event_count; i++)
		json_known(j, r->jo->events[i].name, r->jo->events[i].sums[r->at]);
	json_end_object(j);
}

static void json_row(struct json_writer *j, const struct operation_row *r,
		     const struct operation_output *out)
{
	const struct operation *o = op_of(r);
	const struct operation_name *name = &r->jo->names[r->at];

	json_begin_object(j, NULL);
	if (out->total) {
		json_u64(j, "jobs", name->jobs);
	} else {
		json_i64(j, "job", r->jo->job);
		json_str(j, "jobid", r->jo->label);
	}
	json_str(j, "operation", name->text);
	value_to_json(name->tags, j, "tags");
	json_str(j, "origin", name->phase ? name->phase : "tags");
	json_u64(j, "processes", o->processes);
	json_u64(j, "images", o->images);
	json_number(j, "cpu_time", operation_value(o, OPERATION_BY_CPU, out->how));
	json_number(j, "duration", o->duration[out->how]);
	json_time(j, "start", o->start);
	json_time(j, "end", o->end);
	json_runs(j, o);
	json_metrics(j, o);
	json_events(j, r);
	json_end_object(j);
}

static int print_json(const struct operation_row *rows, size_t count,
		      const struct operation_output *o)
{
	struct json_rows json;

	json_rows_begin(&json, o->f);
	for (size_t i = 0; i < count; i++) {
		json_row(&json.j, &rows[i], o);
		json_rows_next(&json);
	}
	return json_rows_end(&json);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static int print_csv(const struct operation_row *rows, size_t count,
		     const struct operation_output *o)
{
	static const char *const first[] = {"operation", "processes", "images",
					    "cpu_time",  "duration",  "start",
					    "end",       "runs",      "contiguous"};
	struct terminal_table_column columns[OPERATION_METRICS_MAX + 16] = {
		{o->total ? "jobs" : "jobid", 0}};
	const enum metric_id *list;
	size_t last = operation_metrics(&list), n = 1;
	struct stream_table g;

	for (size_t i = 0; i < ARRAY_SIZE(first); i++)
		columns[n++].name = first[i];
	for (size_t i = 0; i < last; i++)
		columns[n++].name = metric_by_id(list[i])->name;
	columns[n++].name = operation_rssmax_sum;
	stream_table_begin(&g, columns, n, true, o->f);
	for (size_t i = 0; i < count; i++) {
		const struct operation *op = op_of(&rows[i]);
		const struct operation_name *name = &rows[i].jo->names[rows[i].at];

		if (o->total)
			stream_table_count(&g, (int64_t)name->jobs);
		else
			stream_table_str(&g, rows[i].jo->label);
		stream_table_str(&g, name->text);
		stream_table_count(&g, (int64_t)op->processes);
		stream_table_count(&g, (int64_t)op->images);
		stream_table_us(&g, operation_value(op, OPERATION_BY_CPU, o->how));
		stream_table_us(&g, op->duration[o->how]);
		stream_table_time(&g, op->start);
		stream_table_time(&g, op->end);
		stream_table_count(&g, (int64_t)op->run_count);
		stream_table_str(&g, operation_is_contiguous(op) ? "yes" : "no");
		for (size_t k = 0; k <= last; k++)
			stream_table_number(&g, operation_value(op, (int)k, o->how));
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

/* ---- table ----------------------------------------------------------------------------------- */

void operation_cell(struct stream_table *g, const struct operation_output *o, int64_t v)
{
	const enum metric_id *list;
	size_t n = operation_metrics(&list);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (o->metric == OPERATION_BY_CPU || o->metric == OPERATION_BY_DURATION)
		add_us(&text, v, g->human);
	else if (o->metric < 0)
		add_count(&text, v, g->human);
	else
		add_metric(&text,
			   metric_by_id((size_t)o->metric < n ? list[o->metric] : METRIC_RSSMAX), v,
			   g->human);
	stream_table_figure(g, &text);
}

/* Its name; of a phase also who marked it, if others marked phases of the same name. */
static void name_cell(struct stream_table *g, const struct job_operations *jo, size_t at)
{
	const struct operation_name *name = &jo->names[at];
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addstr(&text, name->text);
	for (size_t i = 0; name->phase && i < jo->operations.count; i++) {
		if (i == at || strcmp(jo->names[i].text, name->text) != 0)
			continue;
		strbuf_addf(&text, " (%s)", name->phase);
		break;
	}
	stream_table_text(g, text.buf, text.len);
}

static void bytes_cell(struct stream_table *g, int64_t v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (g->human)
		add_bytes(&text, v, true);
	else if (v != UNKNOWN)
		strbuf_addf(&text, "%lld", (long long)v);
	stream_table_figure(g, &text);
}

/* Is the metric one that has no column of its own? */
static bool is_extra(const struct operation_output *o)
{
	static const enum metric_id shown[] = {METRIC_NUMTIDS, METRIC_RCHAR, METRIC_WCHAR,
					       METRIC_RSSMAX};
	int at;

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		if (operation_metric_find(metric_by_id(shown[i])->name, &at) && at == o->metric)
			return false;
	return o->metric >= 0 || o->metric == OPERATION_BY_IMAGES;
}

static int print_table(const struct operation_row *rows, size_t count,
		       const struct operation_output *o)
{
	struct terminal_table_column columns[] = {
		{"OPERATION", COLUMN_CUT},     {o->total ? "JOBS" : "JOB", o->total},
		{"PROCESSES", COLUMN_RIGHT},   {"THREADS", COLUMN_RIGHT},
		{"CPU", COLUMN_RIGHT},         {"DURATION", COLUMN_RIGHT},
		{"RUNS", COLUMN_RIGHT},        {"READ", COLUMN_RIGHT},
		{"WRITTEN", COLUMN_RIGHT},     {"RSSMAX", COLUMN_RIGHT},
		{o->metric_name, COLUMN_RIGHT}};
	struct stream_table g;

	stream_table_begin(&g, columns, ARRAY_SIZE(columns) - !is_extra(o), false, o->f);
	for (size_t i = 0; i < count; i++) {
		const struct operation_row *r = &rows[i];
		const struct operation *op = op_of(r);

		name_cell(&g, r->jo, r->at);
		if (o->total)
			stream_table_count(&g, (int64_t)r->jo->names[r->at].jobs);
		else
			stream_table_str(&g, r->jo->label);
		stream_table_count(&g, (int64_t)op->processes);
		stream_table_count(&g, metric_of(r, METRIC_NUMTIDS));
		stream_table_us(&g, operation_value(op, OPERATION_BY_CPU, o->how));
		stream_table_us(&g, op->duration[o->how]);
		stream_table_count(&g, (int64_t)op->run_count);
		bytes_cell(&g, metric_of(r, METRIC_RCHAR));
		bytes_cell(&g, metric_of(r, METRIC_WCHAR));
		stream_table_kib(&g, metric_of(r, METRIC_RSSMAX));
		if (is_extra(o))
			operation_cell(&g, o, r->value);
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

int operation_list_print(struct operation_list *l, const struct operation_output *o)
{
	_cleanup_(job_operations_release) struct job_operations total = {0};
	_cleanup_free_ struct operation_row *rows = NULL;
	size_t count;

	for (size_t i = 0; o->total && i < l->count; i++)
		job_operations_merge(&total, &l->jobs[i]);
	rows = o->total ? operation_rows(&total, 1, o, &count)
			: operation_rows(l->jobs, l->count, o, &count);
	if (count > o->limit)
		count = (size_t)o->limit;
	int r = o->form == PROC_JSON  ? print_json(rows, count, o)
		: o->form == PROC_CSV ? print_csv(rows, count, o)
				      : print_table(rows, count, o);
	return r < 0 ? r : (int)count;
}

/* ---- roots ----------------------------------------------------------------------------------- */

static void json_root(struct json_writer *j, const struct job_operations *jo,
		      const struct operation_root *r)
{
	json_begin_object(j, NULL);
	json_i64(j, "job", jo->job);
	json_str(j, "jobid", jo->label);
	json_str(j, "operation", jo->names[r->operation].text);
	json_i64(j, "process", store_key(jo->job, r->number));
	json_known(j, "pid", r->pid);
	json_str(j, "exename", r->exename);
	json_time(j, "start", r->start);
	json_number(j, "duration", r->duration);
	json_number(j, "cpu_time", r->cpu_us);
	json_u64(j, "descendants", r->descendants);
	json_end_object(j);
}

static void root_row(struct stream_table *g, const struct job_operations *jo,
		     const struct operation_root *r)
{
	stream_table_str(g, jo->label);
	stream_table_number(g, r->pid);
	stream_table_str(g, r->exename);
	stream_table_time_ms(g, r->start);
	stream_table_us(g, r->duration);
	stream_table_us(g, r->cpu_us);
	stream_table_count(g, r->descendants);
	stream_table_str(g, jo->names[r->operation].text);
	stream_table_row(g, 0);
}

int operation_roots_print(struct operation_list *l, const struct operation_output *o)
{
	static const struct terminal_table_column columns[] = {{"JOB", 0},
							       {"PID", COLUMN_RIGHT},
							       {"EXE", COLUMN_CUT},
							       {"START", 0},
							       {"DURATION", COLUMN_RIGHT},
							       {"CPU", COLUMN_RIGHT},
							       {"DESCENDANTS", COLUMN_RIGHT},
							       {"OPERATION", COLUMN_CUT}};
	static const struct terminal_table_column csv[] = {
		{"jobid", 0},    {"pid", 0},      {"exename", 0},     {"start", 0},
		{"duration", 0}, {"cpu_time", 0}, {"descendants", 0}, {"operation", 0}};
	struct json_rows json;
	struct stream_table g;
	uint64_t n = 0;

	if (o->form == PROC_JSON)
		json_rows_begin(&json, o->f);
	else
		stream_table_begin(&g, o->form == PROC_CSV ? csv : columns, ARRAY_SIZE(columns),
				   o->form == PROC_CSV, o->f);
	for (size_t i = 0; i < l->count; i++)
		for (size_t k = 0; k < l->jobs[i].root_count && n < o->limit; k++, n++) {
			const struct operation_root *r = &l->jobs[i].roots[k];

			if (o->form != PROC_JSON) {
				root_row(&g, &l->jobs[i], r);
				continue;
			}
			json_root(&json.j, &l->jobs[i], r);
			json_rows_next(&json);
		}
	int r = o->form == PROC_JSON ? json_rows_end(&json) : stream_table_end(&g);
	return r < 0 ? r : (int)n;
}
