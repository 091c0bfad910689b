/* A report as one JSON object; see report.h, and docs/reports.md for its keys. */
#include <math.h>
#include <string.h>

#include "report/report_json.h"

void report_json_figure(struct json_writer *j, const char *key, double v)
{
	char text[40];

	if (!isfinite(v)) {
		json_none(j, key);
		return;
	}
	int n = snprintf(text, sizeof(text), "%.12g", v);
	json_raw(j, key, text, (size_t)n);
}

void report_json_time(struct json_writer *j, int64_t time, int64_t origin)
{
	int64_t since;

	if (__builtin_sub_overflow(time, origin, &since))
		since = time < origin ? INT64_MIN : INT64_MAX;
	json_i64(j, NULL, since);
}

/* The first moment that anything is known of: times of charts are counted from there. */
static int64_t origin_of(const struct report *r)
{
	int64_t first = r->show.list.rows[0].start;

	for (size_t i = 0; i < r->bar_count; i++)
		first = first == UNKNOWN || r->bars[i].start < first ? r->bars[i].start : first;
	for (size_t i = 0; i < r->phases.bar_count; i++) {
		int64_t start = r->phases.bars[i].start_ns / 1000;

		first = first == UNKNOWN || start < first ? start : first;
	}
	for (size_t i = 0; i < r->series_count; i++) {
		const struct points *c = &r->series[i].points;

		if (c->count && (first == UNKNOWN || c->points[0].time < first))
			first = c->points[0].time;
	}
	return first == UNKNOWN ? 0 : first;
}

static void json_evidence(const struct finding *f, struct json_writer *j)
{
	json_begin_array(j, "evidence");
	for (size_t i = 0; i < f->evidence_count; i++) {
		const struct finding_evidence *e = &f->evidence[i];

		json_begin_object(j, NULL);
		json_str(j, "metric", e->metric);
		report_json_figure(j, "value", e->value);
		json_str(j, "unit", e->unit);
		json_str(j, "where", e->where);
		json_end_object(j);
	}
	json_end_array(j);
}

