/* How people read numbers: counts with commas, values with units. Bytes count in 1,024, other units
 * in 1,000, times in minutes and hours. The scripts of the HTML report follow the same rules. */
#pragma once

#include "core/strbuf.h"

/* 12345 as "12,345". */
void text_add_count(struct strbuf *out, int64_t v);

/* A prefix and its size in base units. */
struct unit_prefix {
	const char *name;
	double factor;
};

struct unit_scale {
	double factor;                      /* from the unit of the values to the base unit */
	const struct unit_prefix *prefixes; /* ends with a NULL name */
	char base[24];                      /* behind the prefix */
	bool floating;                      /* 0 means nothing: an axis begins near the values */
	bool clock, binary;                 /* minutes and hours; powers of two */
};

/* name: a name of metric_unit_name(), with "/s" for rates. An unknown name becomes the symbol. */
void unit_find(struct unit_scale *u, const char *name);
/* The largest prefix that leaves at least 1 of a value in base units; for smaller values the
 * smallest prefix. */
const struct unit_prefix *unit_prefix_for(const struct unit_scale *u, double base_value);
/* Adds " GiB/s" behind a number. */
void unit_add_symbol(char *to, size_t size, const struct unit_scale *u,
		     const struct unit_prefix *p);

/* "1.5 GiB", "250 /s", "12.5 %", "2.5 h": three digits with the unit; "-" unless finite. */
void unit_add_value(struct strbuf *out, double value, const char *unit);
void unit_add_digits(struct strbuf *out, double value, const char *unit, int digits);
