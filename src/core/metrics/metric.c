/* The metric table and look-ups in it. */
#include "core/metrics/metric.h"

#include <string.h>

#include "core/util.h"

const struct metric metrics[] = {
#define METRIC(id, symbol, name, unit, type, scope, kind, agg, over_time, a, b, c, help) \
	{id,          name,      UNIT_##unit,      TYPE_##type, SCOPE_##scope,           \
	 KIND_##kind, AGG_##agg, TIME_##over_time, {a, b, c},   help},
#include "core/metrics/metrics.def"
#undef METRIC
};

const size_t metric_count = ARRAY_SIZE(metrics);

const char *const metric_tool_names[] = {
#define METRIC_TOOL(symbol) #symbol,
#include "core/metrics/metric_tools.def"
#undef METRIC_TOOL
};

const struct metric *metric_by_id(unsigned id)
{
	for (size_t i = 0; i < metric_count; i++)
		if (metrics[i].id == id)
			return &metrics[i];
	return NULL;
}

static bool same(const char *a, const char *b)
{
	return a && !strcmp(a, b);
}

const struct metric *metric_by_name(const char *name)
{
	for (size_t i = 0; i < metric_count; i++)
		if (same(metrics[i].name, name))
			return &metrics[i];
	for (size_t i = 0; i < metric_count; i++)
		for (size_t t = 0; t < METRIC_TOOL_COUNT; t++)
			if (same(metrics[i].names[t], name))
				return &metrics[i];
	return NULL;
}

static const char *const unit_names[UNIT_END] = {
	[UNIT_NONE] = "",
	[UNIT_COUNT] = "count",
	[UNIT_MICROSECONDS] = "us",
	[UNIT_NANOSECONDS] = "ns",
	[UNIT_KIBIBYTES] = "KiB",
	[UNIT_BYTES] = "bytes",
	[UNIT_BLOCKS] = "512 bytes",
	[UNIT_CYCLES] = "cycles",
	[UNIT_PERCENT] = "%",
	[UNIT_RATIO] = "ratio",
	[UNIT_CELSIUS] = "degC",
	[UNIT_WATTS] = "W",
	[UNIT_JOULES] = "J",
	[UNIT_HERTZ] = "Hz",
	[UNIT_RPM] = "rpm",
	[UNIT_VOLTS] = "V",
	[UNIT_AMPERES] = "A",
	[UNIT_BYTES_PER_SECOND] = "bytes/s",
	[UNIT_PER_SECOND] = "1/s",
};

const char *metric_unit_name(enum metric_unit unit)
{
	return unit_names[unit];
}

enum metric_unit metric_unit_by_name(const char *name)
{
	unsigned i = 0;

	while (i < UNIT_END && strcmp(unit_names[i], name) != 0)
		i++;
	return (enum metric_unit)i;
}

#define NAMES(what, ...)                                          \
	const char *metric_##what##_name(enum metric_##what v)    \
	{                                                         \
		static const char *const names[] = {__VA_ARGS__}; \
                                                                  \
		return names[v];                                  \
	}
NAMES(type, "u64", "i64", "text")
NAMES(scope, "process", "thread")
NAMES(kind, "counter", "gauge", "label", "mean")
NAMES(agg, "sum", "max", "min", "set", "none")
NAMES(time, "diff", "max", "last", "none")

enum metric_kind metric_kind_by_name(const char *name)
{
	for (unsigned i = 0; i <= KIND_MEAN; i++)
		if (i != KIND_LABEL && !strcmp(name, metric_kind_name((enum metric_kind)i)))
			return (enum metric_kind)i;
	return KIND_GAUGE;
}

enum metric_agg metric_agg_by_name(const char *name)
{
	for (unsigned i = 0; i < AGG_NONE; i++)
		if (!strcmp(name, metric_agg_name((enum metric_agg)i)))
			return (enum metric_agg)i;
	return AGG_NONE;
}
