/* Statements of settings.py; see settings_py.h. */
#include "compat/epmt/settings_py.h"

#include <errno.h>

#include "core/text/python_literal.h"

#define TARGETS_MAX 16

/* ---- names whose value is no longer known --------------------------------------------------- */

/* The name that decides where everything goes: whatever may set it unseen is a reason to stop. */
static const char decisive[] = "db_params";

static void forget_text(struct value *settings, struct value *skipped, const char *name, int line)
{
	const struct value *v = value_get(settings, name);

	/* two names of one dict change together */
	for (size_t i = value_pairs(settings); v && v->kind >= VALUE_LIST && i-- > 0;) {
		_cleanup_free_ char *other = xstrdup(value_key(settings, i)->str.data);

		if (value_at(settings, i) != v || !strcmp(other, name))
			continue;
		value_unset(settings, other);
		value_set(skipped, other, value_int(line));
	}
	value_unset(settings, name);
	value_set(skipped, name, value_int(line));
}

static void forget(struct value *settings, struct value *skipped, const char *name, size_t n,
		   int line)
{
	_cleanup_free_ char *text = xstrndup(name, n);

	forget_text(settings, skipped, text, line);
}

/* Anything may have been set. */
static void forget_all(struct value *settings, struct value *skipped, int line)
{
	forget_text(settings, skipped, decisive, line);
	value_unset(settings, SETTINGS_ANY);
	if (!value_get(skipped, SETTINGS_ANY))
		value_set(skipped, SETTINGS_ANY, value_int(line));
}

/* ---- statements that are not read ----------------------------------------------------------- */

static bool is_word(const char *name, size_t n, const char *word)
{
	return strlen(word) == n && !memcmp(name, word, n);
}

/* Words by which a module's names are set without being written down. */
static bool sets_unseen(const char *name, size_t n)
{
	static const char *const words[] = {
		"__builtins__", "__dict__", "__import__",    "__setattr__", "builtins",
		"compile",      "delattr",  "eval",          "exec",        "execfile",
		"exec_module",  "globals",  "import_module", "locals",      "modules",
		"run_path",     "runpy",    "setattr",       "vars"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (is_word(name, n, words[i]))
			return true;
	return false;
}

/* Modules of which all names may be had, and none of them is a setting. */
static bool is_plain_module(const char *p, size_t n)
{
	static const char *const modules[] = {"datetime", "getpass", "logging",  "math",
					      "os",       "os.path", "pathlib",  "platform",
					      "re",       "socket",  "tempfile", "typing"};

	for (size_t i = 0; i < ARRAY_SIZE(modules); i++)
		if (is_word(p, n, modules[i]))
			return true;
	return false;
}

/* EPMT's own defaults, which hold before the file is read. */
static bool is_defaults(const char *p, size_t n)
{
	static const char name[] = "epmt_default_settings";

	return n >= strlen(name) && !memcmp(p + n - strlen(name), name, strlen(name));
}

static void blanks(const struct py_parser *s, const char **p)
{
	while (*p < s->end && (**p == ' ' || **p == '\t'))
		(*p)++;
}

/* What a statement has said so far. */
struct seen {
	const char *name, *name_end; /* the last name, while nothing but blanks came behind it */
	const char *module, *module_end;
	bool from, imports;
};

static void see_name(struct py_parser *s, struct seen *t, struct value *settings,
		     struct value *skipped)
{
	const char *from = s->p;

	while (in_name(peek(s)))
		s->p++;
	size_t n = (size_t)(s->p - from);
	t->name = from;
	t->name_end = s->p;
	if (is_word(from, n, decisive))
		forget_text(settings, skipped, decisive, s->line);
	else if (sets_unseen(from, n))
		forget_all(settings, skipped, s->line);
	else if (is_word(from, n, "from")) {
		t->from = true;
		blanks(s, &s->p);
		t->module = t->module_end = s->p; /* with the dots of a neighbour */
	} else if (t->from && is_word(from, n, "import")) {
		t->imports = true;
		t->from = false;
	} else if (t->from) {
		t->module_end = s->p;
	} else {
		t->imports = false;
	}
}

/* "from MODULE import *" */
static void see_star(const struct py_parser *s, struct seen *t, struct value *settings,
		     struct value *skipped)
{
	size_t n = t->module ? (size_t)(t->module_end - t->module) : 0;
	bool known = n && is_plain_module(t->module, n);

	if (t->imports && !known &&
	    !(n && is_defaults(t->module, n) && !value_get(settings, decisive)))
		forget_all(settings, skipped, s->line);
	t->imports = false;
}

/* A text's fields are expressions. */
static void see_fields(const struct strbuf *text, int line, struct value *settings,
		       struct value *skipped)
{
	struct py_parser inner = {.p = text->buf, .end = text->buf + text->len, .line = line};
	struct seen t = {.name = NULL};

	while (peek(&inner) >= 0) {
		if (in_name(peek(&inner)))
			see_name(&inner, &t, settings, skipped);
		else
			inner.p++;
	}
}

static bool is_assignment(const struct py_parser *s)
{
	return *s->p == '=' && !(s->p + 1 < s->end && s->p[1] == '=') &&
	       !one_of((unsigned char)s->p[-1], "=!<>+-*/%&|^@:");
}

static int skip_text(struct py_parser *s, bool raw, bool fields, struct value *settings,
		     struct value *skipped)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int line = s->line;

	if (py_parse_quoted(s, raw, &text) < 0)
		return -EBADMSG;
	if (fields)
		see_fields(&text, line, settings, skipped);
	return 0;
}

