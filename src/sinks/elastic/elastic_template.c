/*
 * Index templates, by which the server creates the index of a source for each day. They give fields
 * their types from the first document on, and an alias without the date for all days. New metrics
 * get their type dynamically, and are in the template of the next day.
 */

#include "core/log.h"
#include "core/text/json_writer.h"
#include "sinks/elastic/sink_elastic.h"

static void add_type(struct json_writer *j, const char *name, const char *type, const char *format)
{
	json_begin_object(j, name);
	json_str(j, "type", type);
	if (format)
		json_str(j, "format", format);
	json_end_object(j);
}

static void add_properties(struct json_writer *j, const struct elastic_index *x)
{
	json_begin_object(j, "properties");
	/* dashboards use hostname.keyword, which servers create by themselves */
	json_begin_object(j, "hostname");
	json_str(j, "type", "keyword");
	json_begin_object(j, "fields");
	add_type(j, "keyword", "keyword", NULL);
	json_end_object(j);
	json_end_object(j);
	if (x->table) {
		const struct row_table *b = x->table;

		add_type(j, "timestamp", "date", "epoch_second");
		add_type(j, "job_id", "long", NULL);
		for (size_t i = 0; i < b->metric_count; i++)
			add_type(j, b->fields[i].name,
				 b->fields[i].type == ROW_F32 ? "double" : "long", NULL);
		if (b->metric_count < b->field_count)
			add_type(j, "involved_jobs", "long", NULL);
	} else {
		add_type(j, "@timestamp", "date", "epoch_millis");
		add_type(j, "job_id", "keyword", NULL);
		add_type(j, "kind", "keyword", NULL);
		add_type(j, "entity", "keyword", NULL);
	}
	for (size_t i = 0; i < x->field_count; i++)
		add_type(j, x->fields[i].name, x->fields[i].real ? "double" : "long", NULL);
	json_end_object(j);
}

/* Types of fields without a property. */
static void add_dynamic(struct json_writer *j)
{
	static const struct {
		const char *from, *to;
	} types[] = {{"long", "long"}, {"double", "double"}, {"string", "keyword"}};

	json_begin_array(j, "dynamic_templates");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		json_begin_object(j, NULL);
		json_begin_object(j, types[i].from);
		json_str(j, "match_mapping_type", types[i].from);
		json_begin_object(j, "mapping");
		json_str(j, "type", types[i].to);
		json_end_object(j);
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
}

void elastic_template(const struct elastic_index *x, struct strbuf *path, struct strbuf *body)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_free_ char *pattern = xasprintf("%s-2*", x->name);

	strbuf_addf(path, "/_index_template/%s", x->name);
	json_begin_object(&j, NULL);
	json_begin_array(&j, "index_patterns");
	json_str(&j, NULL, pattern);
	json_end_array(&j);
	json_i64(&j, "priority", 300);
	json_begin_object(&j, "template");
	json_begin_object(&j, "aliases");
	if (!x->no_alias) {
		json_begin_object(&j, x->name);
		json_end_object(&j);
	}
	json_end_object(&j);
	json_begin_object(&j, "mappings");
	add_dynamic(&j);
	add_properties(&j, x);
	json_end_object(&j);
	json_end_object(&j);
	json_end_object(&j);
	strbuf_add(body, j.out.buf, j.out.len);
}

/* Does another collector's index have the name of our alias? Then no index could be created with
 * that alias. */
static int look_for_index(struct elastic *e, struct elastic_index *x, struct strbuf *why)
{
	_cleanup_free_ char *name = xasprintf("/%s", x->name);
	_cleanup_free_ char *alias = xasprintf("/_alias/%s", x->name);
	struct http_request head = {.method = "HEAD", .path = name};

	x->no_alias = false;
	int r = sink_server_send(&e->server, &head, why);
	if (r < 0 || e->server.reply.status != 200)
		return r;
	head.path = alias;
	r = sink_server_send(&e->server, &head, why);
	if (r < 0 || e->server.reply.status != 404)
		return r;
	log_warn(
		"elastic: %s is an index, maybe of another collector, and cannot be the alias of %s-*; "
		"rename or delete it",
		x->name, x->name);
	x->no_alias = true;
	return 0;
}

int elastic_put_templates(struct elastic *e, struct strbuf *why)
{
	for (size_t i = 0; i < e->index_count; i++) {
		struct elastic_index *x = &e->indices[i];
		_cleanup_strbuf_ struct strbuf path = STRBUF_INIT, body = STRBUF_INIT;

		if (x->has_template && x->told == x->field_count)
			continue;
		int r = x->has_template ? 0 : look_for_index(e, x, why);
		if (r < 0)
			return r;
		elastic_template(x, &path, &body);
		const struct http_request put = {.method = "PUT",
						 .path = path.buf,
						 .type = "application/json",
						 .body = body.buf,
						 .size = body.len};
		r = sink_server_send(&e->server, &put, why);
		if (r < 0)
			return r;
		if (e->server.reply.status / 100 != 2 && !x->has_template) {
			_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

			/* data without a template is better than none */
			http_add_reason(&text, &e->server.reply);
			log_warn("elastic: the server refused the template of %s: %s", x->name,
				 text.buf);
		}
		x->has_template = true;
		x->told = x->field_count;
	}
	return 0;
}
