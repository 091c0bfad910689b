/* Parses Python literals and simple expressions. */
#pragma once

#include <ctype.h>
#include <string.h>

#include "core/value.h"

struct py_parser {
	const char *p, *end;
	int line;
	int nesting; /* open brackets: newlines inside are blanks */
	bool comma;  /* the last brackets ended with a comma */
	int nodes;
	const struct value *names; /* variables assigned so far; NULL: none allowed */
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

/* Skips to the end of the line. */
void py_skip_comment(struct py_parser *s);
/* Skips blanks, and in brackets newlines and comments, too. */
void py_skip_blanks(struct py_parser *s);
/* Is there a string? Skips its prefix letters. */
bool py_at_string(struct py_parser *s, bool *ret_raw, bool *ret_fields);
/* Parses the string in quotes. */
int py_parse_quoted(struct py_parser *s, bool raw, struct strbuf *out);
/* Parses a literal, or an expression with functions of python_expr.h. */
int py_parse_value(struct py_parser *s, int depth, struct value **ret);

/* Parses exactly one literal: string, number, list or dict. */
int py_literal(const char *text, size_t n, struct value **ret);