/* To the end of the logical line, over brackets and strings whatever is in them. A name that is
 * assigned in the middle of it ("if x: NAME = 1", "a = NAME = 1") is not what was read. */
static int skip_statement(struct py_parser *s, struct value *settings, struct value *skipped)
{
	const char *begin = s->p;
	struct seen t = {.name = NULL};
	int depth = 0;
	bool raw, fields;

	while (peek(s) >= 0) {
		int c = peek(s);

		if (c == '#') {
			py_skip_comment(s);
			continue;
		}
		if (py_at_string(s, &raw, &fields)) {
			if (skip_text(s, raw, fields, settings, skipped) < 0)
				return -EBADMSG;
			continue;
		}
		if (in_name(c)) {
			see_name(s, &t, settings, skipped);
			continue;
		}
		if (c == '*')
			see_star(s, &t, settings, skipped);
		if (!depth && t.name && s->p > begin && is_assignment(s))
			forget(settings, skipped, t.name, (size_t)(t.name_end - t.name), s->line);
		next(s);
		if (c != ' ' && c != '\t')
			t.name = NULL;
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

/* ---- assignments ---------------------------------------------------------------------------- */

struct targets {
	char *names[TARGETS_MAX];
	size_t count;
	bool several; /* "a, b =", which take a value apart */
};

static void targets_free(struct targets *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->names[i]);
}

/* ": dict[str, str]" in front of the sign; *p stays where it is when there is none. */
static void skip_annotation(const struct py_parser *s, const char **p)
{
	struct py_parser inner = {.p = *p + 1, .end = s->end};
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	int depth = 0;
	bool raw, fields;

	while (peek(&inner) >= 0 && !one_of(peek(&inner), "\n#;:")) {
		if (py_at_string(&inner, &raw, &fields)) {
			if (py_parse_quoted(&inner, raw, &ignored) < 0)
				return;
			continue;
		}
		if (!depth && *inner.p == '=') {
			*p = inner.p;
			return;
		}
		if (in_name(peek(&inner))) {
			while (in_name(peek(&inner)))
				inner.p++;
			continue;
		}
		depth += one_of(*inner.p, "([{") ? 1 : one_of(*inner.p, ")]}") ? -1 : 0;
		inner.p++;
	}
}

static bool is_block_word(const char *name)
{
	return !strcmp(name, "else") || !strcmp(name, "try") || !strcmp(name, "finally");
}

/* "NAME =", "NAME: TYPE =", "NAME, NAME =", "(NAME, NAME) =" at the very beginning of a line. Of
 * any other statement there are none, and nothing is passed over. */
static void take_targets(struct py_parser *s, struct targets *ret)
{
	const char *p = s->p;
	char close = (char)(*p == '(' ? ')' : *p == '[' ? ']' : 0);
	bool more = true, good = true;

	*ret = (struct targets){.several = close != 0};
	for (p += close != 0; more && good;) {
		if (ret->several)
			blanks(s, &p);
		const char *from = p;
		while (p < s->end && in_name((unsigned char)*p))
			p++;
		good = p > from && !isdigit((unsigned char)*from) && ret->count < TARGETS_MAX;
		if (!good)
			break;
		ret->names[ret->count++] = xstrndup(from, (size_t)(p - from));
		blanks(s, &p);
		more = p < s->end && *p == ',';
		p += more;
		ret->several |= more;
		blanks(s, &p);
		if (more && p < s->end && (*p == '=' || *p == close))
			break;
	}
	if (good && close) {
		good = p < s->end && *p == close;
		p += good;
		blanks(s, &p);
	}
	if (good && !ret->several && p < s->end && *p == ':' && !is_block_word(ret->names[0]))
		skip_annotation(s, &p);
	if (good && p + 1 < s->end && *p == '=' && p[1] != '=') {
		s->p = p + 1;
		return;
	}
	targets_free(ret);
	ret->count = 0;
}

/* What changes a name otherwise: "NAME += ...", "NAME['key'] = ...", "NAME.update(...)", and an
 * assignment that is indented, and so depends on something. It is no more what was read. */
static char *changed_name(const struct py_parser *s)
{
	const char *p = s->p;

	blanks(s, &p);
	bool indented = p > s->p;
	const char *from = p;
	while (p < s->end && in_name((unsigned char)*p))
		p++;
	size_t n = (size_t)(p - from);
	blanks(s, &p);
	if (!n || p + 1 >= s->end)
		return NULL;
	const char *sign = p;
	while (p < s->end && one_of(*p, "+-*/%&|^@<>"))
		p++;
	bool changed = (p > sign && p < s->end && *p == '=') || *sign == '[' || *sign == '.' ||
		       (indented && *sign == '=' && sign[1] != '=');
	return changed ? xstrndup(from, n) : NULL;
}

static bool at_end_of_statement(struct py_parser *s)
{
	py_skip_blanks(s);
	return peek(s) < 0 || peek(s) == '\n' || peek(s) == '#' || peek(s) == ';';
}

/* One value, or for several names as many as there are: "1, 2" or one that is a list. */
static int take_values(struct py_parser *s, const struct targets *t, struct value **ret)
{
	_cleanup_value_ struct value *list = value_new(VALUE_LIST);
	bool comma = false;

	for (;;) {
		struct value *v = NULL;
		int r = py_parse_value(s, 0, &v);

		if (r < 0) {
			value_free(v);
			return r;
		}
		value_append(list, v);
		if (at_end_of_statement(s))
			break;
		comma = t->several && peek(s) == ',';
		if (!comma || list->list.count > TARGETS_MAX)
			return -EINVAL;
		s->p++;
		if (at_end_of_statement(s))
			break;
	}
	bool one = list->list.count == 1 && !comma;
	struct value *found = one ? list->list.items[0] : list;
	if (t->several && (found->kind != VALUE_LIST || found->list.count != t->count))
		return -EINVAL;
	*ret = value_ref(found);
	return 0;
}

/* True when all of the statement was understood, up to its end. */
static bool assign(struct py_parser *s, const struct targets *t, struct value *settings,
		   struct value *skipped)
{
	_cleanup_value_ struct value *v = NULL;
	const char *from = s->p;
	int line = s->line;

	s->nesting = 0;
	int r = take_values(s, t, &v);
	for (size_t i = 0; i < t->count; i++) {
		value_unset(r == 0 ? skipped : settings, t->names[i]);
		if (r == 0)
			value_set(settings, t->names[i],
				  value_ref(t->several ? v->list.items[i] : v));
		else
			value_set(skipped, t->names[i], value_int(line));
	}
	if (r < 0) {
		s->p = from;
		s->line = line;
	}
	return r == 0;
}

int settings_py_read(const char *text, size_t n, struct value **settings, struct value **skipped,
		     struct strbuf *why)
{
	struct py_parser s = {.p = text, .end = text + n, .line = 1};

	s.names = *settings = value_new(VALUE_DICT);
	*skipped = value_new(VALUE_DICT);
	while (s.p < s.end) {
		int line = s.line;
		_cleanup_free_ char *changed = changed_name(&s);
		struct targets t;
		bool understood = false;

		if (changed)
			forget_text(*settings, *skipped, changed, line);
		take_targets(&s, &t);
		if (t.count && value_pairs(*settings) + t.count < VALUE_PAIRS_MAX)
			understood = assign(&s, &t, *settings, *skipped);
		else if (t.count)
			forget_all(*settings, *skipped, line);
		targets_free(&t);
		if (understood && peek(&s) == ';') {
			s.p++;
			py_skip_blanks(&s);
			continue;
		}
		s.nesting = 0;
		if (skip_statement(&s, *settings, *skipped) < 0) {
			strbuf_addf(why, "line %d: a string is not terminated", s.line);
			return -EBADMSG;
		}
	}
	return 0;
}
