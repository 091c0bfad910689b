/*
 * The table of a source's metrics. Each metric is one row of a list, from which both its number and
 * its entry in the table are made:
 *
 *     #define METRICS_OF_UPTIME(X) X(UPTIME, TIME_COLUMN("uptime", 1, "time since the boot"))
 *     DEFINE_METRICS(METRICS_OF_UPTIME);
 *
 * defines the enum with UPTIME and METRICS, and the array columns[METRICS]. A row may have more
 * arguments behind the column, for other tables that the source makes from the same list.
 */
#pragma once

#include "samples/sample.h"

#define METRIC_NUMBER(symbol, ...) symbol,
#define METRIC_COLUMN(symbol, column, ...) [symbol] = column,
#define DEFINE_METRICS(LIST)                  \
	enum { LIST(METRIC_NUMBER) METRICS }; \
	static const struct sample_metric columns[METRICS] = {LIST(METRIC_COLUMN)}

/* clang-format off */
#define METRIC_ROW(n, unit, kind, agg, scale, text) \
	{ n, UNIT_##unit, KIND_##kind, AGG_##agg, scale, text }
/* clang-format on */
#define COLUMN(n, unit, kind, scale, text) METRIC_ROW(n, unit, kind, SUM, scale, text)
#define COUNT(n, text) COLUMN(n, COUNT, COUNTER, 1, text)
#define BYTES(n, text) COLUMN(n, BYTES, COUNTER, 1, text)
#define LEVEL(n, text) COLUMN(n, COUNT, GAUGE, 1, text)
#define GAUGE(n, unit, agg, scale, text) METRIC_ROW(n, unit, GAUGE, agg, scale, text)
#define JOULES(n, agg, scale, text) METRIC_ROW(n, JOULES, COUNTER, agg, scale, text)
/* scale: microseconds to one of what is counted */
#define TIME_COLUMN(n, scale, text) COLUMN(n, MICROSECONDS, COUNTER, scale, text)
