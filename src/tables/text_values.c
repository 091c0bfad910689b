/* Values as text; see text_values.h. */
#include "tables/text_values.h"

#include <errno.h>
#include <string.h>

#include "core/text/times.h"

#define SECOND 1000000000

static void put_digits(char *to, int count, int64_t v)
{
	while (count--) {
		to[count] = (char)('0' + v % 10);
		v /= 10;
	}
}

void table_add_time(struct strbuf *out, int64_t ns)
{
	char text[] = "0000-00-00T00:00:00.000000000Z";
	int64_t fraction = ns % SECOND, s = ns / SECOND;

	if (fraction < 0) {
		fraction += SECOND;
		s--;
	}
	int64_t day = s % 86400, days = s / 86400;
	if (day < 0) {
		day += 86400;
		days--;
	}
	text_put_date(text, days);
	put_digits(text + 11, 2, day / 3600);
	put_digits(text + 14, 2, day / 60 % 60);
	put_digits(text + 17, 2, day % 60);
	put_digits(text + 20, 9, fraction);
	strbuf_add(out, text, sizeof(text) - 1);
}

void table_encode(struct table_encoded *e, const struct table_texts *t, table_encoder encode,
		  void *user)
{
	strbuf_reset(&e->bytes);
	if (e->cap < (size_t)t->count + 1) {
		e->cap = (size_t)t->count + 1;
		e->begin = xreallocarray(e->begin, e->cap, sizeof(*e->begin));
	}
	for (uint32_t i = 0; i < t->count; i++) {
		e->begin[i] = e->bytes.len;
		encode(user, &e->bytes, t->bytes + t->begin[i], t->begin[i + 1] - t->begin[i]);
	}
	e->begin[t->count] = e->bytes.len;
}

void table_encoded_release(struct table_encoded *e)
{
	strbuf_release(&e->bytes);
	free(e->begin);
	*e = (struct table_encoded){.bytes = STRBUF_INIT};
}
