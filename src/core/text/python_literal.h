/* Literals as Python writes them: a text that is gone through, and its values. */
#ifndef PL_CORE_TEXT_PYTHON_LITERAL_H
#define PL_CORE_TEXT_PYTHON_LITERAL_H

#include <ctype.h>
#include <string.h>

#include "core/value.h"

struct py_parser {
	const char *p, *end;
	int line;
	int nesting; /* open brackets: newlines mean nothing inside */
	bool comma;  /* the brackets that were read last ended in one */
	int nodes;
	const struct value *names; /* that were assigned so far; NULL: none may be used */
};

static inline bool one_of(int c, const char *set)
{
	return c > 0 && strchr(set, c) != NULL;
}

static inline int peek(const struct py_parser *s)
{
	return s->p < s->end ? (unsigned char)*s->p : -1;
}

static inline int next(struct py_parser *s)
{
	int c = peek(s);

	if (c == '\n')
		s->line++;
	if (c >= 0)
		s->p++;
	return c;
}

static inline bool in_name(int c)
{
	return c >= 0 && (isalnum(c) || c == '_');
}

/* To the end of the line. */
void py_skip_comment(struct py_parser *s);
/* Blanks, and inside brackets newlines and comments too. */
void py_skip_blanks(struct py_parser *s);
/* Is there a text here? Its prefix letters are passed over. */
bool py_at_string(struct py_parser *s, bool *ret_raw, bool *ret_fields);
/* The text in quotes. */
int py_parse_quoted(struct py_parser *s, bool raw, struct strbuf *out);
/* A literal, or an expression of python_expr.h over literals. */
int py_parse_value(struct py_parser *s, int depth, struct value **ret);

/* One literal and nothing behind it: a text, a number, a list, a dict. */
int py_literal(const char *text, size_t n, struct value **ret);

#endif
