/* Statements of settings.py; see settings_py.h. */
#include "formats/settings_py.h"

#include <errno.h>

#include "formats/settings_parser.h"

/* ---- statements ----------------------------------------------------------------------------- */

/* A name that is assigned in the middle of a statement ("if x: NAME = 1", "a = NAME = 1") is not
 * what was read, if anything was. */
static void forget(struct value *settings, struct value *skipped, const char *name, size_t n,
		   int line)
{
	_cleanup_free_ char *text = xstrndup(name, n);

	value_unset(settings, text);
	value_set(skipped, text, value_int(line));
}

static bool is_assignment(const struct parser *s)
{
	return *s->p == '=' && !(s->p + 1 < s->end && s->p[1] == '=') &&
	       !one_of((unsigned char)s->p[-1], "=!<>+-*/%&|^@:");
}

/* To the end of the logical line, over brackets and strings whatever is in them. */
static int skip_statement(struct parser *s, struct value *settings, struct value *skipped)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	const char *begin = s->p, *name = NULL, *name_end = NULL;
	int depth = 0;
	bool raw, fields;

	while (peek(s) >= 0) {
		int c = peek(s);

		if (c == '#') {
			py_skip_comment(s);
			continue;
		}
		if (py_at_string(s, &raw, &fields)) {
			strbuf_reset(&ignored);
			if (py_parse_quoted(s, raw, &ignored) < 0)
				return -EBADMSG;
			continue;
		}
		if (in_name(c)) {
			for (name = s->p; in_name(peek(s));)
				s->p++;
			name_end = s->p;
			continue;
		}
		if (!depth && name && s->p > begin && is_assignment(s))
			forget(settings, skipped, name, (size_t)(name_end - name), s->line);
		next(s);
		if (c != ' ' && c != '\t')
			name = NULL;
		if (one_of(c, "([{"))
			depth++;
		else if (one_of(c, ")]}") && depth)
			depth--;
		else if (c == '\\' && peek(s) == '\n')
			next(s);
		else if (c == '\n' && !depth)
			return 0;
	}
	return 0;
}

/* "NAME =" at the very beginning of a line; NULL for any other statement. */
static char *assigned_name(struct parser *s)
{
	const char *p = s->p;

	if (!(isalpha((unsigned char)*p) || *p == '_'))
		return NULL;
	while (p < s->end && (isalnum((unsigned char)*p) || *p == '_'))
		p++;
	size_t n = (size_t)(p - s->p);
	while (p < s->end && (*p == ' ' || *p == '\t'))
		p++;
	if (p + 1 >= s->end || *p != '=' || p[1] == '=')
		return NULL;
	char *name = xstrndup(s->p, n);
	s->p = p + 1;
	return name;
}

/* What changes a name otherwise: "NAME += ...", "NAME['key'] = ...", "NAME.update(...)", and an
 * assignment that is indented, and so depends on something. It is no more what was read. */
static char *changed_name(const struct parser *s)
{
	const char *p = s->p;

	while (p < s->end && (*p == ' ' || *p == '\t'))
		p++;
	bool indented = p > s->p;
	const char *from = p;
	while (p < s->end && in_name((unsigned char)*p))
		p++;
	size_t n = (size_t)(p - from);
	while (p < s->end && (*p == ' ' || *p == '\t'))
		p++;
	if (!n || p + 1 >= s->end)
		return NULL;
	const char *sign = p;
	while (p < s->end && one_of(*p, "+-*/%&|^@<>"))
		p++;
	bool changed = (p > sign && p < s->end && *p == '=') || *sign == '[' || *sign == '.' ||
		       (indented && *sign == '=' && sign[1] != '=');
	return changed ? xstrndup(from, n) : NULL;
}

static bool at_end_of_statement(struct parser *s)
{
	py_skip_blanks(s);
	return peek(s) < 0 || peek(s) == '\n' || peek(s) == '#' || peek(s) == ';';
}

int settings_py_read(const char *text, size_t n, struct value **settings, struct value **skipped,
		     struct strbuf *why)
{
	struct parser s = {.p = text, .end = text + n, .line = 1};

	s.names = *settings = value_new(VALUE_DICT);
	*skipped = value_new(VALUE_DICT);
	while (s.p < s.end) {
		int line = s.line;
		_cleanup_free_ char *changed = changed_name(&s);
		_cleanup_free_ char *name = assigned_name(&s);
		struct value *v = NULL;
		const char *from = s.p;

		if (changed) {
			value_unset(*settings, changed);
			value_set(*skipped, changed, value_int(line));
		}

		if (name && value_pairs(*settings) < VALUE_PAIRS_MAX) {
			s.nesting = 0;
			int r = py_parse_value(&s, 0, &v);

			if (r == 0 && at_end_of_statement(&s)) {
				value_set(*settings, name, v);
				value_unset(*skipped, name);
				if (peek(&s) == ';') {
					s.p++;
					py_skip_blanks(&s);
					continue;
				}
			} else {
				value_free(v);
				value_unset(*settings, name);
				value_set(*skipped, name, value_int(line));
				s.p = from;
				s.line = line;
			}
		}
		s.nesting = 0;
		if (skip_statement(&s, *settings, *skipped) < 0) {
			strbuf_addf(why, "line %d: a text without end", s.line);
			return -EBADMSG;
		}
	}
	return 0;
}

int settings_py_literal(const char *text, size_t n, struct value **ret)
{
	struct parser s = {.p = text, .end = text + n, .line = 1};
	struct value *v = NULL;
	int r = py_parse_value(&s, 0, &v);

	if (r == 0 && (!at_end_of_statement(&s) || peek(&s) >= 0))
		r = -EINVAL;
	if (r < 0)
		value_free(v);
	else
		*ret = v;
	return r;
}
