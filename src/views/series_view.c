/* Curves of a job; see series_view.h. */
#include "views/series_view.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "views/stream_table.h"

/* ---- numbers -------------------------------------------------------------------------------- */

/* Whole numbers without a point, others as short as they can be. */
static void add_value(struct strbuf *out, double v)
{
	if (fabs(v) < 9007199254740992.0 && (double)(int64_t)v == v)
		strbuf_addf(out, "%.0f", v);
	else if (isfinite(v))
		text_add_real(out, v);
}

static void json_value(struct jsonw *j, const char *key, double v)
{
	if (!isfinite(v))
		jsonw_null(j, key);
	else if (fabs(v) < 9007199254740992.0 && (double)(int64_t)v == v)
		jsonw_i64(j, key, (int64_t)v);
	else
		jsonw_f64(j, key, v);
}

/* For people: sizes and times with units, three digits of the rest. */
static void add_human(struct strbuf *out, double v, const char *unit)
{
	if (!strcmp(unit, "bytes") || !strcmp(unit, "bytes/s")) {
		text_add_bytes(out, v);
		strbuf_addstr(out, unit + strlen("bytes"));
	} else if (!strcmp(unit, "KiB")) {
		text_add_bytes(out, v * 1024);
	} else if (str_prefix(unit, "us") || str_prefix(unit, "ns")) {
		text_add_duration(out, v * (*unit == 'u' ? 1e-6 : 1e-9));
		strbuf_addstr(out, unit + strlen("us")); /* "/s" of a rate */
	} else if (!strcmp(unit, "Hz") && fabs(v) >= 1e6) {
		strbuf_addf(out, "%.4g %s", fabs(v) >= 1e9 ? v * 1e-9 : v * 1e-6,
			    fabs(v) >= 1e9 ? "GHz" : "MHz");
	} else {
		/* large numbers are counts: all their digits, no power of ten */
		strbuf_addf(out, fabs(v) >= 1e6 && fabs(v) < 1e18 ? "%.0f" : "%.6g", v);
		if (*unit && strcmp(unit, "count") != 0)
			strbuf_addf(out, " %s", unit);
	}
}

static void grid_value(struct stream_table *g, double v, const char *unit)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	/* inside a gap there is none */
	if (!isfinite(v))
		strbuf_addstr(&text, g->csv ? "" : "gap");
	else if (g->csv)
		add_value(&text, v);
	else
		add_human(&text, v, unit);
	stream_table_text(g, text.buf, text.len);
}

/* Any number of 64 bits: none of them means that it is not known. */
static void grid_whole(struct stream_table *g, int64_t v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%lld", (long long)v);
	stream_table_text(g, text.buf, text.len);
}

static void grid_entity(struct stream_table *g, const struct series *s)
{
	if (g->csv) {
		stream_table_str(g, s->entity_kind);
		stream_table_str(g, s->entity);
		return;
	}
	/* names of devices tell what they are; a process has numbers for a name */
	_cleanup_free_ char *text = !strcmp(s->entity_kind, "process")
					    ? xasprintf("process %s", s->entity)
					    : xstrdup(s->entity);
	stream_table_str(g, text);
}

/* ---- the list ------------------------------------------------------------------------------- */

