/* Parses Python literals and expressions; see python_literal.h. */
#include "core/text/python_literal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/text/python_expr.h"
#include "core/text/text.h"

/* Prefix letters of strings; f: with fields. */
#define PREFIXES "rRbBuUfF"

/* ---- blanks --------------------------------------------------------------------------------- */

void py_skip_comment(struct py_parser *s)
{
	while (peek(s) >= 0 && peek(s) != '\n')
		s->p++;
}

/* Skips blanks, and in brackets newlines and comments, too. */
void py_skip_blanks(struct py_parser *s)
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
			py_skip_comment(s);
		else
			return;
	}
}

/* ---- texts ---------------------------------------------------------------------------------- */

static int hex_value(struct py_parser *s, int digits, unsigned *ret)
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

static int add_escape(struct py_parser *s, struct strbuf *out)
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

static bool at_triple(const struct py_parser *s, char quote)
{
	return s->end - s->p >= 3 && s->p[0] == quote && s->p[1] == quote && s->p[2] == quote;
}

/* Parses a string literal after its prefix letters. */
int py_parse_quoted(struct py_parser *s, bool raw, struct strbuf *out)
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

/* Is there a string? Skips its prefix letters. */
bool py_at_string(struct py_parser *s, bool *ret_raw, bool *ret_fields)
{
	const char *p = s->p;

	*ret_raw = *ret_fields = false;
	while (p < s->end && one_of(*p, PREFIXES) && p - s->p < 2) {
		*ret_raw |= *p == 'r' || *p == 'R';
		*ret_fields |= *p == 'f' || *p == 'F';
		p++;
	}
	if (p >= s->end || (*p != '\'' && *p != '"'))
		return false;
	s->p = p;
	return true;
}

/* Expands the fields of an f-string: expressions without conversion or format. */
static int expand_fields(struct py_parser *s, int depth, const struct strbuf *text,
			 struct strbuf *out)
{
	const char *p = text->buf, *end = p + text->len;

	while (p < end) {
		if ((*p == '{' || *p == '}') && p + 1 < end && p[1] == *p) {
			strbuf_addch(out, *p);
			p += 2;
			continue;
		}
		if (*p != '{') {
			strbuf_addch(out, *p++);
			continue;
		}
		const char *close = memchr(p, '}', (size_t)(end - p));
		if (!close)
			return -EINVAL;
		struct py_parser inner = {.p = p + 1,
					  .end = close,
					  .nesting = 1,
					  .nodes = s->nodes,
					  .names = s->names};
		_cleanup_value_ struct value *v = NULL;
		int r = py_parse_value(&inner, depth + 1, &v);

		s->nodes = inner.nodes;
		if (r < 0)
			return r;
		py_skip_blanks(&inner);
		if (inner.p != inner.end)
			return -EINVAL;
		value_to_python(v, out, false);
		p = close + 1;
	}
	return 0;
}

/* Adjacent strings are joined. */
static int parse_string(struct py_parser *s, int depth, bool raw, bool fields, struct value **ret)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	do {
		_cleanup_strbuf_ struct strbuf piece = STRBUF_INIT;
		int r = py_parse_quoted(s, raw, &piece);

		if (r == 0 && fields)
			r = expand_fields(s, depth, &piece, &out);
		else if (r == 0)
			strbuf_add(&out, piece.buf, piece.len);
		if (r < 0)
			return r;
		py_skip_blanks(s);
	} while (py_at_string(s, &raw, &fields));
	*ret = value_strn(out.buf, out.len);
	return 0;
}

/* ---- values --------------------------------------------------------------------------------- */

static int parse_number(struct py_parser *s, struct value **ret)
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

/* "os.environ.get": takes letters and dots. */
static size_t take_name(struct py_parser *s, char *name, size_t size)
{
	size_t n = 0;

	while (s->p < s->end && n + 1 < size &&
	       (in_name(peek(s)) || (n && *s->p == '.' && s->p + 1 < s->end && in_name(s->p[1]))))
		name[n++] = *s->p++;
	name[n] = 0;
	return n;
}

/* Parses the arguments of a call with the closing bracket. */
static int parse_arguments(struct py_parser *s, int depth, struct value *args, struct value *named)
{
	s->nesting++;
	s->p++;
	for (;;) {
		_cleanup_value_ struct value *v = NULL;
		char name[64] = "";

		py_skip_blanks(s);
		if (peek(s) == ')') {
			s->p++;
			s->nesting--;
			return 0;
		}
		const char *before = s->p;
		size_t n = take_name(s, name, sizeof(name));
		py_skip_blanks(s);
		bool keyword = n && peek(s) == '=' && s->p + 1 < s->end && s->p[1] != '=';
		s->p = keyword ? s->p + 1 : before;
		int r = py_parse_value(s, depth, &v);
		if (r < 0)
			return r;
		if (keyword)
			value_set(named, name, value_ref(v));
		else
			value_append(args, value_ref(v));
		py_skip_blanks(s);
		if (peek(s) == ',')
			s->p++;
		else if (peek(s) != ')')
			return -EINVAL;
	}
}

/* Parses a call of a known function, or of format() of a string. */
static int parse_call(struct py_parser *s, int depth, const char *function,
		      const struct value *text, struct value **ret)
{
	_cleanup_value_ struct value *args = value_new(VALUE_LIST), *named = value_new(VALUE_DICT);
	int r = parse_arguments(s, depth + 1, args, named);

	if (r < 0)
		return r;
	return text ? py_format(text, args, named, ret) : py_call(function, args, named, ret);
}

