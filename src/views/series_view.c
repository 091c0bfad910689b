/* Prints the series of a job; see series_view.h. */
#include "views/series_view.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "views/stream_table.h"

/* ---- numbers -------------------------------------------------------------------------------- */

/* Whole numbers without a point, others as short as possible. */
static void add_value(struct strbuf *out, double v)
{
	if (fabs(v) < 9007199254740992.0 && (double)(int64_t)v == v)
		strbuf_addf(out, "%.0f", v);
	else if (isfinite(v))
		text_add_real(out, v);
}

static void json_value(struct json_writer *j, const char *key, double v)
{
	if (!isfinite(v))
		json_none(j, key);
	else if (fabs(v) < 9007199254740992.0 && (double)(int64_t)v == v)
		json_i64(j, key, (int64_t)v);
	else
		json_f64(j, key, v);
}

/* For people: three digits of sizes and times, six of others, all of counts. */
static void add_human(struct strbuf *out, double v, const char *unit)
{
	struct unit_scale u;

	unit_find(&u, unit);
	if (*unit && strcmp(unit, "count") != 0)
		unit_add_digits(out, v, unit, u.binary || u.clock ? 3 : 6);
	else
		strbuf_addf(out, fabs(v) >= 1e6 && fabs(v) < 1e18 ? "%.0f" : "%.6g", v);
}

static void grid_value(struct stream_table *g, double v, const char *unit)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	/* there is no value inside a gap */
	if (!isfinite(v))
		strbuf_addstr(&text, g->csv ? "" : "gap");
	else if (g->csv)
		add_value(&text, v);
	else
		add_human(&text, v, unit);
	stream_table_figure(g, &text);
}

/* Any 64-bit number: none of them means unknown. */
static void grid_whole(struct stream_table *g, int64_t v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%lld", (long long)v);
	stream_table_figure(g, &text);
}

static void grid_entity(struct stream_table *g, const struct series *s)
{
	if (g->csv) {
		stream_table_str(g, s->entity_kind);
		stream_table_str(g, s->entity);
		return;
	}
	/* names of devices say what they are; that of a process is a number */
	_cleanup_free_ char *text = !strcmp(s->entity_kind, "process")
					    ? xasprintf("process %s", s->entity)
					    : xstrdup(s->entity);
	stream_table_str(g, text);
}

/* ---- the list ------------------------------------------------------------------------------- */

static void json_metadata(struct json_writer *j, const char *json)
{
	json = json ? json : "{}";
	json_raw(j, "metadata", json, strlen(json));
	json_raw(j, "facts", json, strlen(json)); /* the older name, for this release */
}

void json_entity_metadata(struct json_writer *j, const struct entity *e)
{
	_cleanup_json_ struct json_writer object = JSON_WRITER_INIT;

	json_begin_object(&object, NULL);
	for (const char *p = e->metadata; p && *p;) {
		size_t key = strcspn(p, "="), value = strcspn(p + key, "\n");
		_cleanup_free_ char *name = xstrndup(p, key);

		json_text(&object, name, p + key + 1, value - 1);
		p += key + value + 1;
	}
	json_end_object(&object);
	json_metadata(j, object.out.buf);
}

void sample_add_values(struct json_writer *j, const struct sample_set *s, size_t row)
{
	json_begin_object(j, "values");
	for (unsigned m = 0; m < s->metric_count; m++) {
		const struct sample_metric *metric = &s->metrics[m];

		if (!(s->rows[row].present >> m & 1))
			continue;
		if (metric->scale == 0 || metric->scale == 1)
			json_i64(j, metric->name, s->values[row * s->metric_count + m]);
		else
			json_f64(j, metric->name, sample_value(s, row, m));
	}
	json_end_object(j);
}

static void list_json(const struct series *s, struct json_writer *j)
{
	bool counter = s->kind == KIND_COUNTER;

	json_begin_object(j, NULL);
	json_str(j, "metric", s->metric);
	json_str(j, "unit", s->unit);
	json_str(j, "kind", metric_kind_name(s->kind));
	json_str(j, "aggregation", metric_agg_name(s->agg));
	json_str(j, "host", s->host);
	json_str(j, "entity_kind", s->entity_kind);
	json_str(j, "entity", s->entity);
	json_metadata(j, s->metadata);
	json_i64(j, "count", s->count);
	json_time(j, "first", s->first);
	json_time(j, "last", s->last);
	json_value(j, "minimum", s->minimum);
	json_value(j, "mean", s->mean);
	json_value(j, "maximum", s->maximum);
	if (counter)
		json_value(j, "increase", s->increase);
	else
		json_none(j, "increase");
	json_str(j, "help", s->help);
	json_end_object(j);
}

static int print_list_json(const struct series_list *l, FILE *f)
{
	struct json_rows out;

	json_rows_begin(&out, f);
	for (size_t i = 0; i < l->count; i++) {
		list_json(&l->list[i], &out.j);
		json_rows_next(&out);
	}
	return json_rows_end(&out);
}

