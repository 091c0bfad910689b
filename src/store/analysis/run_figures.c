/* The figures of runs; see run_figures.h. */
#include "store/analysis/run_figures.h"

#include <math.h>

#include "jobs/tags.h"
#include "store/ingest/ingest.h"
#include "store/sql.h"

const char *const figure_group_names[FIGURE_GROUPS] = {"job", "executable", "operation", "phase"};

/* ---- metrics -------------------------------------------------------------------------------- */

/* What is not simply a column of process. */
static const struct figure_metric own_metrics[] = {
	{"duration", UNIT_MICROSECONDS, "p.duration", false},
	{"cpu_time", UNIT_MICROSECONDS, "p.usertime + p.systemtime", false},
	{"images", UNIT_COUNT, "1", false},
};

/* Times of children are in the figures of the children; cycles mean the duration again. */
static bool is_cost(enum metric_id id)
{
	const struct metric *m = metric_by_id(id);

	return m->kind != KIND_LABEL && (m->agg == AGG_SUM || m->agg == AGG_MAX) &&
	       id != METRIC_CUTIME && id != METRIC_CSTIME && id != METRIC_CMINFLT &&
	       id != METRIC_CMAJFLT && id != METRIC_RDTSC_DURATION && id != METRIC_THREADS_BASIC &&
	       id != METRIC_NUM_THREADS && id != METRIC_CANCELLED_WRITE_BYTES;
}

static const struct metric *stored_metric(size_t i)
{
	for (size_t k = 0; k < ingest_process_metric_count; k++)
		if (is_cost(ingest_process_metrics[k]) && !i--)
			return metric_by_id(ingest_process_metrics[k]);
	return NULL;
}

const char *figure_metric_name(size_t i)
{
	if (i < ARRAY_SIZE(own_metrics))
		return own_metrics[i].name;
	const struct metric *m = stored_metric(i - ARRAY_SIZE(own_metrics));
	return m ? m->name : NULL;
}

static bool has_metric(const struct figure_metrics *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->v[i].name, name))
			return true;
	return false;
}

static void add_metric_row(struct figure_metrics *m, struct figure_metric row)
{
	if (has_metric(m, row.name))
		return;
	GROW(m->v, m->count, m->cap);
	m->v[m->count++] = row;
}

static bool add_known(struct figure_metrics *m, const char *name)
{
	const struct metric *stored;

	for (size_t i = 0; i < ARRAY_SIZE(own_metrics); i++)
		if (!strcmp(own_metrics[i].name, name)) {
			add_metric_row(m, own_metrics[i]);
			return true;
		}
	for (size_t i = 0; (stored = stored_metric(i)); i++)
		if (!strcmp(stored->name, name)) {
			add_metric_row(m, (struct figure_metric){stored->name, stored->unit,
								 stored->name,
								 stored->agg == AGG_MAX});
			return true;
		}
	return false;
}

/* An event that one of the jobs has counted; 1 if so. */
static int add_event(struct figure_metrics *m, struct store *s, const char *name,
		     const int64_t *jobs, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int64_t found = 0;
		int r = store_number_of(
			s, "SELECT count(*) FROM job_sum WHERE job = $1 AND metric = $2", &found,
			db_int(jobs[i]), db_str(name));

		if (r < 0)
			return r;
		if (!found)
			continue;
		GROW(m->names, m->name_count, m->name_cap);
		m->names[m->name_count++] = xstrdup(name);
		add_metric_row(m, (struct figure_metric){m->names[m->name_count - 1], UNIT_COUNT,
							 NULL, false});
		return 1;
	}
	return 0;
}

int figure_metrics_add(struct figure_metrics *m, struct store *s, const char *name,
		       const int64_t *jobs, size_t count, struct strbuf *why)
{
	const char *known;

	if (!strcmp(name, "all")) {
		for (size_t i = 0; (known = figure_metric_name(i)); i++)
			(void)add_known(m, known);
		return 0;
	}
	if (add_known(m, name))
		return 0;
	/* labels, such as start, have no cost */
	int r = metric_by_name(name) ? 0 : add_event(m, s, name, jobs, count);
	if (r != 0)
		return r < 0 ? strbuf_fail(why, r, "%s", store_error(s)) : 0;
	strbuf_addf(why, "there is no metric '%s' to compare; there are all", name);
	for (size_t i = 0; (known = figure_metric_name(i)); i++)
		strbuf_addf(why, ", %s", known);
	strbuf_addstr(why, " and counted events");
	return -ENOENT;
}

