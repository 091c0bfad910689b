/* Rows of values; see metric_row.h. */
#include "records/metric_row.h"

#include <errno.h>
#include <string.h>

#include "plimsoll/record.h"

void row_init(struct row *r)
{
	row_clear(r);
	memset(r->v, 0, sizeof(r->v));
	for (size_t i = 0; i < METRIC_ID_END; i++)
		r->text[i] = (struct strbuf)STRBUF_INIT;
}

void row_release(struct row *r)
{
	for (size_t i = 0; i < METRIC_ID_END; i++)
		strbuf_release(&r->text[i]);
}

void row_clear(struct row *r)
{
	memset(r->present, 0, sizeof(r->present));
}

/* No process uses 140 years of CPU time or 4 EiB: 2^62 nanoseconds or bytes, 2^52 microseconds or
 * KiB. A value beyond that is damage, and would spoil every sum over jobs that it is part of. */
static bool is_possible(enum metric_id id, uint64_t v)
{
	const enum metric_unit unit = metric_by_id(id)->unit;
	const bool coarse = unit == UNIT_MICROSECONDS || unit == UNIT_KIBIBYTES;
	const int64_t limit = INT64_C(1) << (coarse ? 52 : 62);

	return metric_by_id(id)->kind == KIND_LABEL || ((int64_t)v < limit && (int64_t)v > -limit);
}

void row_set(struct row *r, enum metric_id id, uint64_t v)
{
	if (!is_possible(id, v)) {
		row_unset(r, id);
		return;
	}
	r->v[id] = v;
	r->present[id / 64] |= 1ull << (id % 64);
}

void row_set_text(struct row *r, enum metric_id id, const char *s, size_t n)
{
	strbuf_reset(&r->text[id]);
	strbuf_add(&r->text[id], s, n);
	r->present[id / 64] |= 1ull << (id % 64);
}

void row_unset(struct row *r, enum metric_id id)
{
	r->present[id / 64] &= ~(1ull << (id % 64));
}

uint64_t row_get(const struct row *r, enum metric_id id, uint64_t fallback)
{
	return row_has(r, id) ? r->v[id] : fallback;
}

size_t row_counters(const struct row *row, struct counter *out, size_t max)
{
	const struct strbuf *names = &row->text[METRIC_EVENTS],
			    *values = &row->text[METRIC_COUNTERS];
	const unsigned char *p = (const unsigned char *)values->buf;
	const unsigned char *end = p + values->len;
	const char *name = names->buf;
	size_t n = 0;

	if (!row_has(row, METRIC_EVENTS))
		return 0;
	bool counted = row_has(row, METRIC_COUNTERS);
	while (n < max && *name) {
		struct counter *c = &out[n++];
		uint64_t state = 0, v = 0;

		*c = (struct counter){.name = name, .name_size = strcspn(name, ",")};
		name += c->name_size + (name[c->name_size] == ',');
		if (!counted || !p || !(p = pl_get_varint(p, end, &state)) ||
		    !(p = pl_get_varint(p, end, &v))) {
			c->problem = ENODATA;
			continue;
		}
		if (!(state & PL_COUNTED)) {
			c->problem = (int)(v & 0xffff);
			continue;
		}
		c->present = true;
		c->value = v;
		c->scaled = state & PL_COUNTED_SCALED;
		c->user_only = state & PL_COUNTED_USER;
		if (c->scaled && !(p = pl_get_varint(p, end, &c->permille)))
			c->permille = 0;
	}
	return n;
}

const char *counter_reason(const struct counter *c)
{
	switch (c->problem) {
	case ENODATA:
		return "the program's end was not recorded";
	case ECHILD:
		return "a copy made by vfork or clone has no counters of its own";
	case EBADF:
		return "the program closed the counter";
	case EMFILE:
		return "no descriptor was free for the counter";
	default:
		return strerror(c->problem);
	}
}
