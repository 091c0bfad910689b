/* The table of routes as an OpenAPI document. */
#include <string.h>

#include "web/handlers/handlers.h"
#include "web/routes.h"

static void add_schema(struct json_writer *j, enum web_param_type type)
{
	static const char *const types[] = {
		[PARAM_TEXT] = "string",  [PARAM_NAME] = "string", [PARAM_COUNT] = "integer",
		[PARAM_FLAG] = "boolean", [PARAM_LIST] = "array",
	};

	json_begin_object(j, "schema");
	json_str(j, "type", types[type]);
	if (type == PARAM_COUNT)
		json_i64(j, "minimum", 0);
	if (type == PARAM_NAME)
		json_str(j, "pattern", "^[^-/][^/]*$");
	if (type == PARAM_LIST) {
		json_begin_object(j, "items");
		json_str(j, "type", "string");
		json_end_object(j);
	}
	json_end_object(j);
}

static void add_params(struct json_writer *j, const struct web_route *r)
{
	json_begin_array(j, "parameters");
	for (const struct web_param_row *p = r->params; p && p->name; p++) {
		bool in_path = route_has_in_path(r, p->name);

		json_begin_object(j, NULL);
		json_str(j, "name", p->name);
		json_str(j, "in", in_path ? "path" : "query");
		if (in_path)
			json_bool(j, "required", true);
		json_str(j, "description", p->help);
		add_schema(j, p->type);
		json_end_object(j);
	}
	json_end_array(j);
}

static void add_answer(struct json_writer *j, const char *status, const char *text)
{
	json_begin_object(j, status);
	json_str(j, "description", text);
	json_end_object(j);
}

static void add_body(struct json_writer *j)
{
	json_begin_object(j, "requestBody");
	json_begin_object(j, "content");
	json_begin_object(j, "application/json");
	json_begin_object(j, "schema");
	json_str(j, "type", "object");
	json_end_object(j);
	json_end_object(j);
	json_end_object(j);
	json_end_object(j);
}

static void add_operation(struct json_writer *j, const struct web_route *r)
{
	static const char *const names[WEB_METHODS] = {"get", "post", "put", "delete"};

	json_begin_object(j, names[r->method]);
	json_str(j, "summary", r->help);
	add_params(j, r);
	if (r->flags & WEB_BODY)
		add_body(j);
	json_begin_object(j, "responses");
	add_answer(j, "200", "the answer");
	if (!(r->flags & WEB_OPEN))
		add_answer(j, "401", "no session");
	if (r->flags & WEB_WRITE)
		add_answer(j, "403", "the server is read-only, or X-Plimsoll-CSRF is missing");
	add_answer(j, "default", "an error: {\"error\": text, \"remedy\": text}");
	json_end_object(j);
	if (r->flags & WEB_OPEN) {
		json_begin_array(j, "security");
		json_end_array(j);
	}
	json_end_object(j);
}

static bool is_first(const struct web_route *r)
{
	for (const struct web_route *o = web_routes; o < r; o++)
		if (!strcmp(o->pattern, r->pattern))
			return false;
	return true;
}

static void add_security(struct json_writer *j)
{
	json_begin_object(j, "components");
	json_begin_object(j, "securitySchemes");
	json_begin_object(j, "token");
	json_str(j, "type", "http");
	json_str(j, "scheme", "bearer");
	json_end_object(j);
	json_end_object(j);
	json_end_object(j);
	json_begin_array(j, "security");
	json_begin_object(j, NULL);
	json_begin_array(j, "token");
	json_end_array(j);
	json_end_object(j);
	json_end_array(j);
}

void web_openapi(const struct web_request *q PL_UNUSED, struct store *s PL_UNUSED,
		 struct web_answer *a)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_str(&j, "openapi", "3.1.0");
	json_begin_object(&j, "info");
	json_str(&j, "title", "Plimsoll");
	json_str(&j, "version", PL_VERSION);
	json_end_object(&j);
	json_begin_object(&j, "paths");
	for (const struct web_route *r = web_routes; r->pattern; r++) {
		if ((r->flags & WEB_HTML) || !is_first(r))
			continue;
		json_begin_object(&j, r->pattern);
		for (const struct web_route *o = r; o->pattern; o++)
			if (!strcmp(o->pattern, r->pattern))
				add_operation(&j, o);
		json_end_object(&j);
	}
	json_end_object(&j);
	add_security(&j);
	json_end_object(&j);
	web_take_json(a, &j);
}
