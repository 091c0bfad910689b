/* See filter_keys.h. */
#include "views/filter_keys.h"

#include <string.h>

#include "views/stream_table.h"

static const char *const scopes[] = {[FILTER_JOBS] = "jobs", [FILTER_PROCESSES] = "processes"};

/* "tag.NAME" */
static void add_name(struct strbuf *out, const struct filter_key *k)
{
	strbuf_addf(out, "%s%s", k->name, str_suffix(k->name, ".") ? "NAME" : "");
}

static void write_json(struct json_rows *out, const struct filter_key *k)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	add_name(&name, k);
	json_begin_object(&out->j, NULL);
	json_str(&out->j, "of", scopes[k->scope]);
	json_str(&out->j, "key", name.buf);
	json_str(&out->j, "value", filter_type_name(k->type));
	json_str(&out->j, "operators", filter_type_operators(k->type));
	json_str(&out->j, "help", k->help);
	json_end_object(&out->j);
	json_rows_next(out);
}

static void write_row(struct stream_table *g, const struct filter_key *k)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	add_name(&name, k);
	stream_table_str(g, scopes[k->scope]);
	stream_table_str(g, name.buf);
	stream_table_str(g, filter_type_name(k->type));
	stream_table_str(g, filter_type_operators(k->type));
	stream_table_str(g, k->help);
	stream_table_row(g, 0);
}

int filter_keys_print(enum proc_form form, FILE *f)
{
	static const struct terminal_table_column people[] = {
		{"OF", 0}, {"KEY", 0}, {"VALUE", 0}, {"OPERATORS", 0}, {"MEANING", COLUMN_CUT}};
	static const struct terminal_table_column csv[] = {
		{"of", 0}, {"key", 0}, {"value", 0}, {"operators", 0}, {"help", 0}};
	bool is_csv = form == PROC_CSV;
	struct json_rows json;
	struct stream_table g;
	struct filter_key k;

	if (form == PROC_JSON)
		json_rows_begin(&json, f);
	else
		stream_table_begin(&g, is_csv ? csv : people, ARRAY_SIZE(csv), is_csv, f);
	for (enum filter_scope scope = FILTER_JOBS; scope <= FILTER_PROCESSES; scope++)
		for (size_t i = 0; filter_key_at(scope, i, &k); i++) {
			if (form == PROC_JSON)
				write_json(&json, &k);
			else
				write_row(&g, &k);
		}
	return form == PROC_JSON ? json_rows_end(&json) : stream_table_end(&g);
}