void report_json_findings(const struct report *r, struct json_writer *j)
{
	json_begin_array(j, "findings");
	for (size_t i = 0; i < r->findings.count; i++) {
		const struct finding *f = &r->findings.list[i];

		json_begin_object(j, NULL);
		json_str(j, "id", finding_ids[f->id].name);
		json_str(j, "weight", finding_weight_name(f->weight));
		report_json_figure(j, "share", f->share);
		report_json_figure(j, "saving", f->saving);
		json_str(j, "title", f->title);
		json_str(j, "details", f->details);
		json_evidence(f, j);
		json_str(j, "advice", f->advice);
		json_str(j, "command", f->command);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_job(const struct report *r, struct json_writer *j)
{
	const struct joblist *l = &r->show.list;

	json_begin_object(j, "job");
	joblist_json_front(l, &l->rows[0], j);
	jobshow_json_metadata(&r->show, j);
	json_bool(j, "running", r->running);
	json_number(j, "peak_processes", l->rows[0].peak_procs);
	json_number(j, "peak_threads", l->rows[0].peak_threads);
	joblist_json_back(l, &l->rows[0], j);
	json_end_object(j);
}

static void json_sums(const struct report *r, struct json_writer *j)
{
	json_begin_array(j, "sums");
	for (size_t i = 0; i < r->show.sum_count; i++) {
		const struct job_sum *s = &r->show.sums[i];

		json_begin_object(j, NULL);
		json_str(j, "metric", s->name);
		json_str(j, "unit", metric_unit_name(s->metric ? s->metric->unit : s->unit));
		json_i64(j, "sum", s->sum);
		json_i64(j, "max", s->max);
		json_end_object(j);
	}
	json_end_array(j);
	json_strs(j, "warnings", r->show.warnings, r->show.warning_count);
}

static void json_accounting(const struct report *r, struct json_writer *j, const char *key)
{
	json_begin_object(j, key);
	json_number(j, "cpu_itemised", r->cpu_itemised);
	json_number(j, "cpu_total", r->cpu_total);
	json_number(j, "cpu_residue", r->cpu_residue);
	json_number(j, "cores", r->cores);
	report_json_figure(j, "cpu_share", r->cpu_share);
	json_number(j, "memory_limit", r->memory_limit);
	json_number(j, "cpu_quota_us", r->cpu_quota_us);
	json_number(j, "cpu_throttled_us", r->throttled_us);
	json_end_object(j);
}

/* What the batch job asked for; only what is known. */
static void json_request(const struct report *r, struct json_writer *j)
{
	json_begin_object(j, "request");
	for (size_t i = 0; i < REQUEST_ITEMS; i++)
		if (r->request.item[i] >= 0)
			json_i64(j, request_names[i], r->request.item[i]);
	json_end_object(j);
}

static void json_groups(struct json_writer *j, const char *key, const struct report_groups *g)
{
	json_begin_object(j, key);
	json_u64(j, "left_out", g->left_out);
	json_begin_array(j, "list");
	for (size_t i = 0; i < g->count; i++) {
		const struct report_group *one = &g->list[i];

		json_begin_object(j, NULL);
		json_str(j, "name", one->name);
		if (one->host)
			json_str(j, "host", one->host);
		json_i64(j, "images", one->images);
		json_i64(j, "failed", one->failed);
		json_number(j, "cpu", one->cpu);
		json_number(j, "wall", one->wall);
		json_number(j, "duration", one->duration);
		json_number(j, "rssmax", one->rssmax);
		json_number(j, "read", one->read);
		json_number(j, "written", one->written);
		json_number(j, "start", one->start);
		json_number(j, "end", one->end);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}

static void json_flame(const struct report *r, struct json_writer *j)
{
	json_strs(j, "names", r->names, r->name_count);
	json_begin_array(j, "flame");
	for (size_t i = 0; i < r->flame_count; i++) {
		const struct flame_node *n = &r->flame[i];
		const int64_t row[] = {n->parent, n->name, n->depth,  n->processes,
				       n->cpu,    n->wall, n->rssmax, n->io};

		json_begin_array(j, NULL);
		for (size_t k = 0; k < ARRAY_SIZE(row); k++)
			json_i64(j, NULL, row[k]);
		json_end_array(j);
	}
	json_end_array(j);
}

static void json_bars(const struct report *r, struct json_writer *j, int64_t origin)
{
	json_u64(j, "lanes", r->lanes);
	json_u64(j, "bars_left_out", r->bars_left_out);
	json_begin_array(j, "bars");
	for (size_t i = 0; i < r->bar_count; i++) {
		const struct report_bar *b = &r->bars[i];
		const int64_t row[] = {b->name, b->tags, b->lane,  b->processes,
				       b->pid,  b->cpu,  b->failed};

		json_begin_array(j, NULL);
		report_json_time(j, b->start, origin);
		report_json_time(j, b->end, b->start);
		for (size_t k = 0; k < ARRAY_SIZE(row); k++)
			json_i64(j, NULL, row[k]);
		json_end_array(j);
	}
	json_end_array(j);
}

static void json_timeline(const struct report *r, struct json_writer *j, int64_t origin)
{
	json_begin_array(j, "timeline");
	for (size_t i = 0; i < r->timeline.count; i++) {
		const struct timeline_step *s = &r->timeline.steps[i];

		json_begin_array(j, NULL);
		report_json_time(j, s->time, origin);
		json_i64(j, NULL, s->processes);
		json_number(j, NULL, s->threads);
		json_end_array(j);
	}
	json_end_array(j);
}

static void json_energy(const struct report *r, struct json_writer *j)
{
	json_begin_object(j, "energy");
	report_json_figure(j, "joules", r->joules);
	report_json_figure(j, "watt_hours", r->joules / 3600);
	report_json_figure(j, "co2_g_per_kwh", r->co2_g_per_kwh);
	report_json_figure(j, "co2_g", r->joules / 3.6e6 * r->co2_g_per_kwh);
	json_begin_array(j, "domains");
	for (size_t i = 0; i < r->energy_count; i++) {
		json_begin_object(j, NULL);
		json_str(j, "host", r->energy[i].host);
		json_str(j, "domain", r->energy[i].domain);
		report_json_figure(j, "joules", r->energy[i].joules);
		json_end_object(j);
	}
	json_end_array(j);
	json_strs(j, "hosts_without", r->energy_unknown, r->energy_unknown_count);
	json_end_object(j);
}

static void json_absences(const struct report *r, struct json_writer *j)
{
	json_begin_array(j, "absences");
	for (size_t i = 0; i < r->absence_count; i++) {
		const struct report_absence *a = &r->absences[i];

		json_begin_object(j, NULL);
		json_str(j, "host", a->host);
		json_str(j, "metric", a->metric);
		json_str(j, "reason", a->reason);
		json_u64(j, "metrics", a->count);
		json_end_object(j);
	}
	json_end_array(j);
}

/* The names of version 0.1 with the same content: this release still writes them beside the new
 * ones. series: where the array of series is in the output. */
static void json_old_names(const struct report *r, struct json_writer *j, size_t series,
			   size_t size)
{
	_cleanup_free_ char *text = xstrndup(j->out.buf + series, size);

	json_accounting(r, j, "books");
	json_u64(j, "curves_left_out", r->series_left_out);
	json_raw(j, "curves", text, size);
}

void report_json_steps(const struct report *r, struct json_writer *j)
{
	json_begin_array(j, "steps");
	for (size_t i = 0; i < r->step_count; i++) {
		const struct report_step *s = &r->steps[i];

		json_begin_object(j, NULL);
		json_str(j, "step", s->name);
		json_str(j, "program", *s->program ? s->program : NULL);
		json_i64(j, "hosts", (int64_t)s->hosts);
		json_i64(j, "ranks", (int64_t)s->ranks);
		json_i64(j, "processes", (int64_t)s->processes);
		json_i64(j, "failed", (int64_t)s->failed);
		report_json_figure(j, "cpu_s", report_step_cpu(s));
		report_json_figure(j, "duration_s", report_step_seconds(s));
		report_json_figure(j, "cores_busy", report_step_cpu(s) / report_step_seconds(s));
		report_json_figure(j, "memory_bytes", s->memory);
		json_end_object(j);
	}
	json_end_array(j);
}

void report_json(const struct report *r, struct json_writer *j)
{
	report_json_some(r, j, NULL);
}

void report_json_some(const struct report *r, struct json_writer *j, report_extremes *extremes)
{
	int64_t origin = origin_of(r);

	json_begin_object(j, NULL);
	json_i64(j, "plimsoll_report", 1);
	json_job(r, j);
	report_json_findings(r, j);
	if (r->where.host_count) {
		json_begin_object(j, "core_time");
		where_json(&r->where, j);
		json_end_object(j);
	}
	json_accounting(r, j, "accounting");
	json_request(r, j);
	json_sums(r, j);
	json_i64(j, "origin", origin);
	json_groups(j, "executables", &r->executables);
	json_groups(j, "operations", &r->operations);
	json_groups(j, "hosts", &r->hosts);
	json_groups(j, "ranks", &r->ranks);
	report_json_steps(r, j);
	json_timeline(r, j, origin);
	json_flame(r, j);
	json_bars(r, j, origin);
	report_json_phases(r, j, origin);
	size_t series = report_json_series(r, j, origin, extremes), series_end = j->out.len;
	json_energy(r, j);
	json_absences(r, j);
	json_raw(j, "hardware", r->hardware ? r->hardware : "",
		 r->hardware ? strlen(r->hardware) : 0);
	json_raw(j, "metadata", r->metadata ? r->metadata : "",
		 r->metadata ? strlen(r->metadata) : 0);
	if (!extremes) /* the page reads the new names only */
		json_old_names(r, j, series, series_end - series);
	json_end_object(j);
}
