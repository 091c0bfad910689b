/* The table of routes; see routes.h. */
#include "web/routes.h"

#include <errno.h>
#include <string.h>

#include "web/handlers/handlers.h"

#define PARAMS(...) ((const struct web_param_row[]){__VA_ARGS__, {.name = NULL}})

const struct web_route web_routes[] = {
#define ROUTE(method_, pattern_, flags_, handler_, command_, params_, help_) \
	{.method = WEB_##method_,                                            \
	 .pattern = (pattern_),                                              \
	 .flags = (flags_),                                                  \
	 .handler = (handler_),                                              \
	 .command = (command_),                                              \
	 .params = (params_),                                                \
	 .help = (help_)},
#include "web/routes.def"
#undef ROUTE
	{.pattern = NULL},
};

static const char *const method_names[WEB_METHODS] = {"GET", "POST", "PUT", "DELETE"};

enum web_method web_method_of(const char *name)
{
	if (!strcmp(name, "HEAD"))
		return WEB_GET;
	for (int i = 0; i < WEB_METHODS; i++)
		if (!strcmp(name, method_names[i]))
			return (enum web_method)i;
	return WEB_METHODS;
}

const char *web_method_name(enum web_method m)
{
	return method_names[m];
}

/* ---- patterns ---------------------------------------------------------------------------------
 */

/* Walks over the segments of a pattern: the next one and its length, or NULL. */
static const char *next_segment(const char **p, size_t *n)
{
	const char *begin = **p == '/' ? *p + 1 : *p;

	*n = strcspn(begin, "/");
	*p = begin + *n;
	return *n ? begin : NULL;
}

static bool matches(const char *pattern, const struct target *t)
{
	size_t n, i = 0;

	for (const char *s; (s = next_segment(&pattern, &n)); i++) {
		if (i == t->segment_count)
			return false;
		if (*s != '{' &&
		    (strlen(t->segments[i]) != n || strncmp(t->segments[i], s, n) != 0))
			return false;
	}
	return i == t->segment_count;
}

const struct web_route *route_find(const struct target *t, enum web_method m,
				   struct strbuf *ret_allow)
{
	for (const struct web_route *r = web_routes; r->pattern; r++) {
		if (!matches(r->pattern, t))
			continue;
		if (r->method == m)
			return r;
		strbuf_addf(ret_allow, "%s%s", ret_allow->len ? ", " : "",
			    r->method == WEB_GET ? "GET, HEAD" : web_method_name(r->method));
	}
	return NULL;
}

bool route_has_in_path(const struct web_route *r, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = r->pattern; (at = strchr(at, '{')); at++)
		if (!strncmp(at + 1, name, n) && at[n + 1] == '}')
			return true;
	return false;
}

/* ---- parameters -------------------------------------------------------------------------------
 */

static int bad(const struct web_param_row *row, const char *takes, struct strbuf *why)
{
	return strbuf_fail(why, -EINVAL, "parameter '%s' takes %s", row->name, takes);
}

static int check_flag(const struct web_param_row *row, const char **value, struct strbuf *why)
{
	static const char *const yes[] = {"", "1", "yes", "true"}, *const no[] = {"0", "no",
										  "false"};
	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		if (!strcmp(*value, yes[i])) {
			*value = "1";
			return 0;
		}
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		if (!strcmp(*value, no[i])) {
			*value = "0";
			return 0;
		}
	return bad(row, "1 or 0", why);
}

static int check(const struct web_param_row *row, const char **value, struct strbuf *why)
{
	uint64_t n;

	switch (row->type) {
	case PARAM_TEXT:
		return 0;
	case PARAM_NAME:
	case PARAM_LIST:
		if (!**value || **value == '-' || strchr(*value, '/'))
			return bad(row, "a name, which does not begin with - and has no /", why);
		return 0;
	case PARAM_COUNT:
		if (parse_u64(*value, &n) < 0)
			return bad(row, "a number that is not negative", why);
		return 0;
	case PARAM_PAGE:
		if (parse_u64(*value, &n) < 0 || n < 1 || n > WEB_PAGE_MAX)
			return bad(row, "a number from 1 to 1000", why);
		return 0;
	case PARAM_FLAG:
		return check_flag(row, value, why);
	}
	return -EINVAL;
}

static int add_param(struct web_request *q, const struct web_param_row *row, const char *value,
		     struct strbuf *why)
{
	if (row->type != PARAM_LIST && web_param(q, row->name))
		return strbuf_fail(why, -EINVAL, "parameter '%s' was given twice", row->name);
	if (q->param_count == WEB_PARAMS_MAX)
		return strbuf_fail(why, -EINVAL, "too many parameters");
	int r = check(row, &value, why);
	if (r < 0)
		return r;
	q->params[q->param_count++] = (struct web_param){.row = row, .value = xstrdup(value)};
	return 0;
}

static const struct web_param_row *find_row(const struct web_route *r, const char *name, size_t n)
{
	for (const struct web_param_row *p = r->params; p && p->name; p++)
		if (strlen(p->name) == n && !strncmp(p->name, name, n))
			return p;
	return NULL;
}

const struct web_param_row *route_param(const struct web_route *r, const char *name)
{
	return find_row(r, name, strlen(name));
}

static int take_path(struct web_request *q, const struct target *t, struct strbuf *why)
{
	const char *pattern = q->route->pattern;
	size_t n, i = 0;

	for (const char *s; (s = next_segment(&pattern, &n)); i++) {
		if (*s != '{')
			continue;
		const struct web_param_row *row = find_row(q->route, s + 1, n - 2);
		int r = row ? add_param(q, row, t->segments[i], why) : -EINVAL;

		if (r < 0)
			return r;
	}
	return 0;
}

static int unknown(const struct web_route *r, const char *name, struct strbuf *why)
{
	bool any = false;

	strbuf_addf(why, "unknown parameter '%s'", name);
	for (const struct web_param_row *p = r->params; p && p->name; p++) {
		if (route_has_in_path(r, p->name))
			continue;
		strbuf_addf(why, "%s%s", any ? ", " : "; known are ", p->name);
		any = true;
	}
	return -EINVAL;
}

int route_take_params(struct web_request *q, const struct target *t, struct strbuf *why)
{
	int r = take_path(q, t, why);

	for (size_t i = 0; i < t->pair_count && r == 0; i++) {
		const struct target_pair *p = &t->pairs[i];
		const struct web_param_row *row = route_param(q->route, p->name);

		if (!row && (q->route->flags & WEB_HTML))
			continue;
		if (!row || route_has_in_path(q->route, row->name))
			return unknown(q->route, p->name, why);
		r = add_param(q, row, p->value ? p->value : "", why);
	}
	return r;
}

void route_release_params(struct web_request *q)
{
	for (size_t i = 0; i < q->param_count; i++)
		free(q->params[i].value);
	q->param_count = 0;
}

void route_add_key(const struct web_request *q, struct strbuf *out)
{
	strbuf_addf(out, "%s\n", q->route->pattern);
	for (const struct web_param_row *row = q->route->params; row && row->name; row++) {
		const char *value;

		for (size_t i = 0; (value = web_param_at(q, row->name, i)); i++)
			strbuf_addf(out, "%s=%zu:%s\n", row->name, strlen(value), value);
	}
}