static void list_json(const struct series *s, struct jsonw *j)
{
	bool counter = s->kind == KIND_COUNTER;

	jsonw_begin_object(j, NULL);
	jsonw_str(j, "metric", s->metric);
	jsonw_str(j, "unit", s->unit);
	jsonw_str(j, "kind", metric_kind_name(s->kind));
	jsonw_str(j, "aggregation", metric_agg_name(s->agg));
	jsonw_str(j, "host", s->host);
	jsonw_str(j, "entity_kind", s->entity_kind);
	jsonw_str(j, "entity", s->entity);
	json_raw(j, "facts", s->facts ? s->facts : "{}", s->facts ? strlen(s->facts) : 2);
	jsonw_i64(j, "count", s->count);
	json_time(j, "first", s->first);
	json_time(j, "last", s->last);
	json_value(j, "minimum", s->minimum);
	json_value(j, "mean", s->mean);
	json_value(j, "maximum", s->maximum);
	if (counter)
		json_value(j, "increase", s->increase);
	else
		jsonw_null(j, "increase");
	jsonw_str(j, "help", s->help);
	jsonw_end_object(j);
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
		/* sources have rhythms of their own: one may have a part of the job */
		if (!csv)
			grid_value(&g, (double)(s->last - s->begin), "us");
		grid_value(&g, s->minimum, s->unit);
		/* the mean of a counter tells people nothing */
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

static void json_label(struct jsonw *j, const struct series_curve *l, const char *unit)
{
	jsonw_str(j, "metric", l->s->metric);
	jsonw_str(j, "unit", unit);
	jsonw_str(j, "kind", l->rate ? "rate" : metric_kind_name(l->s->kind));
	jsonw_str(j, "host", l->host);
	jsonw_str(j, "entity_kind", l->s->entity_kind);
	jsonw_str(j, "entity", l->entity ? l->s->entity : NULL);
	if (l->entity && l->s->facts)
		json_raw(j, "facts", l->s->facts, strlen(l->s->facts));
	else
		json_raw(j, "facts", "{}", 2);
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

static int print_curve(void *user, struct series_curve *l)
{
	struct printing *p = user;
	_cleanup_free_ char *unit = series_curve_unit(l);
	const struct curve *c = &l->points;
	bool json = p->o->form == PROC_JSON;
	struct jsonw *j = &p->json.j;

	if (json) {
		jsonw_begin_object(j, NULL);
		json_label(j, l, unit);
		jsonw_begin_array(j, "samples");
	}
	for (size_t i = 0; i < c->count; i++) {
		int64_t time = c->points[i].time;
		double value = series_value(c->points[i].value, l->scale);
		double low = series_value(c->points[i].low, l->scale);
		double high = series_value(c->points[i].high, l->scale);

		if (!in_time(p->o, time))
			continue;
		if (json) {
			jsonw_begin_array(j, NULL);
			json_time(j, NULL, time);
			json_value(j, NULL, value);
			if (l->ranges) {
				json_value(j, NULL, low);
				json_value(j, NULL, high);
			}
			jsonw_end_array(j);
			continue;
		}
		grid_label(&p->grid, l, time, !p->o->step_us || p->o->step_us % 1000000 != 0);
		grid_value(&p->grid, value, unit);
		if (p->o->step_us) {
			grid_value(&p->grid, low, unit);
			grid_value(&p->grid, high, unit);
		}
		if (p->grid.csv)
			stream_table_str(&p->grid, unit);
		stream_table_row(&p->grid, 0);
	}
	if (json) {
		jsonw_end_array(j);
		jsonw_end_object(j);
		json_rows_next(&p->json);
	}
	return 0;
}

/* As they were read: whole numbers to the last digit, where doubles would lose some. */
static void print_raw(struct printing *p, const struct series_curve *l,
		      const struct series_points *points)
{
	struct jsonw *j = &p->json.j;
	bool json = p->o->form == PROC_JSON, whole = l->s->scale == 1;

	if (json) {
		jsonw_begin_object(j, NULL);
		json_label(j, l, l->s->unit);
		jsonw_begin_array(j, "samples");
	}
	for (size_t i = 0; i < points->count; i++) {
		const struct series_point *v = &points->list[i];
		double value = series_value((double)v->raw, l->s->scale);

		if (!in_time(p->o, v->time))
			continue;
		if (json) {
			jsonw_begin_array(j, NULL);
			json_time(j, NULL, v->time);
			if (whole)
				jsonw_i64(j, NULL, v->raw);
			else
				json_value(j, NULL, value);
			jsonw_end_array(j);
			continue;
		}
		grid_label(&p->grid, l, v->time, true);
		if (whole && p->grid.csv)
			grid_whole(&p->grid, v->raw);
		else
			grid_value(&p->grid, value, l->s->unit);
		if (p->grid.csv)
			stream_table_str(&p->grid, l->s->unit);
		stream_table_row(&p->grid, 0);
	}
	if (json) {
		jsonw_end_array(j);
		jsonw_end_object(j);
		json_rows_next(&p->json);
	}
}

/* One by one: what is asked for as it was read needs no curve. */
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
