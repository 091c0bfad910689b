/* How values are written in charts and reports: 1,024 for bytes, 1,000 else, clocks for times. */
#ifndef PL_PLOT_PLOT_UNIT_H
#define PL_PLOT_PLOT_UNIT_H

#include "core/strbuf.h"

/* What stands before the base unit, and how many of it that is. */
struct plot_prefix {
	const char *name;
	double factor;
};

struct plot_unit {
	double factor;                      /* from the unit of the values to the base unit */
	const struct plot_prefix *prefixes; /* ends with a NULL name */
	char base[24];                      /* behind the prefix */
	bool floating;                      /* 0 says nothing: an axis begins where values do */
	bool clock, binary;                 /* minutes and hours; powers of two */
};

/* name: as metric_unit_name() says, with "/s" behind it for rates; what is not known is written
 * behind the value. */
void plot_unit_find(struct plot_unit *u, const char *name);
/* For a value in the base unit: the largest that leaves at least 1, the smallest there is for
 * less. */
const struct plot_prefix *plot_unit_prefix(const struct plot_unit *u, double base_value);
/* " GiB/s" behind a number. */
void plot_unit_add(char *to, size_t size, const struct plot_unit *u, const struct plot_prefix *p);

/* "1.5 GiB", "250 /s", "12.5 %", "2.5 h": three digits with the unit, "-" for what is no number. */
void plot_add_value(struct strbuf *out, double value, const char *unit);

#endif
