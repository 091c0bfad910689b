/* Everything of a job for a report, from a store; see report.h. */
#include "report/report.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "report/report_internal.h"

/* ---- release -------------------------------------------------------------------------------- */

static void groups_release(struct report_groups *g)
{
	for (size_t i = 0; i < g->count; i++) {
		free(g->list[i].name);
		free(g->list[i].host);
	}
	free(g->list);
}

static void series_release(struct report *r)
{
	for (size_t i = 0; i < r->series_count; i++) {
		struct report_series *c = &r->series[i];

		free(c->metric);
		free(c->label);
		free(c->unit);
		free(c->host);
		free(c->entity);
		free(c->panel);
		points_release(&c->points);
	}
	free(r->series);
}

void report_release(struct report *r)
{
	groups_release(&r->executables);
	groups_release(&r->operations);
	groups_release(&r->hosts);
	groups_release(&r->ranks);
	for (size_t i = 0; i < r->name_count; i++)
		free(r->names[i]);
	for (size_t i = 0; i < r->energy_count; i++) {
		free(r->energy[i].host);
		free(r->energy[i].domain);
	}
	for (size_t i = 0; i < r->energy_unknown_count; i++)
		free(r->energy_unknown[i]);
	free(r->energy_unknown);
	for (size_t i = 0; i < r->absence_count; i++) {
		free(r->absences[i].host);
		free(r->absences[i].metric);
		free(r->absences[i].reason);
	}
	series_release(r);
	report_steps_release(r);
	report_phases_release(&r->phases);
	findings_release(&r->findings);
	where_release(&r->where);
	timeline_release(&r->timeline);
	jobshow_release(&r->show);
	free(r->names);
	free(r->flame);
	free(r->bars);
	free(r->energy);
	free(r->absences);
	free(r->hardware);
	free(r->metadata);
	*r = (struct report){0};
}

static void loading_release(struct report_loading *l)
{
	hash_map_release(&l->names);
	free(l->procs);
	free(l->by_start);
	series_list_release(&l->series);
}

/* ---- parts ---------------------------------------------------------------------------------- */

/* Drops names that nothing refers to: groups have copies. */
static void drop_names(struct report *r)
{
	_cleanup_free_ uint32_t *number = xcalloc(r->name_count + 1, sizeof(*number));
	size_t n = 1;

	for (size_t i = 0; i < r->flame_count; i++)
		number[r->flame[i].name] = 1;
	for (size_t i = 0; i < r->bar_count; i++)
		number[r->bars[i].name] = number[r->bars[i].tags] = 1;
	number[0] = 0;
	for (size_t i = 1; i < r->name_count; i++) {
		if (!number[i]) {
			free(r->names[i]);
			continue;
		}
		number[i] = (uint32_t)n;
		r->names[n++] = r->names[i];
	}
	r->name_count = r->name_count ? n : 0;
	for (size_t i = 0; i < r->flame_count; i++)
		r->flame[i].name = number[r->flame[i].name];
	for (size_t i = 0; i < r->bar_count; i++) {
		r->bars[i].name = number[r->bars[i].name];
		r->bars[i].tags = number[r->bars[i].tags];
	}
}

void report_add_absence(struct report *r, const char *host, const char *metric, int64_t count,
			char *reason)
{
	GROW(r->absences, r->absence_count, r->absence_cap);
	r->absences[r->absence_count++] =
		(struct report_absence){.host = host ? xstrdup(host) : NULL,
					.metric = xstrdup(metric),
					.count = (size_t)count,
					.reason = reason};
}

static int load_absences(struct report *r, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT min(host), max(host), min(metric), count(DISTINCT metric), reason "
		"FROM sample_absence WHERE job = $1 GROUP BY reason ORDER BY 3, 5",
		db_int(job));
	int e;

	while ((e = stmt_step(st)) == 1) {
		_cleanup_free_ char *first = xstrdup(stmt_get_str(st, 0));
		bool one = !strcmp(first, stmt_get_str(st, 1));

		report_add_absence(r, one ? first : NULL, stmt_get_str(st, 2), stmt_get_int(st, 3),
				   xstrdup(stmt_get_str(st, 4)));
	}
	return e;
}

/* What the event counters of a host missed, by the metadata of its job. */
static void take_missed(struct report *r, const char *host, const struct value *metadata)
{
	static const struct {
		const char *key, *words;
	} missed[] = {{"attached_late", "counted only after they were found: "},
		      {"not_counted", "not counted: "}};

	for (size_t i = 0; i < ARRAY_SIZE(missed); i++) {
		const char *text = value_get_str(metadata, missed[i].key);

		if (!text)
			continue;
		report_add_absence(r, host, "counters.*", 1,
				   xasprintf("%s%s on %s", missed[i].words, text, host));
	}
}

