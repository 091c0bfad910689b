/* The metric table and look-ups in it. */
#include "core/metrics/metric.h"

#include <string.h>

#include "core/util.h"

const struct metric metrics[] = {
#define METRIC(id, symbol, name, unit, type, scope, kind, agg, over_time, papiex, perfmon, colmet, \
	       help)                                                                               \
	{id,          name,      UNIT_##unit,      TYPE_##type, SCOPE_##scope,                     \
	 KIND_##kind, AGG_##agg, TIME_##over_time, papiex,      perfmon,                           \
	 colmet,      help},
#include "core/metrics/metrics.def"
#undef METRIC
};

const size_t metric_count = ARRAY_SIZE(metrics);

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
		if (same(metrics[i].papiex, name) || same(metrics[i].perfmon, name) ||
		    same(metrics[i].colmet, name))
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

const char *metric_type_name(enum metric_type type)
{
	static const char *const names[] = {"u64", "i64", "text"};
	return names[type];
}

const char *metric_scope_name(enum metric_scope scope)
{
	static const char *const names[] = {"process", "thread"};
	return names[scope];
}

const char *metric_kind_name(enum metric_kind kind)
{
	static const char *const names[] = {"counter", "gauge", "label", "mean"};
	return names[kind];
}

enum metric_kind metric_kind_by_name(const char *name)
{
	for (unsigned i = 0; i <= KIND_MEAN; i++)
		if (i != KIND_LABEL && !strcmp(name, metric_kind_name((enum metric_kind)i)))
			return (enum metric_kind)i;
	return KIND_GAUGE;
}

const char *metric_agg_name(enum metric_agg agg)
{
	static const char *const names[] = {"sum", "max", "min", "set", "none"};
	return names[agg];
}

enum metric_agg metric_agg_by_name(const char *name)
{
	for (unsigned i = 0; i < AGG_NONE; i++)
		if (!strcmp(name, metric_agg_name((enum metric_agg)i)))
			return (enum metric_agg)i;
	return AGG_NONE;
}

const char *metric_time_name(enum metric_time over_time)
{
	static const char *const names[] = {"diff", "max", "last", "none"};
	return names[over_time];
}
