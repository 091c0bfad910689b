/*
 * Values of a unit as people read them: 1536 KiB is 1.5 MiB, 2,000,000 us of CPU time in a second
 * are 2 CPUs. Units are those of metric_unit_name(), with "/s" behind for rates, and "CPUs".
 */
#ifndef PL_PLOT_UNIT_SCALE_H
#define PL_PLOT_UNIT_SCALE_H

#include "core/strbuf.h"

struct scale {
	double factor;   /* a value times this is the number to show */
	char symbol[32]; /* what to put behind it; may be empty */
	bool from_zero;  /* axes begin at 0; not for temperatures and the like */
};

/* The scale in which a value as large as this has one to three digits before the point. */
struct scale scale_of(const char *unit, double largest);
/* The number in a scale, without symbol: three digits, thousands with commas. */
void scale_add(struct strbuf *out, const struct scale *s, double v);
/* Number and symbol; "unknown" for what is not finite. */
void scale_add_value(struct strbuf *out, const char *unit, double v);
/* 1, 2 or 5 times a power of ten, so that span has at most so many steps of it. */
double scale_step(double span, int steps);

#endif
