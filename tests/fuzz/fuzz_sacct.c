/* Output of sacct, line by line: what is taken is complete, printable and of finite numbers. */
#include "fuzz.h"

#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "store/import/sacct.h"

static void check_dict(const struct value *dict)
{
	for (size_t i = 0; i < value_pairs(dict); i++) {
		const struct value *v = value_at(dict, i);

		REQUIRE(value_key(dict, i)->kind == VALUE_STR);
		if (v->kind == VALUE_STR)
			REQUIRE(utf8_valid(v->str.data, v->str.size));
		else if (v->kind == VALUE_REAL)
			REQUIRE(isfinite(v->real) && v->real >= 0);
		else if (v->kind == VALUE_INT)
			REQUIRE(v->integer >= 0);
		else
			REQUIRE(v->kind == VALUE_LIST);
	}
}

static int take(void *user, const struct sacct_record *r, struct strbuf *why)
{
	size_t *jobs = user;

	(void)why;
	++*jobs;
	REQUIRE(r->id && *r->id >= '0' && *r->id <= '9');
	REQUIRE(r->steps->list.count <= SACCT_STEPS_MAX && r->steps->list.count <= r->step_count);
	check_dict(r->facts);
	for (size_t i = 0; i < r->steps->list.count; i++)
		check_dict(r->steps->list.items[i]);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_sacct_ struct sacct s;
	const char *p = (const char *)data, *end = p + size;
	size_t jobs = 0;
	int r = 0;

	sacct_init(&s, take, &jobs);
	while (p < end && r == 0) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		size_t n = newline ? (size_t)(newline - p) : (size_t)(end - p);

		r = sacct_line(&s, p, n, &why);
		p += n + 1;
	}
	if (r == 0)
		r = sacct_end(&s, &why);
	REQUIRE(r == 0 ? jobs == s.jobs : why.len > 0);
	return 0;
}