void figure_metrics_release(struct figure_metrics *m)
{
	for (size_t i = 0; i < m->name_count; i++)
		free(m->names[i]);
	free(m->names);
	free(m->v);
	*m = (struct figure_metrics){0};
}

/* ---- rows ----------------------------------------------------------------------------------- */

void run_figures_release(struct run_figures *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->rows[i].name);
		free(f->rows[i].present);
		free(f->rows[i].v);
	}
	free(f->rows);
	hash_map_release(&f->by_name);
	*f = (struct run_figures){0};
}

static struct figure_rows *add_row(struct run_figures *f, enum figure_group group, const char *name)
{
	GROW(f->rows, f->count, f->cap);
	struct figure_rows *r = &f->rows[f->count++];
	*r = (struct figure_rows){.group = group, .name = name ? xstrdup(name) : NULL};
	r->present = xcalloc(f->runs + 1, sizeof(*r->present));
	r->v = xcalloc(f->metrics->count * f->runs + 1, sizeof(*r->v));
	for (size_t i = 0; i < f->metrics->count * f->runs; i++)
		r->v[i] = NAN;
	return r;
}

static uint64_t hash_of(enum figure_group group, const char *name)
{
	return hash_more(hash_text(name), &group, sizeof(group));
}

bool run_figures_has(const struct run_figures *f, enum figure_group group, const char *name)
{
	const uint64_t hash = hash_of(group, name);

	for (struct hash_slot *h = hash_map_first(&f->by_name, hash); h;
	     h = hash_map_next(&f->by_name, h))
		if (f->rows[h->value].group == group && !strcmp(f->rows[h->value].name, name))
			return true;
	return false;
}

struct figure_rows *run_figures_row(struct run_figures *f, enum figure_group group,
				    const char *name)
{
	const uint64_t hash = hash_of(group, name);

	for (struct hash_slot *h = hash_map_first(&f->by_name, hash); h;
	     h = hash_map_next(&f->by_name, h)) {
		struct figure_rows *r = &f->rows[h->value];

		if (r->group == group && !strcmp(r->name, name))
			return r;
	}
	hash_map_add(&f->by_name, hash, f->count);
	return add_row(f, group, name);
}

/* ---- whole jobs ----------------------------------------------------------------------------- */

static void put_job(struct run_figures *f, size_t run, const char *metric, double v)
{
	for (size_t i = 0; i < f->metrics->count; i++)
		if (!strcmp(f->metrics->v[i].name, metric))
			f->rows[0].v[i * f->runs + run] = v;
}

static int load_sums(struct run_figures *f, struct store *s, size_t run, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT metric, sum, max FROM job_sum WHERE job = $1", db_int(job));
	int r;

	while ((r = stmt_step(st)) == 1) {
		const char *name = stmt_get_str(st, 0);
		const struct metric *m = metric_by_name(name);
		const bool highest = m && m->agg == AGG_MAX;

		/* less than 0: a sum that is not known */
		if (stmt_get_int(st, highest ? 2 : 1) >= 0)
			put_job(f, run, name, (double)stmt_get_int(st, highest ? 2 : 1));
	}
	return r;
}

static int load_job(struct run_figures *f, struct store *s, size_t run, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT duration_us, cpu_us, num_procs FROM job WHERE no = $1", db_int(job));
	int r = stmt_step(st);

	if (r <= 0)
		return r < 0 ? r : store_fail(s, ENOENT, "a job was deleted meanwhile");
	if (!stmt_is_null(st, 0) && stmt_get_int(st, 0) >= 0)
		put_job(f, run, "duration", (double)stmt_get_int(st, 0));
	/* without records nothing is known of its processes */
	f->rows[0].present[run] = stmt_get_int(st, 2) > 0;
	if (f->rows[0].present[run]) {
		put_job(f, run, "cpu_time", (double)stmt_get_int(st, 1));
		put_job(f, run, "images", (double)stmt_get_int(st, 2));
	}
	return load_sums(f, s, run, job);
}

