/* Literals of settings.py; see settings_py.h. */
#include "formats/settings_py.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/text.h"

struct parser {
	const char *p, *end;
	int line;
	int nesting; /* open brackets: newlines mean nothing inside */
	bool comma;  /* the brackets that were read last ended in one */
	int nodes;
};

/* Letters in front of a literal; f-strings are none. */
#define LITERAL "rRbBuU"

static bool one_of(int c, const char *set)
{
	return c > 0 && strchr(set, c) != NULL;
}

/* ---- blanks --------------------------------------------------------------------------------- */

static int peek(const struct parser *s)
{
	return s->p < s->end ? (unsigned char)*s->p : -1;
}

static int next(struct parser *s)
{
	int c = peek(s);

	if (c == '\n')
		s->line++;
	if (c >= 0)
		s->p++;
	return c;
}

static void skip_comment(struct parser *s)
{
	while (peek(s) >= 0 && peek(s) != '\n')
		s->p++;
}

/* Blanks, and inside brackets newlines and comments too. */
static void skip_blanks(struct parser *s)
{
	for (;;) {
		int c = peek(s);

		if (c == ' ' || c == '\t' || c == '\r' || c == '\f')
			s->p++;
		else if (c == '\\' && s->p + 1 < s->end && s->p[1] == '\n')
			s->p++, next(s);
		else if (s->nesting && c == '\n')
			next(s);
		else if (s->nesting && c == '#')
			skip_comment(s);
		else
			return;
	}
}

/* ---- texts ---------------------------------------------------------------------------------- */

static int hex_value(struct parser *s, int digits, unsigned *ret)
{
	unsigned v = 0;

	for (int i = 0; i < digits; i++) {
		int c = next(s);

		if (c < 0 || !isxdigit(c))
			return -EBADMSG;
		v = v << 4 | (unsigned)(isdigit(c) ? c - '0' : (c | 32) - 'a' + 10);
	}
	*ret = v;
	return 0;
}

static int add_escape(struct parser *s, struct strbuf *out)
{
	static const char letters[] = "abfnrtv\\'\"", means[] = "\a\b\f\n\r\t\v\\'\"";
	int c = next(s);
	unsigned v = 0;

	if (c < 0)
		return -EBADMSG;
	if (c == '\n')
		return 0;
	if (c == 'x' || c == 'u' || c == 'U') {
		int r = hex_value(s, c == 'x' ? 2 : c == 'u' ? 4 : 8, &v);

		if (r < 0 || v > 0x10ffff)
			return -EBADMSG;
		text_add_utf8(out, v);
		return 0;
	}
	if (c >= '0' && c <= '7') {
		v = (unsigned)(c - '0');
		for (int i = 0; i < 2 && peek(s) >= '0' && peek(s) <= '7'; i++)
			v = v * 8 + (unsigned)(next(s) - '0');
		text_add_utf8(out, v);
		return 0;
	}
	const char *e = one_of(c, letters) ? strchr(letters, c) : NULL;
	if (e) {
		strbuf_addch(out, means[e - letters]);
	} else {
		strbuf_addch(out, '\\');
		strbuf_addch(out, (char)c);
	}
	return 0;
}

static bool at_triple(const struct parser *s, char quote)
{
	return s->end - s->p >= 3 && s->p[0] == quote && s->p[1] == quote && s->p[2] == quote;
}

/* One string literal behind its prefix letters. */
static int parse_quoted(struct parser *s, bool raw, struct strbuf *out)
{
	char quote = (char)peek(s);
	bool triple = at_triple(s, quote);

	s->p += triple ? 3 : 1;
	for (;;) {
		int c = peek(s);

		if (c < 0 || (c == '\n' && !triple))
			return -EBADMSG;
		if (c == quote && (!triple || at_triple(s, quote))) {
			s->p += triple ? 3 : 1;
			return 0;
		}
		next(s);
		if (c != '\\' || raw) {
			strbuf_addch(out, (char)c);
			if (raw && c == '\\' && peek(s) >= 0)
				strbuf_addch(out, (char)next(s));
			continue;
		}
		int r = add_escape(s, out);
		if (r < 0)
			return r;
	}
}

/* Is there a string literal here? Its prefix letters, of those given, are passed over. */
static bool at_string(struct parser *s, const char *letters, bool *ret_raw)
{
	const char *p = s->p;

	*ret_raw = false;
	while (p < s->end && one_of(*p, letters) && p - s->p < 2) {
		*ret_raw |= *p == 'r' || *p == 'R';
		p++;
	}
	if (p >= s->end || (*p != '\'' && *p != '"'))
		return false;
	s->p = p;
	return true;
}

/* Literals side by side are one text. */
static int parse_string(struct parser *s, bool raw, struct value **ret)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	do {
		int r = parse_quoted(s, raw, &out);

		if (r < 0)
			return r;
		skip_blanks(s);
	} while (at_string(s, LITERAL, &raw));
	*ret = value_strn(out.buf, out.len);
	return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

static int parse_value(struct parser *s, int depth, struct value **ret);

static int parse_number(struct parser *s, struct value **ret)
{
	char text[64], *end;
	size_t n = 0;

	while (s->p < s->end && n + 1 < sizeof(text) &&
	       (isalnum((unsigned char)*s->p) || *s->p == '.' || *s->p == '_' ||
		(one_of(*s->p, "+-") && (n == 0 || one_of(text[n - 1], "eE"))))) {
		if (*s->p != '_')
			text[n++] = *s->p;
		s->p++;
	}
	text[n] = 0;
	errno = 0;
	long long i = strtoll(text, &end, 0);
	if (n && !*end && !errno) {
		*ret = value_int(i);
		return 0;
	}
	double d = strtod(text, &end);
	if (!n || *end)
		return -EINVAL;
	*ret = value_new(VALUE_REAL);
	(*ret)->real = d;
	return 0;
}

