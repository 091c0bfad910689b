/*
 * One row: everything known about one image or thread, by metric. Unknown values are absent, never
 * 0.
 */
#pragma once

#include <stdint.h>

#include "core/metrics/metric.h"
#include "core/strbuf.h"

/* Strings are valid until the row is used again. */
struct row {
	uint64_t present[(METRIC_ID_END + 63) / 64];
	uint64_t v[METRIC_ID_END];
	struct strbuf text[METRIC_ID_END];
};
void row_init(struct row *r);
void row_release(struct row *r);
static inline bool row_has(const struct row *r, enum metric_id id)
{
	return r->present[id / 64] >> (id % 64) & 1;
}

/* Removes all values. */
void row_clear(struct row *r);
void row_set(struct row *r, enum metric_id id, uint64_t v);
void row_set_text(struct row *r, enum metric_id id, const char *s, size_t n);
void row_unset(struct row *r, enum metric_id id);
/* The value, or the fallback if it is absent. */
uint64_t row_get(const struct row *r, enum metric_id id, uint64_t fallback);

/* One event of the field "counters". */
struct counter {
	const char *name;
	size_t name_size;
	bool present, scaled, user_only;
	uint64_t value, permille;
	int problem;
};
/* Reads up to max events; returns their number. */
size_t row_counters(const struct row *row, struct counter *out, size_t max);
/* The reason for a missing value. */
const char *counter_reason(const struct counter *c);