static int parse_environment(struct py_parser *s, int depth, struct value **ret)
{
	_cleanup_value_ struct value *list = value_new(VALUE_LIST), *name = NULL;

	s->p++;
	s->nesting++;
	int r = py_parse_value(s, depth + 1, &name);
	py_skip_blanks(s);
	s->nesting--;
	if (r < 0 || next(s) != ']' || name->kind != VALUE_STR || !getenv(name->str.data))
		return -EINVAL;
	*ret = value_str(getenv(name->str.data));
	return 0;
}

static int parse_name(struct py_parser *s, int depth, struct value **ret)
{
	char name[128];
	size_t n = take_name(s, name, sizeof(name));

	if (!n)
		return -EINVAL;
	if (!strcmp(name, "True") || !strcmp(name, "False"))
		*ret = value_bool(name[0] == 'T');
	else if (!strcmp(name, "None"))
		*ret = value_new(VALUE_NONE);
	else if (peek(s) == '(' && py_is_function(name))
		return parse_call(s, depth, name, NULL, ret);
	else if (peek(s) == '[' && (!strcmp(name, "os.environ") || !strcmp(name, "environ")))
		return parse_environment(s, depth, ret);
	else if (s->names && n > 7 && str_suffix(name, ".format")) {
		s->p -= 7; /* belongs to the named string */
		name[n - 7] = 0;
	}
	if (*ret)
		return 0;
	struct value *known = s->names ? value_get(s->names, name) : NULL;
	if (!known)
		return -EINVAL;
	*ret = value_ref(known);
	return 0;
}

/* Parses the inside of brackets with the closing one. */
static int parse_items(struct py_parser *s, int depth, struct value *into, char close)
{
	bool comma = true;

	s->nesting++;
	for (;;) {
		_cleanup_value_ struct value *key = NULL, *v = NULL;

		py_skip_blanks(s);
		if (peek(s) == close) {
			s->p++;
			s->nesting--;
			s->comma = comma;
			return 0;
		}
		if (!comma)
			return -EINVAL;
		int r = py_parse_value(s, depth, &v);
		if (r < 0)
			return r;
		py_skip_blanks(s);
		if (into->kind == VALUE_DICT) {
			if (next(s) != ':')
				return -EINVAL;
			key = v;
			v = NULL;
			if ((r = py_parse_value(s, depth, &v)) < 0)
				return r;
			py_skip_blanks(s);
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

static int parse_brackets(struct py_parser *s, int depth, struct value **ret)
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

static int parse_atom(struct py_parser *s, int depth, struct value **ret)
{
	bool raw, fields;

	if (depth >= VALUE_DEPTH_MAX || ++s->nodes > VALUE_NODES_MAX)
		return -E2BIG;
	py_skip_blanks(s);
	int c = peek(s);
	if (py_at_string(s, &raw, &fields))
		return parse_string(s, depth, raw, fields, ret);
	if (c == '[' || c == '(' || c == '{')
		return parse_brackets(s, depth + 1, ret);
	if ((c >= '0' && c <= '9') || c == '-' || c == '.')
		return parse_number(s, ret);
	return parse_name(s, depth, ret);
}

static bool at_text(const struct py_parser *s, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(s->end - s->p) >= n && !memcmp(s->p, text, n);
}

/* An atom with suffixes: .format(...), [...] */
static int parse_term(struct py_parser *s, int depth, struct value **ret)
{
	_cleanup_value_ struct value *v = NULL;
	int r = parse_atom(s, depth, &v);

	while (r == 0) {
		_cleanup_value_ struct value *more = NULL, *index = NULL;

		py_skip_blanks(s);
		if (at_text(s, ".format(")) {
			s->p += strlen(".format");
			r = parse_call(s, depth, NULL, v, &more);
		} else if (peek(s) == '[') {
			s->p++;
			s->nesting++;
			r = py_parse_value(s, depth + 1, &index);
			py_skip_blanks(s);
			s->nesting--;
			if (r == 0)
				r = next(s) == ']' ? py_index(v, index, &more) : -EINVAL;
		} else {
			*ret = value_ref(v);
			return 0;
		}
		if (r == 0) {
			value_free(v);
			v = value_ref(more);
		}
	}
	return r;
}

/* a + b + c */
static int parse_sum(struct py_parser *s, int depth, struct value **ret)
{
	_cleanup_value_ struct value *v = NULL;
	int r = parse_term(s, depth, &v);

	while (r == 0) {
		_cleanup_value_ struct value *right = NULL, *both = NULL;

		if (peek(s) != '+' || at_text(s, "+=")) {
			*ret = value_ref(v);
			return 0;
		}
		s->p++;
		r = parse_term(s, depth + 1, &right);
		if (r == 0)
			r = py_add(v, right, &both);
		if (r == 0) {
			value_free(v);
			v = value_ref(both);
		}
	}
	return r;
}

/* a or b or c; each may be a sum. */
int py_parse_value(struct py_parser *s, int depth, struct value **ret)
{
	_cleanup_value_ struct value *v = NULL;
	int r = parse_sum(s, depth, &v);

	while (r == 0) {
		_cleanup_value_ struct value *right = NULL;

		if (!at_text(s, "or") || (s->p + 2 < s->end && in_name((unsigned char)s->p[2]))) {
			*ret = value_ref(v);
			return 0;
		}
		s->p += 2;
		r = parse_sum(s, depth + 1, &right);
		if (r == 0 && !py_true(v)) {
			value_free(v);
			v = value_ref(right);
		}
	}
	return r;
}

int py_literal(const char *text, size_t n, struct value **ret)
{
	struct py_parser s = {.p = text, .end = text + n, .line = 1};
	struct value *v = NULL;
	int r = py_parse_value(&s, 0, &v);

	if (r == 0) {
		py_skip_blanks(&s);
		r = peek(&s) >= 0 ? -EINVAL : 0;
	}
	if (r < 0)
		value_free(v);
	else
		*ret = v;
	return r;
}