static int parse_name(struct parser *s, struct value **ret)
{
	static const char *const names[] = {"True", "False", "None"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t n = strlen(names[i]);

		if ((size_t)(s->end - s->p) >= n && !memcmp(s->p, names[i], n) &&
		    (s->p + n == s->end || !(isalnum((unsigned char)s->p[n]) || s->p[n] == '_'))) {
			s->p += n;
			*ret = i < 2 ? value_bool(i == 0) : value_new(VALUE_NONE);
			return 0;
		}
	}
	return -EINVAL;
}

/* The inside of brackets, up to and with the closing one. */
static int parse_items(struct parser *s, int depth, struct value *into, char close)
{
	bool comma = true;

	s->nesting++;
	for (;;) {
		_cleanup_value_ struct value *key = NULL, *v = NULL;

		skip_blanks(s);
		if (peek(s) == close) {
			s->p++;
			s->nesting--;
			s->comma = comma;
			return 0;
		}
		if (!comma)
			return -EINVAL;
		int r = parse_value(s, depth, &v);
		if (r < 0)
			return r;
		skip_blanks(s);
		if (into->kind == VALUE_DICT) {
			if (next(s) != ':')
				return -EINVAL;
			key = v;
			v = NULL;
			if ((r = parse_value(s, depth, &v)) < 0)
				return r;
			skip_blanks(s);
			if (value_pairs(into) >= VALUE_PAIRS_MAX || key->kind >= VALUE_LIST)
				return -E2BIG;
			value_set_take(into, key, v);
			key = NULL;
		} else {
			value_append(into, v);
		}
		v = NULL;
		comma = peek(s) == ',';
		if (comma)
			s->p++;
	}
}

static int parse_brackets(struct parser *s, int depth, struct value **ret)
{
	char open = (char)next(s);
	_cleanup_value_ struct value *v = value_new(open == '{' ? VALUE_DICT : VALUE_LIST);

	int r = parse_items(s, depth, v, open == '{' ? '}' : open == '[' ? ']' : ')');
	if (r < 0)
		return r;
	/* (x) is x */
	if (open == '(' && v->list.count == 1 && !s->comma)
		*ret = value_ref(v->list.items[0]);
	else
		*ret = value_ref(v);
	return 0;
}

static int parse_value(struct parser *s, int depth, struct value **ret)
{
	bool raw;

	if (depth >= VALUE_DEPTH_MAX || ++s->nodes > VALUE_NODES_MAX)
		return -E2BIG;
	skip_blanks(s);
	int c = peek(s);
	if (at_string(s, LITERAL, &raw))
		return parse_string(s, raw, ret);
	if (c == '[' || c == '(' || c == '{')
		return parse_brackets(s, depth + 1, ret);
	if ((c >= '0' && c <= '9') || c == '-' || c == '.')
		return parse_number(s, ret);
	return parse_name(s, ret);
}

/* ---- statements ----------------------------------------------------------------------------- */

/* To the end of the logical line, over brackets and strings whatever is in them. */
static int skip_statement(struct parser *s)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	int depth = 0;
	bool raw;

	while (peek(s) >= 0) {
		int c = peek(s);

		if (c == '#') {
			skip_comment(s);
			continue;
		}
		if (at_string(s, LITERAL "fF", &raw)) {
			strbuf_reset(&ignored);
			if (parse_quoted(s, raw, &ignored) < 0)
				return -EBADMSG;
			continue;
		}
		next(s);
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

/* "NAME +=" and the like: what the name means is not a literal any more. */
static char *changed_name(const struct parser *s)
{
	const char *p = s->p;

	while (p < s->end && (isalnum((unsigned char)*p) || *p == '_'))
		p++;
	size_t n = (size_t)(p - s->p);
	while (p < s->end && (*p == ' ' || *p == '\t'))
		p++;
	const char *sign = p;
	while (p < s->end && one_of(*p, "+-*/%&|^@<>"))
		p++;
	if (!n || p == sign || p >= s->end || *p != '=')
		return NULL;
	return xstrndup(s->p, n);
}

static bool at_end_of_statement(struct parser *s)
{
	skip_blanks(s);
	return peek(s) < 0 || peek(s) == '\n' || peek(s) == '#' || peek(s) == ';';
}

int settings_py_read(const char *text, size_t n, struct value **settings, struct value **skipped,
		     struct strbuf *why)
{
	struct parser s = {.p = text, .end = text + n, .line = 1};

	*settings = value_new(VALUE_DICT);
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
			int r = parse_value(&s, 0, &v);

			if (r == 0 && at_end_of_statement(&s)) {
				value_set(*settings, name, v);
				value_unset(*skipped, name);
				if (peek(&s) == ';') {
					s.p++;
					skip_blanks(&s);
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
		if (skip_statement(&s) < 0) {
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
	int r = parse_value(&s, 0, &v);

	if (r == 0 && (!at_end_of_statement(&s) || peek(&s) >= 0))
		r = -EINVAL;
	if (r < 0)
		value_free(v);
	else
		*ret = v;
	return r;
}
