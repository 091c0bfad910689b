/* See carriers.h. SQL names columns by our own metric table only. */
#include "store/analysis/carriers.h"

#include "jobs/tags.h"
#include "store/analysis/features_internal.h"
#include "store/ingest/ingest.h"
#include "store/sql.h"

void carrier_list_release(struct carrier_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->v[i].name);
	free(l->v);
	*l = (struct carrier_list){0};
}

/* The expression that is summed; NULL: there is none. */
static const char *column_of(const char *feature)
{
	if (!strcmp(feature, "num_procs"))
		return "1";
	if (!strcmp(feature, "num_threads"))
		return "p.numtids";
	if (!strcmp(feature, "cpu_time"))
		return "p.usertime + p.systemtime";
	if (!strcmp(feature, "duration"))
		return "p.duration";
	for (size_t i = 0; i < ingest_process_metric_count; i++) {
		const char *name = metric_by_id(ingest_process_metrics[i])->name;

		if (feature_is_counted(ingest_process_metrics[i]) && !strcmp(name, feature))
			return name;
	}
	return NULL;
}

bool carriers_known(const char *feature)
{
	return column_of(feature) != NULL;
}

/* Adds "AND p.tags IN (...)": the sets of tags of the job that have all of these. Their numbers are
 * part of the text, because a job can have more of them than a statement has parameters. */
static int add_tag_sets(struct sql *q, struct store *s, int64_t job, const struct value *tags)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT t.tags, s.bytes FROM job_proc_tag t "
			    "JOIN string s ON s.id = $1 + t.tags WHERE t.job = $2",
			    db_int(store_key(job, 0)), db_int(job));
	int r;

	sql_add(q, " AND p.tags IN (-1");
	while ((r = stmt_step(st)) == 1) {
		_cleanup_value_ struct value *own = tags_parse(stmt_get_str(st, 1), NULL);

		if (tags_contain(own, tags))
			strbuf_addf(&q->text, ", %lld", (long long)stmt_get_int(st, 0));
	}
	sql_add(q, ")");
	return r;
}

static void build(struct sql *q, enum carrier_kind kind, const char *column)
{
	const char *by = kind == CARRIER_HOST ? "p.host" : "p.exename";

	strbuf_addf(
		&q->text,
		"SELECT %s AS name, sum(CAST(%s AS DOUBLE PRECISION)) AS total, count(*) AS n, "
		"min(p.start) AS first, max(p.start + p.duration) AS last FROM process p WHERE ",
		by, column);
}

/* Names may be cut to the same text. */
static void add_carrier(struct carrier_list *l, struct stmt *st)
{
	struct carrier c = {NULL, stmt_is_null(st, 1) ? 0 : stmt_get_real(st, 1),
			    stmt_get_int(st, 2), stmt_get_int(st, 3), stmt_get_int(st, 4)};
	const char *name = stmt_get_str(st, 0);

	for (size_t i = 0; i < l->count; i++) {
		struct carrier *o = &l->v[i];

		if (strcmp(o->name, name) != 0)
			continue;
		o->sum += c.sum;
		o->processes += c.processes;
		o->start_us = c.start_us < o->start_us ? c.start_us : o->start_us;
		o->end_us = c.end_us > o->end_us ? c.end_us : o->end_us;
		return;
	}
	c.name = xstrdup(name);
	GROW(l->v, l->count, l->cap);
	l->v[l->count++] = c;
}

int carriers_of(struct carrier_list *l, struct store *s, int64_t job, enum carrier_kind kind,
		const char *feature, const struct value *tags)
{
	const char *column = column_of(feature);
	_cleanup_sql_ struct sql q = SQL_INIT;
	int r = 0;

	if (!column)
		return 0;
	sql_add(&q, "SELECT s.bytes, g.total, g.n, g.first, g.last FROM (");
	build(&q, kind, column);
	sql_job_range(&q, "p.id", job);
	if (tags)
		r = add_tag_sets(&q, s, job, tags);
	if (r < 0)
		return r;
	strbuf_addf(&q.text, " GROUP BY %s) g LEFT JOIN string s ON s.id = ",
		    kind == CARRIER_HOST ? "p.host" : "p.exename");
	sql_put(&q, "? + g.name ORDER BY g.total DESC, s.bytes", db_int(store_key(job, 0)));
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1)
		add_carrier(l, st);
	return r;
}
