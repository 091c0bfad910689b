/* Sums over the jobs of a store; see usage_view.h. */
#include "views/usage_view.h"

#include <math.h>

#include "core/text/text.h"

/* The share in the CPU time of all, with three decimals; NAN: unknown. */
static double share(const struct usage_table *t, const struct usage_group *g)
{
	if (g->usage.cpu_us == USAGE_UNKNOWN || t->all.cpu_us <= 0)
		return NAN;
	return (double)(int64_t)(1e5 * (double)g->usage.cpu_us / (double)t->all.cpu_us + 0.5) / 1e3;
}

static int print_json(const struct usage_table *t, const char *key, size_t count, FILE *f)
{
	struct json_rows json;

	json_rows_begin(&json, f);
	for (size_t i = 0; i < count; i++) {
		const struct usage_group *g = t->rows[i].group;
		const struct usage *u = &g->usage;
		struct json_writer *j = &json.j;

		json_begin_object(j, NULL);
		if (g->name)
			json_text(j, key, g->name, g->size);
		else
			json_none(j, key);
		json_u64(j, "jobs", t->rows[i].jobs);
		json_u64(j, "processes", u->processes);
		json_u64(j, "images", u->images);
		json_number(j, "cpu_time", u->cpu_us);
		json_f64(j, "cpu_percent", share(t, g));
		json_number(j, "duration", u->duration_us);
		json_number(j, "rchar", u->rchar);
		json_number(j, "wchar", u->wchar);
		json_number(j, "read_bytes", u->read_bytes);
		json_number(j, "write_bytes", u->write_bytes);
		json_number(j, "rssmax", u->rssmax);
		json_end_object(j);
		json_rows_next(&json);
	}
	return json_rows_end(&json);
}

static void bytes_cell(struct stream_table *g, int64_t v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (g->human)
		add_bytes(&text, v, true);
	else if (v != UNKNOWN)
		text_add_i64(&text, v);
	stream_table_figure(g, &text);
}

static int print_rows(const struct usage_table *t, const char *title, const char *key, size_t count,
		      bool csv, FILE *f)
{
	const struct terminal_table_column columns[] = {
		{title, COLUMN_CUT},         {"JOBS", COLUMN_RIGHT},
		{"PROCESSES", COLUMN_RIGHT}, {"IMAGES", COLUMN_RIGHT},
		{"CPU", COLUMN_RIGHT},       {"SHARE", COLUMN_RIGHT},
		{"DURATION", COLUMN_RIGHT},  {"READ", COLUMN_RIGHT},
		{"WRITTEN", COLUMN_RIGHT},   {"RSSMAX", COLUMN_RIGHT},
		{"DISK READ", COLUMN_RIGHT}, {"DISK WRITTEN", COLUMN_RIGHT}};
	const struct terminal_table_column names[] = {
		{key, 0},        {"jobs", 0},        {"processes", 0},  {"images", 0},
		{"cpu_time", 0}, {"cpu_percent", 0}, {"duration", 0},   {"rchar", 0},
		{"wchar", 0},    {"rssmax", 0},      {"read_bytes", 0}, {"write_bytes", 0}};
	struct stream_table g;

	stream_table_begin(&g, csv ? names : columns, ARRAY_SIZE(columns), csv, f);
	for (size_t i = 0; i < count; i++) {
		const struct usage_group *group = t->rows[i].group;
		const struct usage *u = &group->usage;
		_cleanup_strbuf_ struct strbuf percent = STRBUF_INIT;
		double part = share(t, group);

		if (!isnan(part))
			strbuf_addf(&percent, g.human ? "%.1f %%" : "%.3f", part);
		stream_table_text(&g, group->name ? group->name : "",
				  group->name ? group->size : 0);
		stream_table_count(&g, (int64_t)t->rows[i].jobs);
		stream_table_count(&g, (int64_t)u->processes);
		stream_table_count(&g, (int64_t)u->images);
		stream_table_us(&g, u->cpu_us);
		stream_table_figure(&g, &percent);
		stream_table_us(&g, u->duration_us);
		bytes_cell(&g, u->rchar);
		bytes_cell(&g, u->wchar);
		stream_table_kib(&g, u->rssmax);
		bytes_cell(&g, u->read_bytes);
		bytes_cell(&g, u->write_bytes);
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

int usage_print(const struct usage_table *t, const char *title, uint64_t limit, enum proc_form form,
		FILE *f)
{
	size_t count = t->groups.count < limit ? t->groups.count : (size_t)limit;
	_cleanup_free_ char *key = xstrdup(title);

	for (char *p = key; *p; p++)
		*p = *p == ' ' ? '_' : *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
	int r = form == PROC_JSON ? print_json(t, key, count, f)
				  : print_rows(t, title, key, count, form == PROC_CSV, f);
	return r < 0 ? r : (int)count;
}
