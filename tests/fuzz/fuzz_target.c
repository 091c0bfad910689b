/*
 * Requests to `plimsoll serve`: the method on the first line, then the target; on a third line the
 * header Accept. What is accepted has plain segments and parameters of the types of its route, and
 * gives a command line in which nothing that was sent is an option or a path.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "web/routes.h"
#include "web/answers/answer_cache.h"
#include "web/answers/run_command.h"

static void check_target(const struct target *t)
{
	for (size_t i = 0; i < t->segment_count; i++) {
		const char *s = t->segments[i];

		REQUIRE(*s && !strchr(s, '/') && strcmp(s, ".") != 0 && strcmp(s, "..") != 0);
		REQUIRE(utf8_valid(s, strlen(s)));
	}
	for (size_t i = 0; i < t->pair_count; i++)
		REQUIRE(t->pairs[i].name);
}

static void check_param(const struct web_param *p)
{
	uint64_t n;

	REQUIRE(utf8_valid(p->value, strlen(p->value)));
	switch (p->row->type) {
	case PARAM_TEXT:
		break;
	case PARAM_NAME:
	case PARAM_LIST:
		REQUIRE(*p->value && *p->value != '-' && !strchr(p->value, '/'));
		break;
	case PARAM_COUNT:
		REQUIRE(parse_u64(p->value, &n) == 0);
		break;
	case PARAM_PAGE:
		REQUIRE(parse_u64(p->value, &n) == 0 && n >= 1 && n <= WEB_PAGE_MAX);
		break;
	case PARAM_FLAG:
		REQUIRE(!strcmp(p->value, "0") || !strcmp(p->value, "1"));
		break;
	}
}

/* Is it one of the options that the route has, or of its command? */
static bool is_known_option(const struct web_route *r, const char *word)
{
	size_t n = strcspn(word, "=");

	for (const struct web_param_row *p = r->params; p && p->name; p++)
		if (p->option && strlen(p->option) == n && !strncmp(p->option, word, n))
			return true;
	return strstr(r->command, word) != NULL;
}

static void check_command(const struct web_request *q)
{
	_cleanup_command_line_ struct command_line l = {.count = 0};
	bool operands = false;

	command_line_of(&l, q, q->route->command, NULL);
	REQUIRE(l.overflow || (l.count && !strcmp(l.words[0], "plimsoll")));
	for (size_t i = 1; i < l.count && !l.overflow; i++) {
		if (!operands && *l.words[i] == '-')
			REQUIRE(is_known_option(q->route, l.words[i]));
		operands = operands || !strcmp(l.words[i], "--");
	}
}

static void take(const struct target *t, enum web_method m)
{
	_cleanup_strbuf_ struct strbuf allow = STRBUF_INIT, why = STRBUF_INIT, key = STRBUF_INIT;
	struct web_request q = {.route = route_find(t, m, &allow)};

	if (!q.route)
		return;
	int r = route_take_params(&q, t, &why);
	REQUIRE(r == 0 ? !why.len : r == -EINVAL && why.len);
	for (size_t i = 0; i < q.param_count; i++)
		check_param(&q.params[i]);
	route_add_key(&q, &key);
	if (r == 0 && q.route->command && !(q.route->flags & WEB_HTML))
		check_command(&q);
	route_release_params(&q);
}

/* Rows have every type that other answers have. */
static void check_types(const char *accept)
{
	const struct web_type *rows = accepted_type(accept, true);
	const struct web_type *other = accepted_type(accept, false);

	REQUIRE(!other || (rows && !other->rows));
	REQUIRE(accepted_encoding(accept) == NULL || *accepted_encoding(accept));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *text = xstrndup((const char *)data, size);
	_cleanup_target_ struct target t = {0};
	char *line = strchr(text, '\n'), *accept = line ? strchr(line + 1, '\n') : NULL;

	if (!line)
		return 0;
	*line = 0;
	if (accept) {
		*accept++ = 0;
		check_types(accept);
	}
	int r = target_parse(&t, line + 1, size % 2 ? "" : "/x", &why);
	REQUIRE(r == 0 ? !why.len : (r == -EINVAL || r == -ENOENT) && why.len);
	if (r == 0) {
		check_target(&t);
		take(&t, web_method_of(text));
	}
	return 0;
}
