/*
 * Reads the filter language by recursive descent:
 *
 *   any        = all { "or" all }
 *   all        = one { "and" one }
 *   one        = "not" one | "(" any ")" | RELATION "(" any ")" | KEY [ OPERATOR VALUE { "," VALUE
 * } ]
 *
 * Depth, length and numbers of tests and values are bounded. Every error names the column.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/text/text.h"
#include "store/filter/filter_internal.h"

enum token { END, WORD, QUOTED, OPERATOR, COMMA, OPEN, CLOSE };

struct parser {
	struct filter *f;
	const char *text;
	const char *at; /* begin of the token */
	const char *next;
	enum token token;
	enum filter_op op;
	struct strbuf word; /* the token's text, without quotes */
	unsigned depth;
	unsigned in_process; /* levels of process(...) */
	size_t tests, values;
	struct strbuf *why;
};

/* ---- errors --------------------------------------------------------------------------------- */

/* Puts the column before a message, which tells what is wrong at a place. */
static int fail_at(struct parser *p, const char *place, const char *fmt, ...) PL_PRINTF(3, 4);
static int fail_at(struct parser *p, const char *place, const char *fmt, ...)
{
	size_t column = 1;
	va_list ap;

	for (const char *c = p->text; c < place; c++)
		column += ((unsigned char)*c & 0xc0) != 0x80;
	strbuf_addf(p->why, "col %zu: ", column);
	va_start(ap, fmt);
	strbuf_vaddf(p->why, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* "'word'", or what ends the text. */
static const char *shown(const struct parser *p, struct strbuf *out)
{
	if (p->token == END)
		return "the end";
	strbuf_addch(out, '\'');
	if (p->token == WORD || p->token == QUOTED)
		text_add_printable(out, p->word.buf, strnlen(p->word.buf, FILTER_SHOWN_MAX));
	else
		text_add_printable(out, p->at, (size_t)(p->next - p->at));
	strbuf_addch(out, '\'');
	return out->buf;
}

static int expected(struct parser *p, const char *what)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;

	return fail_at(p, p->at, "expected %s, not %s", what, shown(p, &got));
}

/* ---- tokens --------------------------------------------------------------------------------- */

#define BLANKS " \t\r\n"
#define SPECIAL BLANKS "()=<>!~,'\""

static const struct {
	const char text[3];
	enum filter_op op;
} operators[] = {
	{"!=", FILTER_IS_NOT},   {"!~", FILTER_NOT_LIKE}, {"<=", FILTER_AT_MOST},
	{">=", FILTER_AT_LEAST}, {"==", FILTER_IS},       {"<>", FILTER_IS_NOT},
	{"=", FILTER_IS},        {"~", FILTER_LIKE},      {"<", FILTER_BELOW},
	{">", FILTER_ABOVE},
};

/* 'it''s': a doubled quote stands for itself. */
static int read_quoted(struct parser *p)
{
	char quote = *p->at;
	const char *c = p->at + 1;

	for (; *c && !(c[0] == quote && c[1] != quote); c++) {
		c += *c == quote;
		strbuf_addch(&p->word, *c);
	}
	if (!*c)
		return fail_at(p, p->at, "this quote does not end; add a %c", quote);
	p->token = QUOTED;
	p->next = c + 1;
	return 0;
}

static int read_operator(struct parser *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(operators); i++)
		if (str_prefix(p->at, operators[i].text)) {
			p->token = OPERATOR;
			p->op = operators[i].op;
			p->next = p->at + strlen(operators[i].text);
			return 0;
		}
	return fail_at(p, p->at, "unexpected '%c'; operators are = != ~ !~ < <= > >=", *p->at);
}

static int next(struct parser *p)
{
	p->at = p->next + strspn(p->next, BLANKS);
	p->next = p->at + 1;
	strbuf_reset(&p->word);
	switch (*p->at) {
	case 0:
		p->next = p->at;
		p->token = END;
		return 0;
	case '(':
		p->token = OPEN;
		return 0;
	case ')':
		p->token = CLOSE;
		return 0;
	case ',':
		p->token = COMMA;
		return 0;
	case '\'':
	case '"':
		return read_quoted(p);
	case '=':
	case '<':
	case '>':
	case '!':
	case '~':
		return read_operator(p);
	default:
		p->token = WORD;
		p->next = p->at + strcspn(p->at, SPECIAL);
		strbuf_add(&p->word, p->at, (size_t)(p->next - p->at));
		return 0;
	}
}