int series_print_list(const struct series_list *l, enum proc_form form, FILE *f)
{
	static const struct terminal_table_column for_people[] = {{"METRIC", 0},
								  {"HOST", 0},
								  {"OF", COLUMN_CUT},
								  {"COUNT", COLUMN_RIGHT},
								  {"OVER", COLUMN_RIGHT},
								  {"MINIMUM", COLUMN_RIGHT},
								  {"MEAN", COLUMN_RIGHT},
								  {"MAXIMUM", COLUMN_RIGHT},
								  {"INCREASE", COLUMN_RIGHT}};
	static const struct terminal_table_column for_csv[] = {
		{"metric", 0},  {"host", 0},  {"entity_kind", 0}, {"entity", 0},   {"count", 0},
		{"minimum", 0}, {"mean", 0},  {"maximum", 0},     {"increase", 0}, {"unit", 0},
		{"kind", 0},    {"first", 0}, {"last", 0}};
	bool csv = form == PROC_CSV;
	struct stream_table g;

	if (form == PROC_JSON)
		return print_list_json(l, f);
	stream_table_begin(&g, csv ? for_csv : for_people,
			   csv ? ARRAY_SIZE(for_csv) : ARRAY_SIZE(for_people), csv, f);
	for (size_t i = 0; i < l->count; i++) {
		const struct series *s = &l->list[i];
		bool counter = s->kind == KIND_COUNTER;

		stream_table_str(&g, s->metric);
		stream_table_str(&g, s->host);
		grid_entity(&g, s);
		stream_table_number(&g, s->count);
		/* each source has its own period, and may cover part of the job only */
		if (!csv)
			grid_value(&g, (double)(s->last - s->begin), "us");
		grid_value(&g, s->minimum, s->unit);
		/* the mean of a counter means nothing to people */
		if (counter && !csv)
			stream_table_str(&g, "");
		else
			grid_value(&g, s->mean, s->unit);
		grid_value(&g, s->maximum, s->unit);
		if (counter)
			grid_value(&g, s->increase, s->unit);
		else
			stream_table_str(&g, "");
		if (csv) {
			stream_table_str(&g, s->unit);
			stream_table_str(&g, metric_kind_name(s->kind));
			stream_table_time(&g, s->first);
			stream_table_time(&g, s->last);
		}
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

/* ---- values --------------------------------------------------------------------------------- */

struct printing {
	const struct series_options *o;
	struct store *store;
	int64_t job;
	struct json_rows json;
	struct stream_table grid;
	struct strbuf *notes;
};

static bool in_time(const struct series_options *o, int64_t time)
{
	return (!o->has_since || time >= o->since_us) && (!o->has_until || time < o->until_us);
}

static void json_label(struct json_writer *j, const struct series_curve *l, const char *unit)
{
	json_str(j, "metric", l->s->metric);
	json_str(j, "unit", unit);
	json_str(j, "kind", l->rate ? "rate" : metric_kind_name(l->s->kind));
	json_str(j, "host", l->host);
	json_str(j, "entity_kind", l->s->entity_kind);
	json_str(j, "entity", l->entity ? l->s->entity : NULL);
	json_metadata(j, l->entity ? l->s->metadata : NULL);
}

static void grid_label(struct stream_table *g, const struct series_curve *l, int64_t time,
		       bool fraction)
{
	if (fraction)
		stream_table_time_ms(g, time);
	else
		stream_table_time(g, time);
	stream_table_str(g, l->s->metric);
	stream_table_str(g, l->host);
	if (l->entity) {
		grid_entity(g, l->s);
	} else if (g->csv) {
		stream_table_str(g, l->s->entity_kind);
		stream_table_str(g, "");
	} else {
		_cleanup_free_ char *text = xasprintf("%s, total", l->s->entity_kind);
		stream_table_str(g, text);
	}
}

/* A value of a series, with its extremes where it stands for a step. */
struct shown_value {
	int64_t time;
	double value, low, high;
	const int64_t
		*raw; /* the exact number, which a double may not hold; NULL: the value counts */
};

static void json_shown(struct printing *p, const struct shown_value *v, bool ranges)
{
	struct json_writer *j = &p->json.j;

	json_begin_array(j, NULL);
	json_time(j, NULL, v->time);
	if (v->raw)
		json_i64(j, NULL, *v->raw);
	else
		json_value(j, NULL, v->value);
	if (ranges) {
		json_value(j, NULL, v->low);
		json_value(j, NULL, v->high);
	}
	json_end_array(j);
}

static void print_value(struct printing *p, const struct series_curve *l, const char *unit,
			const struct shown_value *v)
{
	struct stream_table *g = &p->grid;

	if (!in_time(p->o, v->time))
		return;
	if (p->o->form == PROC_JSON) {
		json_shown(p, v, l->ranges);
		return;
	}
	grid_label(g, l, v->time, !p->o->step_us || p->o->step_us % 1000000 != 0);
	if (v->raw && g->csv)
		grid_whole(g, *v->raw);
	else
		grid_value(g, v->value, unit);
	if (p->o->step_us) {
		grid_value(g, v->low, unit);
		grid_value(g, v->high, unit);
	}
	if (g->csv)
		stream_table_str(g, unit);
	stream_table_row(g, 0);
}

static void begin_series(struct printing *p, const struct series_curve *l, const char *unit)
{
	if (p->o->form != PROC_JSON)
		return;
	json_begin_object(&p->json.j, NULL);
	json_label(&p->json.j, l, unit);
	json_begin_array(&p->json.j, "samples");
}

static void end_series(struct printing *p)
{
	if (p->o->form != PROC_JSON)
		return;
	json_end_array(&p->json.j);
	json_end_object(&p->json.j);
	json_rows_next(&p->json);
}

static int print_curve(void *user, struct series_curve *l)
{
	struct printing *p = user;
	_cleanup_free_ char *unit = series_curve_unit(l);

	begin_series(p, l, unit);
	for (size_t i = 0; i < l->points.count; i++) {
		const struct point *q = &l->points.points[i];
		const struct shown_value v = {.time = q->time,
					      .value = series_value(q->value, l->scale),
					      .low = series_value(q->low, l->scale),
					      .high = series_value(q->high, l->scale)};

		print_value(p, l, unit, &v);
	}
	end_series(p);
	return 0;
}

/* As they were sampled: whole numbers to the last digit. */
static void print_raw(struct printing *p, const struct series_curve *l,
		      const struct series_points *points)
{
	begin_series(p, l, l->s->unit);
	for (size_t i = 0; i < points->count; i++) {
		const struct series_point *q = &points->list[i];
		const struct shown_value v = {.time = q->time,
					      .value = series_value((double)q->raw, l->s->scale),
					      .raw = l->s->scale == 1 ? &q->raw : NULL};

		print_value(p, l, l->s->unit, &v);
	}
	end_series(p);
}

/* One by one: values as sampled need no curve. */
static int print_each(struct printing *p, const struct series_list *l)
{
	struct series_points points = {0};
	int r = 0;

	for (size_t i = 0; i < l->count && r >= 0; i++) {
		struct series *s = &l->list[i];
		const struct series_curve label = {
			.s = s, .host = s->host, .entity = true, .scale = s->scale};

		if (p->o->step_us || (p->o->rate && s->kind == KIND_COUNTER)) {
			const struct series_list one = {.list = s, .count = 1};

			r = series_curves(&one, p->store, p->job, p->o, print_curve, p, p->notes);
			continue;
		}
		r = series_points_load(&points, p->store, p->job, s);
		if (r >= 0)
			print_raw(p, &label, &points);
	}
	series_points_release(&points);
	return r;
}

int series_print_values(const struct series_list *l, struct store *s, int64_t job,
			const struct series_options *o, FILE *f, struct strbuf *notes)
{
	static const struct terminal_table_column for_people[] = {{"TIME", 0},
								  {"METRIC", 0},
								  {"HOST", 0},
								  {"OF", COLUMN_CUT},
								  {"VALUE", COLUMN_RIGHT},
								  {"MINIMUM", COLUMN_RIGHT},
								  {"MAXIMUM", COLUMN_RIGHT}};
	static const struct terminal_table_column for_csv[] = {
		{"time", 0},   {"metric", 0}, {"host", 0}, {"entity_kind", 0},
		{"entity", 0}, {"value", 0},  {"unit", 0}};
	static const struct terminal_table_column for_steps[] = {
		{"time", 0},  {"metric", 0},  {"host", 0},    {"entity_kind", 0}, {"entity", 0},
		{"value", 0}, {"minimum", 0}, {"maximum", 0}, {"unit", 0}};
	struct printing p = {.o = o, .store = s, .job = job, .notes = notes};
	bool csv = o->form == PROC_CSV;

	if (o->form == PROC_JSON)
		json_rows_begin(&p.json, f);
	else if (csv && o->step_us)
		stream_table_begin(&p.grid, for_steps, ARRAY_SIZE(for_steps), true, f);
	else
		stream_table_begin(&p.grid, csv ? for_csv : for_people,
				   csv          ? ARRAY_SIZE(for_csv)
				   : o->step_us ? 7
						: 5,
				   csv, f);
	int r = o->sum == SERIES_EACH ? print_each(&p, l)
				      : series_curves(l, s, job, o, print_curve, &p, notes);
	int written = o->form == PROC_JSON ? json_rows_end(&p.json) : stream_table_end(&p.grid);
	return r < 0 ? r : written;
}