static int load_missed(struct report *r, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT host, facts FROM sample_entity WHERE job = $1 AND "
			    "kind = 'job' AND facts IS NOT NULL ORDER BY host, n",
			    db_int(job));
	int e;

	while ((e = stmt_step(st)) == 1) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_value_ struct value *metadata = NULL;
		size_t n;
		const char *text = stmt_get_text(st, 1, &n);

		if (text && value_from_json(text, n, &metadata, &why) == 0)
			take_missed(r, stmt_get_str(st, 0), metadata);
	}
	return e;
}

/* In a job on one host, absences without a host belong to that host. */
static void name_only_host(struct report *r)
{
	const struct job_row *row = r->show.list.count ? &r->show.list.rows[0] : NULL;

	if (!row || row->hosts.count != 1)
		return;
	for (size_t i = 0; i < r->absence_count; i++)
		if (!r->absences[i].host || !*r->absences[i].host) {
			free(r->absences[i].host);
			r->absences[i].host = xstrdup(joblist_text(
				&r->show.list, r->show.list.entries[row->hosts.first].key));
		}
}

static int load_parts(struct report_loading *l)
{
	struct report *r = l->r;
	int e = jobshow_load(&r->show, l->store, l->job);

	if (e >= 0)
		e = timeline_load(&r->timeline, l->store, l->job);
	if (e < 0)
		return e;
	l->count = (size_t)r->show.list.rows[0].recorded;
	r->has_records = l->count > 0;
	e = report_load_processes(l);
	if (e < 0)
		return e;
	report_make_groups(l);
	report_make_flame(l);
	report_make_bars(l);
	report_make_phases(r);
	e = report_load_series(l);
	if (e >= 0)
		e = load_missed(r, l->store, l->job);
	if (e >= 0)
		e = load_absences(r, l->store, l->job);
	if (e >= 0)
		e = report_load_metadata(l);
	name_only_host(r);
	return e;
}

#define ALIKE 0.1 /* of the larger mean: sources are not sampled at the same moments */

bool report_series_repeats(const struct report *r, size_t series)
{
	/* in other panels the same label means other devices, or the node and the job */
	static const char *const of_the_job[] = {"cpu", "memory", "io"};
	const struct report_series *c = &r->series[series];
	bool may = false;

	for (size_t i = 0; i < ARRAY_SIZE(of_the_job); i++)
		may = may || str_same(c->panel, of_the_job[i]);
	for (size_t i = 0; may && c->label && i < series; i++) {
		const struct report_series *b = &r->series[i];
		double one = fabs(b->mean), other = fabs(c->mean), more = one > other ? one : other;

		if (str_same(b->same ? b->same : b->label, c->same ? c->same : c->label) &&
		    str_same(b->panel, c->panel) && str_same(b->unit, c->unit) &&
		    str_same(b->host, c->host) && str_same(b->entity, c->entity) &&
		    !str_same(b->metric, c->metric) && fabs(b->mean - c->mean) <= ALIKE * more)
			return true;
	}
	return false;
}

int report_load(struct report *r, struct store *s, int64_t job, const struct report_options *o)
{
	const struct report_options none = {.co2_g_per_kwh = NAN};
	struct report_loading l = {.r = r,
				   .store = s,
				   .job = job,
				   .o = o ? o : &none,
				   .oom_kills = UNKNOWN,
				   .refault_bytes = UNKNOWN};

	*r = (struct report){.job = job,
			     .show.list = JOBLIST_INIT,
			     .joules = NAN,
			     .co2_g_per_kwh = l.o->co2_g_per_kwh,
			     .cpu_itemised = UNKNOWN,
			     .cpu_total = UNKNOWN,
			     .cpu_residue = UNKNOWN,
			     .cores = UNKNOWN,
			     .cpu_share = NAN,
			     .memory_limit = UNKNOWN,
			     .memory_least = NAN,
			     .memory_most = NAN,
			     .cpu_quota_us = UNKNOWN,
			     .throttled_us = UNKNOWN,
			     .elapsed = UNKNOWN,
			     .request = REQUEST_UNKNOWN};
	int e = load_parts(&l);
	if (e >= 0) {
		r->running = r->show.list.rows[0].end == UNKNOWN || r->show.list.rows[0].open;
		if (!r->has_records)
			report_hosts_from_series(&l);
		report_load_energy(&l);
		e = where_load(&r->where, s, job, NULL, &l.series);
		report_settle_totals(&l);
	}
	/* a job of which neither times nor hosts are known has no core time */
	if (e >= 0 || e == -ENOENT) {
		e = 0;
		report_find(&l);
		report_name_steps(r);
		report_groups_end(&r->executables, false);
		report_groups_end(&r->operations, false);
		report_groups_end(&r->hosts, true);
		report_groups_end(&r->ranks, true);
		drop_names(r);
	}
	loading_release(&l);
	if (e < 0)
		report_release(r);
	return e < 0 ? e : 0;
}
