/* Content negotiation; see accept.h. */
#include "web/http/accept.h"

#include <string.h>
#include <strings.h>

#include "web/web.h"

#define WEIGHT_MAX 1000

const struct web_type web_types[] = {
	{"application/json", WEB_JSON, NULL, false},
	{"text/csv", "text/csv; charset=utf-8", NULL, true},
	{"application/vnd.apache.arrow.file", "application/vnd.apache.arrow.file", "feather", true},
	{"application/vnd.apache.parquet", "application/vnd.apache.parquet", "parquet", true},
	{NULL, NULL, NULL, false},
};

/* One of the list: "text/csv;q=0.5". */
struct range {
	const char *name;
	size_t size;
	unsigned weight; /* 0 to WEIGHT_MAX */
};

/* "1", "0.5"; anything else does not change the order. */
static unsigned parse_weight(const char *p)
{
	unsigned weight = *p == '1' ? WEIGHT_MAX : 0;

	if (*p != '0' && *p != '1')
		return WEIGHT_MAX;
	if (*p == '1' || p[1] != '.')
		return weight;
	p += 2;
	for (unsigned unit = WEIGHT_MAX / 10; unit && *p >= '0' && *p <= '9'; unit /= 10, p++)
		weight += unit * (unsigned)(*p - '0');
	return weight;
}

/* The next of the list; the position behind it, NULL at the end. */
static const char *next_range(const char *p, struct range *ret)
{
	p += strspn(p, " \t,");
	if (!*p)
		return NULL;
	*ret = (struct range){.name = p, .size = strcspn(p, " \t;,"), .weight = WEIGHT_MAX};
	for (p += ret->size; *p && *p != ','; p += strcspn(p, ";,")) {
		p += strspn(p, " \t;");
		if (!strncasecmp(p, "q=", 2))
			ret->weight = parse_weight(p + 2);
	}
	return p;
}

/* How exactly the range names the type: 3 by its name, 2 by its kind, 1 any; 0: not. */
static unsigned match(const struct range *r, const char *type)
{
	size_t kind = strcspn(type, "/") + 1;

	if (r->size == strlen(type) && !strncasecmp(r->name, type, r->size))
		return 3;
	if (r->size == kind + 1 && r->name[kind] == '*' && !strncasecmp(r->name, type, kind))
		return 2;
	return r->size == 3 && !strncmp(r->name, "*/*", 3);
}

/* The weight of the most exact range; *ret_exact is how exact it is. */
static unsigned weight_of(const char *accept, const char *type, unsigned *ret_exact)
{
	unsigned weight = 0;
	struct range r;

	*ret_exact = 0;
	for (const char *p = accept; (p = next_range(p, &r));) {
		unsigned exact = match(&r, type);

		if (exact > *ret_exact) {
			*ret_exact = exact;
			weight = r.weight;
		}
	}
	return weight;
}

const struct web_type *accepted_type(const char *accept, bool rows)
{
	const struct web_type *best = NULL;
	unsigned best_weight = 0, best_exact = 0;

	if (!accept[strspn(accept, " \t")])
		return WEB_TYPE_JSON;
	for (const struct web_type *t = web_types; t->name; t++) {
		unsigned exact, weight = weight_of(accept, t->name, &exact);

		if ((t->rows && !rows) || !weight || weight < best_weight ||
		    (weight == best_weight && exact <= best_exact))
			continue;
		best = t;
		best_weight = weight;
		best_exact = exact;
	}
	return best;
}

void add_types(struct strbuf *out, bool rows)
{
	for (const struct web_type *t = web_types; t->name; t++)
		if (rows || !t->rows)
			strbuf_addf(out, "%s%s", t == web_types ? "" : ", ", t->name);
}
