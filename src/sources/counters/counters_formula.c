/*
 * Formulas of derived values: arithmetic over names, compiled once into the steps of a stack and
 * computed at every reading. See counters_groups.h.
 */
#include "sources/counters/counters_groups.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct parser {
	struct formula *f;
	const char *text, *p;
	formula_lookup lookup;
	void *user;
	unsigned depth;
	struct strbuf *why;
};

static bool parse_sum(struct parser *s);

static bool complain(struct parser *s, const char *what)
{
	if (!s->why->len)
		strbuf_addf(s->why, "%s at character %zu of the formula", what,
			    (size_t)(s->p - s->text) + 1);
	return false;
}

static bool emit(struct parser *s, char op, uint8_t variable, double number)
{
	if (s->f->count == FORMULA_OPS_MAX)
		return complain(s, "too long");
	s->f->ops[s->f->count++] = (struct formula_op){op, variable, number};
	return true;
}

static void skip_blanks(struct parser *s)
{
	s->p += strspn(s->p, " \t");
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c);
}

/* 64, 0.5, 1e6, 2.5e-3 */
static bool parse_number(struct parser *s)
{
	char copy[40];
	const char *p = s->p;
	char *end;

	p += strspn(p, "0123456789");
	if (*p == '.') {
		p++;
		p += strspn(p, "0123456789");
	}
	if (*p == 'e' || *p == 'E') {
		p++;
		p += *p == '+' || *p == '-';
		if (!is_digit(*p))
			return complain(s, "no number");
		p += strspn(p, "0123456789");
	}
	size_t n = (size_t)(p - s->p);
	if (n >= sizeof(copy) || is_name(*p) || *p == '.')
		return complain(s, "no number");
	memcpy(copy, s->p, n);
	copy[n] = 0;
	double v = strtod(copy, &end);
	if (*end || end == copy || !isfinite(v))
		return complain(s, "no number");
	s->p = p;
	return emit(s, '#', 0, v);
}

static bool parse_name(struct parser *s)
{
	size_t n = 0;

	while (is_name(s->p[n]))
		n++;
	int v = s->lookup(s->user, s->p, n);
	if (v < 0 || v > UINT8_MAX)
		return complain(s, "no event of the group and not 'time'");
	s->p += n;
	return emit(s, 'v', (uint8_t)v, 0);
}

static bool parse_factor(struct parser *s)
{
	bool ok;

	if (++s->depth > FORMULA_DEPTH_MAX)
		return complain(s, "too deep");
	skip_blanks(s);
	if (*s->p == '-') {
		s->p++;
		ok = parse_factor(s) && emit(s, 'n', 0, 0);
	} else if (*s->p == '(') {
		s->p++;
		ok = parse_sum(s);
		if (ok && *s->p != ')')
			ok = complain(s, "')' is missing");
		s->p += ok;
	} else if (is_digit(*s->p) || *s->p == '.') {
		ok = parse_number(s);
	} else if (is_name(*s->p)) {
		ok = parse_name(s);
	} else {
		ok = complain(s, "a name, a number or '(' is missing");
	}
	s->depth--;
	skip_blanks(s);
	return ok;
}

/* Parts with one of two operators between them. */
static bool parse_chain(struct parser *s, bool (*part)(struct parser *s), char a, char b)
{
	if (!part(s))
		return false;
	while (*s->p == a || *s->p == b) {
		char op = *s->p++;

		if (!part(s) || !emit(s, op, 0, 0))
			return false;
	}
	return true;
}

static bool parse_product(struct parser *s)
{
	return parse_chain(s, parse_factor, '*', '/');
}

static bool parse_sum(struct parser *s)
{
	return parse_chain(s, parse_product, '+', '-');
}

int formula_parse(struct formula *f, const char *text, formula_lookup lookup, void *user,
		  struct strbuf *why)
{
	struct parser s = {f, text, text, lookup, user, 0, why};

	f->count = 0;
	bool ok = parse_sum(&s);
	if (ok && *s.p)
		ok = complain(&s, "something unexpected");
	return ok ? 0 : -EINVAL;
}

bool formula_value(const struct formula *f, const double *variables, double *ret)
{
	double stack[FORMULA_OPS_MAX] = {0};
	unsigned n = 0;

	for (unsigned i = 0; i < f->count; i++) {
		const struct formula_op *o = &f->ops[i];

		if (o->op == '#' || o->op == 'v') {
			stack[n++] = o->op == '#' ? o->number : variables[o->variable];
			continue;
		}
		if (n < (o->op == 'n' ? 1 : 2))
			return false;
		if (o->op == 'n') {
			stack[n - 1] = -stack[n - 1];
			continue;
		}
		double b = stack[--n];
		double *a = &stack[n - 1];
		if (o->op == '/' && b == 0)
			return false;
		*a = o->op == '+' ? *a + b : o->op == '-' ? *a - b : o->op == '*' ? *a * b : *a / b;
	}
	if (n != 1 || !isfinite(stack[0]))
		return false;
	*ret = stack[0];
	return true;
}