static bool is_word(const struct parser *p, const char *word)
{
	return p->token == WORD && !strcasecmp(p->word.buf, word);
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* Adds the column to an error of a test. */
static int fail_test(struct parser *p, const char *place, const struct strbuf *reason)
{
	return fail_at(p, place, "%s", reason->buf);
}

static int parse_values(struct parser *p, struct filter_node *test)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	int r;

	do {
		r = next(p);
		if (r < 0)
			return r;
		if (p->token != WORD && p->token != QUOTED)
			return expected(p, "a value");
		if (++p->values > FILTER_VALUES_MAX)
			return fail_at(p, p->at, "more than %d values", FILTER_VALUES_MAX);
		if (filter_test_value(test, p->word.buf, p->f->now_us, &reason) < 0)
			return fail_test(p, p->at, &reason);
		r = next(p);
	} while (r == 0 && p->token == COMMA);
	return r;
}

/* "2026-01-31 08:00" without quotes is the usual mistake behind a value. */
static int check_behind(struct parser *p)
{
	if (p->token == END || p->token == CLOSE || is_word(p, "and") || is_word(p, "or"))
		return 0;
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;
	return fail_at(p, p->at,
		       "expected and, or, or the end before %s; quote a value with blanks: '...'",
		       shown(p, &got));
}

static int parse_test(struct parser *p, enum filter_scope scope, struct filter_node *to)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT, word = STRBUF_INIT, name = STRBUF_INIT;
	const char *place = p->at;
	bool named = false;
	int r;

	strbuf_add(&word, p->word.buf, p->word.len);
	bool open_name = word.buf[word.len - 1] == '.' && (*p->next == '\'' || *p->next == '"');
	r = next(p);
	if (r == 0 && open_name) { /* tag.'a name' */
		strbuf_add(&name, p->word.buf, p->word.len);
		named = true;
		r = next(p);
	}
	if (r < 0)
		return r;
	struct filter_node *test = NULL;
	_cleanup_node_ struct filter_node *top =
		filter_test_new(scope, word.buf, named ? name.buf : NULL, &test, &reason);
	if (!top)
		return fail_test(p, place, &reason);
	if (++p->tests > FILTER_TESTS_MAX)
		return fail_at(p, place, "more than %d conditions", FILTER_TESTS_MAX);
	bool compares = p->token == OPERATOR;
	const char *operator_at = p->at;
	if (filter_test_operator(test, compares ? p->op : FILTER_KNOWN, &reason) < 0)
		return fail_test(p, compares ? operator_at : place, &reason);
	if (compares)
		r = parse_values(p, test);
	if (r == 0 && filter_test_check(test, &reason) < 0)
		return fail_test(p, operator_at, &reason);
	if (r == 0)
		r = check_behind(p);
	if (r == 0) {
		filter_node_add(to, top);
		top = NULL;
	}
	return r;
}

/* ---- expressions ---------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum filter_scope scope, within;
	enum filter_kind kind;
} relations[] = {
	{"job", FILTER_PROCESSES, FILTER_JOBS, FILTER_JOB_OF},
	{"process", FILTER_JOBS, FILTER_PROCESSES, FILTER_HAS_PROCESS},
	{"overlaps", FILTER_JOBS, FILTER_JOBS, FILTER_OVERLAPS},
	{"parent", FILTER_PROCESSES, FILTER_PROCESSES, FILTER_PARENT},
	{"child", FILTER_PROCESSES, FILTER_PROCESSES, FILTER_CHILD},
	{"ancestor", FILTER_PROCESSES, FILTER_PROCESSES, FILTER_ANCESTOR},
	{"descendant", FILTER_PROCESSES, FILTER_PROCESSES, FILTER_DESCENDANT},
};

static int parse_any(struct parser *p, enum filter_scope scope, struct filter_node *to);

/* The rest of "( any )", from behind the parenthesis at `open`. */
static int parse_enclosed(struct parser *p, enum filter_scope scope, struct filter_node *to,
			  const char *open)
{
	int r = next(p);

	if (r == 0)
		r = parse_any(p, scope, to);
	if (r < 0)
		return r;
	if (p->token != CLOSE)
		return p->token == END ? fail_at(p, open, "this parenthesis does not end; add a )")
				       : expected(p, "and, or, or )");
	r = next(p);
	return r < 0 ? r : check_behind(p);
}

/* Inside of process() each process of each job is looked at by itself. */
static bool walks_tree(enum filter_kind kind)
{
	return kind == FILTER_PARENT || kind == FILTER_CHILD || kind == FILTER_ANCESTOR ||
	       kind == FILTER_DESCENDANT;
}

