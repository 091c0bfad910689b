/* Values as text; see text_values.h. */
#include "tables/text_values.h"

#include <errno.h>
#include <string.h>

#define SECOND 1000000000

void table_add_int(struct strbuf *out, int64_t v)
{
	char digits[24];
	size_t at = sizeof(digits);
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	do
		digits[--at] = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		digits[--at] = '-';
	strbuf_add(out, digits + at, sizeof(digits) - at);
}

static void put_digits(char *to, int count, int64_t v)
{
	while (count--) {
		to[count] = (char)('0' + v % 10);
		v /= 10;
	}
}

/* Days since 1970 as a date of the Gregorian calendar, counted from a first of March so that the
 * odd day of leap years is the last of its year. 64 bits of ns are the years 1677 to 2262. */
static void put_date(char *to, int64_t days)
{
	int64_t z = days + 719468;
	int64_t era = z / 146097, in_era = z % 146097;
	int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	int64_t day = in_era - (365 * year + year / 4 - year / 100);
	int64_t month = (5 * day + 2) / 153;

	put_digits(to + 8, 2, day - (153 * month + 2) / 5 + 1);
	put_digits(to + 5, 2, month < 10 ? month + 3 : month - 9);
	put_digits(to, 4, year + era * 400 + (month >= 10));
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
	put_date(text, days);
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

int table_refuse_codec(const struct table_options *o, const char *format, struct strbuf *why)
{
	if (!o->codec || !strcmp(o->codec, "none"))
		return 0;
	strbuf_addf(why, "%s packs nothing: there is no codec '%s'", format, o->codec);
	return -EINVAL;
}
