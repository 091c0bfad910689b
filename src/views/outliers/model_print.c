/* Printing reference models; see model_build.h. */
#include <errno.h>
#include <math.h>

#include "analysis/outliers/model.h"
#include "core/text/text.h"
#include "views/outliers/model_build.h"
#include "views/outliers/feature_text.h"
#include "views/stream_table.h"

/* ---- the list ------------------------------------------------------------------------------- */

struct model_list {
	enum outlier_form form;
	struct stream_table table;
	struct json_writer j;
	int count;
};

static size_t length_of(const struct value *model, const char *key)
{
	const struct value *v = value_get(model, key);

	return v && v->kind == VALUE_LIST ? v->list.count : 0;
}

static void add_method_names(struct strbuf *out, const struct value *model)
{
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++)
		if (model_has_method(model, m))
			strbuf_addf(out, "%s%s", out->len ? "," : "", outlier_methods[m].name);
	for (enum detector k = 0; k < DETECTOR_COUNT; k++)
		if (model_has_detector(model, k))
			strbuf_addf(out, "%s%s", out->len ? "," : "", detectors[k].name);
}

static void list_json(struct model_list *l, const struct model *m, const char *why)
{
	struct json_writer *j = &l->j;

	json_begin_object(j, NULL);
	json_str(j, "name", m->name);
	json_bool(j, "enabled", m->enabled);
	if (m->json) {
		_cleanup_value_ struct value *features = model_features(m->json);
		_cleanup_strbuf_ struct strbuf methods = STRBUF_INIT;

		add_method_names(&methods, m->json);
		json_str(j, "of", model_of_operations(m->json) ? "operations" : "jobs");
		json_u64(j, "jobs", length_of(m->json, "jobs"));
		json_u64(j, "operations", length_of(m->json, "op_tags"));
		value_to_json(features, j, "features");
		json_str(j, "methods", methods.buf);
		if (value_get(m->json, "tags"))
			value_to_json(value_get(m->json, "tags"), j, "tags");
		json_str(j, "created", value_get_str(m->json, "created_at"));
	} else {
		json_str(j, "problem", why);
	}
	json_end_object(j);
}

static void list_row(struct model_list *l, const struct model *m)
{
	_cleanup_strbuf_ struct strbuf methods = STRBUF_INIT, tags = STRBUF_INIT,
				       created = STRBUF_INIT;
	_cleanup_value_ struct value *features = m->json ? model_features(m->json) : NULL;

	stream_table_str(&l->table, m->name);
	stream_table_str(&l->table, m->enabled ? "yes" : "no");
	if (!m->json) {
		stream_table_str(&l->table, "unreadable");
		for (size_t i = 0; i < 5; i++)
			stream_table_str(&l->table, "");
		stream_table_row(&l->table, 'r');
		return;
	}
	add_method_names(&methods, m->json);
	add_tags_text(&tags, value_get(m->json, "tags"));
	const char *at = value_get_str(m->json, "created_at");
	strbuf_add(&created, at ? at : "", at ? strnlen(at, l->table.csv ? 64 : 19) : 0);
	stream_table_str(&l->table, model_of_operations(m->json) ? "operations" : "jobs");
	stream_table_number(&l->table, (int64_t)length_of(m->json, "jobs"));
	stream_table_number(&l->table, (int64_t)features->list.count);
	stream_table_str(&l->table, methods.buf);
	stream_table_str(&l->table, created.buf);
	stream_table_str(&l->table, tags.buf);
	stream_table_row(&l->table, m->enabled ? 0 : 'y');
}

static int list_model(void *user, const struct model *m, const char *why)
{
	struct model_list *l = user;

	l->count++;
	if (l->form == OUTLIER_JSON)
		list_json(l, m, why);
	else
		list_row(l, m);
	return 0;
}

int model_print_list(struct store *s, enum outlier_form form, FILE *f)
{
	static const struct terminal_table_column titles[] = {{"MODEL", 0},
							      {"ENABLED", 0},
							      {"OF", 0},
							      {"JOBS", COLUMN_RIGHT},
							      {"FEATURES", COLUMN_RIGHT},
							      {"METHODS", 0},
							      {"CREATED", 0},
							      {"TAGS", COLUMN_CUT}};
	static const struct terminal_table_column csv[] = {
		{"name", 0},     {"enabled", 0}, {"of", 0},      {"jobs", 0},
		{"features", 0}, {"methods", 0}, {"created", 0}, {"tags", 0}};
	struct model_list l = {.form = form, .j = JSON_WRITER_INIT};
	int r;

	l.j.pretty = true;
	if (form == OUTLIER_JSON)
		json_begin_array(&l.j, NULL);
	else
		stream_table_begin(&l.table, form == OUTLIER_CSV ? csv : titles, ARRAY_SIZE(titles),
				   form == OUTLIER_CSV, f);
	r = models_each(s, list_model, &l);
	if (form == OUTLIER_JSON) {
		json_end_array(&l.j);
		int e = r < 0 ? r : json_write(&l.j, f);
		r = e < 0 ? e : r;
		json_release(&l.j);
	} else {
		int e = stream_table_end(&l.table);
		r = r < 0 ? r : e;
	}
	return r < 0 ? r : l.count;
}

/* ---- one model ------------------------------------------------------------------------------ */

static void number_cell(struct stream_table *g, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	add_plain_number(&text, v);
	stream_table_figure(g, &text);
}

