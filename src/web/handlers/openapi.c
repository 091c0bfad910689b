/* The table of routes as an OpenAPI document. */
#include <string.h>

#include "web/handlers/handlers.h"
#include "web/routes.h"
#include "web/server.h"

static void add_schema(struct json_writer *j, const struct web_param_row *row)
{
	enum web_param_type type = row->type;
	static const char *const types[] = {
		[PARAM_TEXT] = "string",  [PARAM_NAME] = "string",  [PARAM_COUNT] = "integer",
		[PARAM_PAGE] = "integer", [PARAM_FLAG] = "boolean", [PARAM_LIST] = "array",
	};

	json_begin_object(j, "schema");
	json_str(j, "type", types[type]);
	if (type == PARAM_COUNT)
		json_i64(j, "minimum", 0);
	if (type == PARAM_PAGE) {
		json_i64(j, "minimum", 1);
		json_i64(j, "maximum", WEB_PAGE_MAX);
		json_i64(j, "default", WEB_PAGE_USUAL);
	}
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
		add_schema(j, p);
		json_end_object(j);
	}
	json_end_array(j);
}

/* ---- answers ----------------------------------------------------------------------------------
 */

/* The type of an answer that has its own. */
static const char *own_type(const struct web_route *r)
{
	return r->handler == web_live       ? "text/event-stream"
	       : r->handler == web_job_page ? "text/html"
	       : r->handler == web_metrics  ? "text/plain"
	       : r->handler == web_export   ? "*/*"
					    : "text/html";
}

static void add_type(struct json_writer *j, const char *type)
{
	json_begin_object(j, type);
	json_end_object(j);
}

static void add_success(struct json_writer *j, const struct web_route *r)
{
	bool next = (r->flags & WEB_TABLE) && (route_param(r, "offset") || route_param(r, "after"));

	json_begin_object(j, "200");
	json_str(j, "description", "the answer");
	if (next) {
		json_begin_object(j, "headers");
		json_begin_object(j, "Link");
		json_str(j, "description", "rel=\"next\": the next page, where there may be one");
		json_begin_object(j, "schema");
		json_str(j, "type", "string");
		json_end_object(j);
		json_end_object(j);
		json_end_object(j);
	}
	json_begin_object(j, "content");
	if (r->flags & WEB_TYPED)
		add_type(j, own_type(r));
	for (const struct web_type *t = web_types; t->name && !(r->flags & WEB_TYPED); t++)
		if (!t->rows || r->flags & WEB_TABLE)
			add_type(j, t->name);
	json_end_object(j);
	json_end_object(j);
}

/* What can go wrong, and where. */
enum when {
	ALWAYS,
	OF_READS,  /* that have an ETag */
	OF_USERS,  /* not open to everybody */
	OF_PATHS,  /* that name something, or something that is not always there */
	OF_JOBS,   /* that name a job */
	OF_TYPES,  /* that Accept selects */
	OF_BODIES, /* with one */
	OF_LOGINS,
	OF_STORE,   /* that need the store, or a command */
	OF_COMMANDS /* with a time limit */
};

static const struct {
	const char *status;
	enum when when;
	const char *help;
} failures[] = {
	{"303", OF_LOGINS, "signed in: the page to go on with"},
	{"304", OF_READS, "as If-None-Match has it"},
	{"400", ALWAYS, "a parameter or the body is wrong"},
	{"401", OF_USERS, "no session or token"},
	{"403", OF_USERS, "not allowed: the role, a server without --write, or X-Plimsoll-CSRF"},
	{"404", OF_PATHS, "there is no such thing"},
	{"406", OF_TYPES, "Accept takes none of the types of the answer"},
	{"409", OF_JOBS, "several jobs have this name"},
	{"413", OF_BODIES, "the body is larger than 1 MiB"},
	{"415", OF_BODIES, "the body is not application/json"},
	{"421", ALWAYS, "the header Host does not name this server"},
	{"429", OF_LOGINS, "too many wrong passwords; see Retry-After"},
	{"500", OF_STORE, "the answer is too large, or could not be made"},
	{"503", ALWAYS, "the store cannot be read, or too many requests wait; see Retry-After"},
	{"504", OF_COMMANDS, "it took too long"},
};

