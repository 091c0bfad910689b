/*
 * Thermal zones and cooling devices of the thermal class. Types repeat (one x86_pkg_temp per
 * socket, one Processor per CPU): where they do, the number of the zone or device is part of the
 * name. A state of -1 means that the device is not in use. Zones of ACPI run firmware code: a slow
 * source.
 */
#include <errno.h>
#include <string.h>

#include "sources/columns.h"
#include "sources/node/sensors.h"

#define CLASS "/sys/class/thermal"

/* Behind the column: the prefix of directories and the file with the value. */
#define METRICS_OF_THERMAL(X)                                                               \
	X(TEMPERATURE, GAUGE("temperature", CELSIUS, MAX, 1e-3, "temperature of a zone"),   \
	  "thermal_zone", "temp")                                                           \
	X(COOLING,                                                                          \
	  GAUGE("cooling", NONE, MAX, 0, "state of a cooling device, up to its max_state"), \
	  "cooling_device", "cur_state")
DEFINE_METRICS(METRICS_OF_THERMAL);

#define KIND(symbol, column, ...) [symbol] = {__VA_ARGS__},
static const struct {
	const char *prefix, *file;
} kinds[METRICS] = {METRICS_OF_THERMAL(KIND)};

static void add_sensors(struct sensor_list *s, const char *root, unsigned kind)
{
	_cleanup_name_list_ struct name_list l = {0};

	(void)name_list_read(&l, kinds[kind].prefix, "%s" CLASS, root);
	for (size_t i = 0; i < l.count; i++) {
		char type[64];
		char *dir = xasprintf("%s" CLASS "/%s", root, l.names[i]);

		/* without a value it is nothing to sample */
		if (sys_readable("%s/%s", dir, kinds[kind].file) == -ENOENT) {
			free(dir);
			continue;
		}
		if (sys_text(type, sizeof(type), "%s/type", dir) <= 0)
			snprintf(type, sizeof(type), "%s", kinds[kind].prefix);
		sys_clean(type);
		struct sensor *z = sensors_add(s, kind, NULL, dir, xstrdup(type), kinds[kind].file);
		z->negative = kind == TEMPERATURE;
	}
}

/* The type; where several have it, with the number of the zone or device. */
static void name_sensors(struct sensor_list *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct sensor *z = &s->list[i];
		const char *number = path_base(z->dir) + strlen(kinds[z->metric].prefix);
		bool alone = true;

		for (size_t k = 0; k < s->count; k++)
			alone &= k == i || s->list[k].metric != z->metric ||
				 strcmp(s->list[k].type, z->type) != 0;
		z->name = xasprintf("%s%s%s%s", z->metric == COOLING ? "cooling/" : "", z->type,
				    alone ? "" : "-", alone ? "" : number);
	}
}

static void describe_sensor(struct sample_set *set, uint32_t e, const struct sensor *z)
{
	sample_set_metadata(set, e, "type", z->type);
	sample_set_metadata(set, e, "device", path_base(z->dir));
	if (z->metric == COOLING)
		sys_fact(set, e, "max_state", "%s/max_state", z->dir);
	else
		sys_fact(set, e, "policy", "%s/policy", z->dir);
}

static int open_thermal(const struct source_context *ctx, struct sample_set *set, void **state,
			struct strbuf *why)
{
	_cleanup_free_ char *none = xasprintf("no thermal zones in %s" CLASS, ctx->root);
	struct sensor_list *s = xcalloc(1, sizeof(*s));

	s->describe = describe_sensor;
	for (unsigned k = 0; k < METRICS; k++)
		add_sensors(s, ctx->root, k);
	name_sensors(s);
	int r = sensors_opened(s, set, state, none, "there is no such zone or device", why);
	/* all of them, so that those without a value are known, too */
	for (size_t i = 0; r == 0 && i < s->count; i++) {
		struct sensor *z = &s->list[i];

		describe_sensor(set, sample_entity(set, ENTITY_SENSOR, z->name), z);
		z->described = true;
	}
	return r;
}

static void describe(void *state, struct strbuf *out)
{
	static const char *const words[METRICS] = {"thermal zones", "cooling devices"};

	sensors_count(state, words, METRICS, out);
}

const struct source source_thermal = {
	.name = "thermal",
	.help = "temperatures of thermal zones, states of cooling devices",
	.describe = describe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 5,
	.slow = true,
	.open = open_thermal,
	.read = sensors_read,
	.close = sensors_close,
};
