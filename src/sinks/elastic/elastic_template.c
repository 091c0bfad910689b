/*
 * Templates: what the indices of a source are made with when their day begins. Times, names and
 * numbers have their types from the first document on, and the name without a date stands for all
 * days. Metrics that come later are typed by their form, and told with the next day.
 */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "core/text/json_writer.h"
#include "sinks/elastic/sink_elastic.h"

static void add_type(struct jsonw *j, const char *name, const char *type, const char *format)
{
	jsonw_begin_object(j, name);
	jsonw_str(j, "type", type);
	if (format)
		jsonw_str(j, "format", format);
	jsonw_end_object(j);
}

static void add_properties(struct jsonw *j, const struct elastic_index *x)
{
	jsonw_begin_object(j, "properties");
	/* dashboards ask for hostname.keyword, which servers make by themselves */
	jsonw_begin_object(j, "hostname");
	jsonw_str(j, "type", "keyword");
	jsonw_begin_object(j, "fields");
	add_type(j, "keyword", "keyword", NULL);
	jsonw_end_object(j);
	jsonw_end_object(j);
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
	jsonw_end_object(j);
}

/* What no property tells of. */
static void add_dynamic(struct jsonw *j)
{
	static const struct {
		const char *from, *to;
	} types[] = {{"long", "long"}, {"double", "double"}, {"string", "keyword"}};

	jsonw_begin_array(j, "dynamic_templates");
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		jsonw_begin_object(j, NULL);
		jsonw_begin_object(j, types[i].from);
		jsonw_str(j, "match_mapping_type", types[i].from);
		jsonw_begin_object(j, "mapping");
		jsonw_str(j, "type", types[i].to);
		jsonw_end_object(j);
		jsonw_end_object(j);
		jsonw_end_object(j);
	}
	jsonw_end_array(j);
}

void elastic_template(const struct elastic_index *x, struct strbuf *path, struct strbuf *body)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	_cleanup_free_ char *pattern = xasprintf("%s-2*", x->name);

	strbuf_addf(path, "/_index_template/%s", x->name);
	jsonw_begin_object(&j, NULL);
	jsonw_begin_array(&j, "index_patterns");
	jsonw_str(&j, NULL, pattern);
	jsonw_end_array(&j);
	jsonw_i64(&j, "priority", 300);
	jsonw_begin_object(&j, "template");
	jsonw_begin_object(&j, "aliases");
	if (!x->no_alias) {
		jsonw_begin_object(&j, x->name);
		jsonw_end_object(&j);
	}
	jsonw_end_object(&j);
	jsonw_begin_object(&j, "mappings");
	add_dynamic(&j);
	add_properties(&j, x);
	jsonw_end_object(&j);
	jsonw_end_object(&j);
	jsonw_end_object(&j);
	strbuf_add(body, j.out.buf, j.out.len);
}

/* Is there an index of this very name, made by another collector? It cannot be an alias then, and
 * no new index could be made with it. */
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
		"elastic: %s is an index, made by another collector maybe: %s-* are found by their own names "
		"only until it is renamed or deleted",
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

			/* data without it is better than none */
			http_add_reason(&text, &e->server.reply);
			log_warn("elastic: the template of %s was refused: %s", x->name, text.buf);
		}
		x->has_template = true;
		x->told = x->field_count;
	}
	return 0;
}