static void detector_rows(struct stream_table *g, const struct value *computed, const char *tags)
{
	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		const struct value *by_features = value_get(computed, detectors[k].stored);

		for (size_t i = 0; i < value_pairs(by_features); i++) {
			const struct value *v = value_at(by_features, i);
			double max;

			if (value_key(by_features, i)->kind != VALUE_STR || v->kind != VALUE_LIST ||
			    !v->list.count || !value_number(v->list.items[0], &max))
				continue;
			if (tags)
				stream_table_str(g, tags);
			stream_table_str(g, value_key(by_features, i)->str.data);
			stream_table_str(g, detectors[k].name);
			number_cell(g, max);
			stream_table_str(g, "");
			stream_table_str(g, "");
			stream_table_row(g, 0);
		}
	}
}

static void number_rows(struct stream_table *g, const struct value *computed,
			const struct value *features, const char *tags)
{
	for (size_t i = 0; i < features->list.count; i++) {
		const char *name = features->list.items[i]->str.data;
		struct feature_model m;

		if (!model_feature(computed, name, &m))
			continue;
		for (enum outlier_method k = 0; k < METHOD_COUNT; k++) {
			if (!m.has[k])
				continue;
			if (tags)
				stream_table_str(g, tags);
			stream_table_str(g, name);
			stream_table_str(g, outlier_methods[k].name);
			number_cell(g, m.params[k].max);
			number_cell(g, m.params[k].center);
			number_cell(g, m.params[k].spread);
			stream_table_row(g, 0);
		}
	}
	detector_rows(g, computed, tags);
}

static int print_numbers(const struct model *m, bool csv, FILE *f)
{
	static const struct terminal_table_column titles[] = {{"TAGS", 0},
							      {"FEATURE", 0},
							      {"METHOD", 0},
							      {"HIGHEST SCORE", COLUMN_RIGHT},
							      {"CENTER", COLUMN_RIGHT},
							      {"SPREAD", COLUMN_RIGHT}};
	static const struct terminal_table_column heads[] = {{"tags", 0},   {"feature", 0},
							     {"method", 0}, {"max", 0},
							     {"center", 0}, {"spread", 0}};
	_cleanup_value_ struct value *features = model_features(m->json);
	const struct value *op_tags = value_get(m->json, "op_tags");
	bool ops = model_of_operations(m->json);
	struct stream_table g;

	stream_table_begin(&g, (csv ? heads : titles) + (ops ? 0 : 1), ops ? 6 : 5, csv, f);
	for (size_t i = 0; ops && i < op_tags->list.count; i++) {
		_cleanup_strbuf_ struct strbuf tags = STRBUF_INIT;
		const struct value *op = op_tags->list.items[i];

		add_tags_text(&tags, op);
		number_rows(&g, model_computed(m->json, op), features, tags.buf);
	}
	if (!ops)
		number_rows(&g, model_computed(m->json, NULL), features, NULL);
	return stream_table_end(&g);
}

static void print_head(const struct model *m, FILE *f)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, tags = STRBUF_INIT;
	const struct value *jobs = value_get(m->json, "jobs");
	const char *created = value_get_str(m->json, "created_at");

	text_add_printable(&out, m->name, strlen(m->name));
	strbuf_addf(&out, ": model of %s, %s, created %.19s",
		    model_of_operations(m->json) ? "operations" : "jobs",
		    m->enabled ? "enabled" : "disabled", created ? created : "at an unknown time");
	add_tags_text(&tags, value_get(m->json, "tags"));
	if (tags.len) {
		strbuf_addstr(&out, ", for jobs with ");
		text_add_printable(&out, tags.buf, tags.len);
	}
	strbuf_addf(&out, "\nmade from %zu jobs:", length_of(m->json, "jobs"));
	for (size_t i = 0; i < length_of(m->json, "jobs"); i++) {
		const struct value *job = jobs->list.items[i];

		if (job->kind != VALUE_STR)
			continue;
		strbuf_addch(&out, ' ');
		text_add_printable(&out, job->str.data, job->str.size);
	}
	fprintf(f, "%s\n\n", out.buf);
}

int model_print(const struct model *m, enum outlier_form form, FILE *f)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (form == OUTLIER_JSON) {
		j.pretty = true;
		value_to_json(m->json, &j, NULL);
		return json_write(&j, f);
	}
	if (form == OUTLIER_TABLE)
		print_head(m, f);
	return print_numbers(m, form == OUTLIER_CSV, f);
}

int model_print_features(const struct model *m, enum outlier_form form, FILE *f)
{
	static const struct terminal_table_column titles[] = {{"FEATURE", 0}, {"ACTIVE", 0}};
	static const struct terminal_table_column names[] = {{"feature", 0}, {"active", 0}};
	_cleanup_value_ struct value *all = model_all_features(m->json);
	_cleanup_value_ struct value *active = model_features(m->json);
	struct json_rows json;
	struct stream_table g;

	if (form == OUTLIER_JSON)
		json_rows_begin(&json, f);
	else
		stream_table_begin(&g, form == OUTLIER_CSV ? names : titles, 2, form == OUTLIER_CSV,
				   f);
	for (size_t i = 0; i < all->list.count; i++) {
		const char *name = all->list.items[i]->str.data;
		bool used = model_uses(active, name);

		if (form == OUTLIER_JSON) {
			json_begin_object(&json.j, NULL);
			json_str(&json.j, "feature", name);
			json_bool(&json.j, "active", used);
			json_end_object(&json.j);
			json_rows_next(&json);
		} else {
			stream_table_str(&g, name);
			stream_table_str(&g, used ? "yes" : "no");
			stream_table_row(&g, used ? 0 : 'y');
		}
	}
	return form == OUTLIER_JSON ? json_rows_end(&json) : stream_table_end(&g);
}