static int go_down(struct parser *p, unsigned places)
{
	p->depth += places;
	return p->depth > FILTER_DEPTH_MAX
		       ? fail_at(p, p->at, "too many levels of relations, parentheses and not")
		       : 0;
}

static int parse_relation(struct parser *p, enum filter_scope scope, struct filter_node *to)
{
	const char *place = p->at;

	for (size_t i = 0; i < ARRAY_SIZE(relations); i++) {
		if (!is_word(p, relations[i].name))
			continue;
		if (relations[i].scope != scope)
			return fail_at(p, place, "%s(...) is for filters of %s", relations[i].name,
				       scope == FILTER_JOBS ? "processes (--procs)" : "jobs");
		if (walks_tree(relations[i].kind) && p->in_process)
			return fail_at(
				p, place,
				"%s(...) cannot be used inside process(...); select processes "
				"with --procs",
				relations[i].name);
		int r = go_down(p, FILTER_DEPTH_RELATION);
		if (r == 0)
			r = next(p);
		if (r < 0)
			return r;
		struct filter_node *n = filter_node_new(relations[i].kind);
		filter_node_add(to, n);
		p->in_process += n->kind == FILTER_HAS_PROCESS;
		r = parse_enclosed(p, relations[i].within, n, p->at);
		p->in_process -= n->kind == FILTER_HAS_PROCESS;
		p->depth -= FILTER_DEPTH_RELATION;
		return r;
	}
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;
	return fail_at(p, place, "unknown relation %s before (; known ones: %s", shown(p, &got),
		       scope == FILTER_JOBS ? "process, overlaps"
					    : "job, parent, child, ancestor, descendant");
}

static int parse_one(struct parser *p, enum filter_scope scope, struct filter_node *to)
{
	int r;

	if (p->token == OPEN) {
		struct filter_node *n = filter_node_new(FILTER_ALL_OF);

		filter_node_add(to, n);
		r = go_down(p, FILTER_DEPTH_PARENTHESES);
		if (r == 0)
			r = parse_enclosed(p, scope, n, p->at);
		p->depth -= FILTER_DEPTH_PARENTHESES;
	} else if (is_word(p, "not")) {
		struct filter_node *n = filter_node_new(FILTER_NOT);

		filter_node_add(to, n);
		r = go_down(p, FILTER_DEPTH_NOT);
		if (r == 0)
			r = next(p);
		if (r == 0)
			r = parse_one(p, scope, n);
		p->depth -= FILTER_DEPTH_NOT;
	} else if (p->token == WORD && p->next[strspn(p->next, BLANKS)] == '(') {
		r = parse_relation(p, scope, to);
	} else if (p->token == WORD && !is_word(p, "and") && !is_word(p, "or")) {
		r = parse_test(p, scope, to);
	} else {
		r = expected(p, "a condition such as duration > 1h");
	}
	return r;
}

static int parse_all(struct parser *p, enum filter_scope scope, struct filter_node *to)
{
	struct filter_node *n = filter_node_new(FILTER_ALL_OF);
	int r;

	filter_node_add(to, n);
	while ((r = parse_one(p, scope, n)) == 0 && is_word(p, "and"))
		if ((r = next(p)) < 0)
			return r;
	return r;
}

static int parse_any(struct parser *p, enum filter_scope scope, struct filter_node *to)
{
	struct filter_node *n = filter_node_new(FILTER_ANY_OF);
	int r;

	filter_node_add(to, n);
	while ((r = parse_all(p, scope, n)) == 0 && is_word(p, "or"))
		if ((r = next(p)) < 0)
			return r;
	return r;
}

int filter_parse(struct filter *f, const char *text, struct strbuf *why)
{
	_cleanup_node_ struct filter_node *all = filter_node_new(FILTER_ALL_OF);
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	struct parser p = {.f = f,
			   .text = text,
			   .next = text,
			   .word = STRBUF_INIT,
			   .tests = f->tests,
			   .values = f->values,
			   .why = &reason};

	if (strlen(text) > FILTER_BYTES_MAX)
		return strbuf_fail(why, -EINVAL, "the filter is longer than %d bytes",
				   FILTER_BYTES_MAX);
	int r = next(&p);
	if (r == 0 && p.token != END)
		r = parse_any(&p, f->scope, all);
	if (r == 0 && p.token != END)
		r = expected(&p, "and, or, or the end");
	strbuf_release(&p.word);
	if (r < 0)
		return strbuf_fail(why, r, "%s", reason.buf);
	if (all->count) {
		filter_node_add(f->at, all);
		all = NULL;
	}
	f->tests = p.tests;
	f->values = p.values;
	return 0;
}