/* ---- parts of jobs -------------------------------------------------------------------------- */

/* "key:value;key:value", sorted, of tags as they are stored. */
static bool add_operation(struct strbuf *out, const char *text)
{
	_cleanup_value_ struct value *tags = tags_parse(text, NULL);

	value_sort(tags);
	for (size_t i = 0; i < value_pairs(tags); i++)
		strbuf_addf(out, "%s%s:%s", i ? ";" : "", value_key(tags, i)->str.data,
			    value_at(tags, i)->str.data);
	return out->len;
}

/* Sums by one of the columns that name a string of the job. */
static void make_query(struct sql *q, const struct run_figures *f, const char *column, int64_t job)
{
	sql_add(q, "SELECT s.bytes");
	for (size_t i = 0; i < f->metrics->count; i++) {
		_cleanup_free_ char *name = xasprintf(", g.m%zu", i);

		sql_add(q, name);
	}
	sql_add(q, " FROM (SELECT p.");
	sql_add(q, column);
	sql_add(q, " AS name");
	for (size_t i = 0; i < f->metrics->count; i++) {
		const struct figure_metric *m = &f->metrics->v[i];
		_cleanup_free_ char *sum =
			xasprintf(", %s(CAST(%s AS DOUBLE PRECISION)) AS m%zu",
				  m->highest ? "max" : "sum", m->column ? m->column : "NULL", i);

		sql_add(q, sum);
	}
	sql_add(q, " FROM process p WHERE ");
	sql_job_range(q, "p.id", job);
	sql_add(q, " GROUP BY p.");
	sql_add(q, column);
	sql_put(q, ") g JOIN string s ON s.id = ? + g.name", db_int(store_key(job, 0)));
}

static int load_parts(struct run_figures *f, struct store *s, size_t run, int64_t job,
		      enum figure_group group)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	int r;

	make_query(&q, f, group == FIGURES_OPERATION ? "tags" : "exename", job);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;
		size_t size = 0;
		const char *text = stmt_get_text(st, 0, &size);

		if (group == FIGURES_OPERATION ? !add_operation(&name, text ? text : "") : !size)
			continue;
		struct figure_rows *rows =
			run_figures_row(f, group, group == FIGURES_OPERATION ? name.buf : text);
		/* the same tags in another order, or a name that only differs behind a NUL */
		for (size_t i = 0; i < f->metrics->count; i++) {
			double *v = &rows->v[i * f->runs + run];
			const double x =
				stmt_is_null(st, (int)i + 1) ? NAN : stmt_get_real(st, (int)i + 1);

			if (!rows->present[run] || isnan(*v))
				*v = x;
			else if (f->metrics->v[i].highest)
				*v = x > *v ? x : *v;
			else
				*v += isnan(x) ? 0 : x;
		}
		rows->present[run] = true;
	}
	return r;
}

/* What did not run cost nothing, in a job whose processes are known. */
static void fill_zeros(struct run_figures *f)
{
	for (size_t i = 1; i < f->count; i++)
		for (size_t run = 0; run < f->runs; run++)
			for (size_t m = 0; m < f->metrics->count; m++)
				if (!f->rows[i].present[run] && f->rows[0].present[run] &&
				    f->metrics->v[m].column)
					f->rows[i].v[m * f->runs + run] = 0;
}

int run_figures_load(struct run_figures *f, struct store *s, const int64_t *jobs, size_t count,
		     const struct figure_metrics *m, unsigned groups)
{
	int r = 0;

	*f = (struct run_figures){.metrics = m, .runs = count};
	(void)add_row(f, FIGURES_JOB, NULL);
	for (size_t i = 0; i < count && r >= 0; i++) {
		r = load_job(f, s, i, jobs[i]);
		for (int g = FIGURES_EXECUTABLE; g <= FIGURES_OPERATION && r >= 0; g++)
			if (groups & 1u << g)
				r = load_parts(f, s, i, jobs[i], (enum figure_group)g);
	}
	fill_zeros(f);
	return r < 0 ? r : 0;
}