static bool applies(const struct web_route *r, enum when when)
{
	switch (when) {
	case ALWAYS:
		return true;
	case OF_READS:
		return r->method == WEB_GET && r->handler != web_live;
	case OF_USERS:
		return !(r->flags & WEB_OPEN) || r->handler == web_login;
	case OF_PATHS:
		return r->command || strchr(r->pattern, '{') || r->handler == web_inbox ||
		       r->handler == web_login_page || r->handler == web_login;
	case OF_LOGINS:
		return r->handler == web_login;
	case OF_JOBS:
		return route_param(r, "job") != NULL;
	case OF_TYPES:
		return !(r->flags & WEB_TYPED);
	case OF_BODIES:
		return r->flags & WEB_BODY;
	case OF_STORE:
		return r->command || r->flags & WEB_STORE;
	case OF_COMMANDS:
		return r->command || r->handler == web_sql;
	}
	return false;
}

static void add_failures(struct json_writer *j, const struct web_route *r)
{
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		if (!applies(r, failures[i].when))
			continue;
		json_begin_object(j, failures[i].status);
		_cleanup_free_ char *ref =
			xasprintf("#/components/responses/%s", failures[i].status);
		json_str(j, "$ref", ref);
		json_end_object(j);
	}
}

static void add_shared_failures(struct json_writer *j)
{
	json_begin_object(j, "responses");
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		json_begin_object(j, failures[i].status);
		json_str(j, "description", failures[i].help);
		if (*failures[i].status != '3') {
			json_begin_object(j, "content");
			json_begin_object(j, "application/json");
			json_begin_object(j, "schema");
			json_str(j, "$ref", "#/components/schemas/Error");
			json_end_object(j);
			json_end_object(j);
			json_end_object(j);
		}
		json_end_object(j);
	}
	json_end_object(j);
}

static void add_error_schema(struct json_writer *j)
{
	json_begin_object(j, "schemas");
	json_begin_object(j, "Error");
	json_str(j, "type", "object");
	json_begin_array(j, "required");
	json_str(j, NULL, "error");
	json_end_array(j);
	json_begin_object(j, "properties");
	for (int i = 0; i < 2; i++) {
		json_begin_object(j, i ? "remedy" : "error");
		json_str(j, "type", "string");
		json_str(j, "description", i ? "what to do" : "what is wrong");
		json_end_object(j);
	}
	json_end_object(j);
	json_end_object(j);
	json_end_object(j);
}

/* ---- operations -------------------------------------------------------------------------------
 */

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

/* "get_jobs_job_tree" */
static void add_operation_id(struct json_writer *j, const struct web_route *r)
{
	_cleanup_strbuf_ struct strbuf id = STRBUF_INIT;
	const char *p = r->pattern;

	strbuf_addstr(&id, web_method_name(r->method));
	if (str_prefix(p, "/api/v1"))
		p += strlen("/api/v1");
	for (; *p; p++)
		if (*p == '/' || *p == '.')
			strbuf_addch(&id, '_');
		else if (*p != '{' && *p != '}')
			strbuf_addch(&id, *p);
	json_text(j, "operationId", id.buf, id.len);
}

static void add_operation(struct json_writer *j, const struct web_route *r)
{
	static const char *const names[WEB_METHODS] = {"get", "post", "put", "delete"};

	json_begin_object(j, names[r->method]);
	json_str(j, "summary", r->help);
	add_operation_id(j, r);
	add_params(j, r);
	if (r->flags & WEB_WRITE)
		json_bool(j, "x-needs-write", true);
	if (r->flags & WEB_BODY)
		add_body(j);
	json_begin_object(j, "responses");
	add_success(j, r);
	add_failures(j, r);
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
	add_error_schema(j);
	add_shared_failures(j);
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

void web_openapi(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_str(&j, "openapi", "3.1.0");
	json_begin_object(&j, "info");
	json_str(&j, "title", "Plimsoll");
	json_str(&j, "version", PL_VERSION);
	json_end_object(&j);
	json_begin_array(&j, "servers");
	json_begin_object(&j, NULL);
	const char *base = q->server->options->base_path;
	json_str(&j, "url", *base ? base : "/");
	json_end_object(&j);
	json_end_array(&j);
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
