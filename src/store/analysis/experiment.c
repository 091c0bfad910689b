/* See experiment.h. */
#include "store/analysis/experiment.h"

#include "store/query.h"

/* Metrics of a job that have their own column. */
static const struct {
	const char *name, *column;
	enum metric_unit unit;
} columns[] = {
	{"duration", "j.duration_us", UNIT_MICROSECONDS},
	{"cpu_time", "j.cpu_us", UNIT_MICROSECONDS},
	{"processes", "j.processes", UNIT_COUNT},
	{"images", "j.num_procs", UNIT_COUNT},
	{"num_procs", "j.num_procs", UNIT_COUNT},
	{"num_threads", "j.num_threads", UNIT_COUNT},
	{"peak_procs", "j.peak_procs", UNIT_COUNT},
	{"peak_threads", "j.peak_threads", UNIT_COUNT},
};

void experiment_release(struct experiment *x)
{
	for (size_t i = 0; i < x->count; i++) {
		free(x->jobs[i].label);
		free(x->jobs[i].group);
		free(x->jobs[i].segment);
	}
	free(x->jobs);
	*x = (struct experiment){0};
}

/* Adds the expression of the value and sets its unit. */
static void add_value(struct sql *q, const struct experiment_query *how, enum metric_unit *ret_unit)
{
	const struct metric *m = metric_by_name(how->metric);

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (!strcmp(columns[i].name, how->metric)) {
			*ret_unit = columns[i].unit;
			sql_add(q, columns[i].column);
			return;
		}
	*ret_unit = m ? m->unit : UNIT_COUNT;
	sql_add(q, m && m->agg == AGG_MAX && !how->sums ? "(SELECT s.max" : "(SELECT s.sum");
	sql_put(q, " FROM job_sum s WHERE s.job = j.no AND s.metric = ?)",
		db_str(m ? m->name : how->metric));
}

static char *text_or_empty(struct stmt *st, int column)
{
	char *text = stmt_get_copy(st, column);

	return text ? text : xstrdup("");
}

static int take_job(struct experiment *x, struct store *s, struct stmt *st)
{
	_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;
	int64_t no = stmt_get_int(st, 0);
	int r = job_label(s, no, stmt_get_str(st, 1), &label);

	if (r < 0)
		return r;
	GROW(x->jobs, x->count, x->cap);
	x->jobs[x->count++] = (struct experiment_job){
		.no = no,
		.label = xstrdup(label.buf),
		.has_exitcode = !stmt_is_null(st, 2),
		.exitcode = stmt_is_null(st, 2) ? 0 : stmt_get_int(st, 2),
		.group = text_or_empty(st, 3),
		.segment = text_or_empty(st, 4),
		.has_value = !stmt_is_null(st, 5),
		.value = stmt_is_null(st, 5) ? 0 : stmt_get_int(st, 5),
	};
	return 1;
}

int experiment_load(struct experiment *x, struct store *s, const struct experiment_query *how)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	int r;

	*x = (struct experiment){0};
	sql_put(&q,
		"SELECT j.no, j.jobid, j.exitcode, "
		"(SELECT t.value FROM job_tag t WHERE t.job = j.no AND t.key = ?), "
		"(SELECT t.value FROM job_tag t WHERE t.job = j.no AND t.key = ?), ",
		db_str(how->by), db_str(how->over));
	add_value(&q, how, &x->unit);
	sql_put(&q,
		" FROM job_tag e JOIN job j ON j.no = e.job WHERE e.key = ? AND e.value = ? "
		"ORDER BY j.start_us, j.no",
		db_str(how->key), db_str(how->value));
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1)
		if ((r = take_job(x, s, st)) < 0)
			break;
	return r < 0 ? r : 0;
}
