/*
 * Thermal zones and what cools them, from the thermal class. Types repeat (one x86_pkg_temp a
 * socket, one Processor a CPU): where they do, the number of the zone or device is part of the
 * name. A state of -1 is how a driver says that its device is not in use. Zones of ACPI run code of
 * the firmware: a slow source.
 */
#include <errno.h>
#include <string.h>

#include "sources/source.h"
#include "sources/sysfile.h"

#define CLASS "/sys/class/thermal"

enum { TEMPERATURE, COOLING, KINDS };

static const struct sample_metric metrics_of_thermal[KINDS] = {
	[TEMPERATURE] = {"temperature", UNIT_CELSIUS, KIND_GAUGE, AGG_MAX, 1e-3,
			 "temperature of a zone"},
	[COOLING] = {"cooling", UNIT_NONE, KIND_GAUGE, AGG_MAX, 0,
		     "how hard a cooling device works, up to its fact max_state"},
};

static const struct {
	const char *prefix, *file;
} kinds[KINDS] = {{"thermal_zone", "temp"}, {"cooling_device", "cur_state"}};

struct sensor {
	char *name, *type, *dir;
	const char *number; /* of the entry, into dir */
	unsigned kind;
	struct sysfile value;
};

struct thermal {
	struct sensor *list;
	size_t count, cap;
};

static void add_sensors(struct thermal *s, const char *root, unsigned kind)
{
	_cleanup_syslist_ struct syslist l = {0};

	(void)syslist_read(&l, kinds[kind].prefix, "%s" CLASS, root);
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
		GROW(s->list, s->count, s->cap);
		struct sensor *z = &s->list[s->count++];
		*z = (struct sensor){.type = xstrdup(type), .dir = dir, .kind = kind};
		z->number = path_base(dir) + strlen(kinds[kind].prefix);
		sysfile_init(&z->value, "%s/%s", dir, kinds[kind].file);
	}
}

static int find_sensors(struct thermal *s, const char *root)
{
	for (unsigned k = 0; k < KINDS; k++)
		add_sensors(s, root, k);
	for (size_t i = 0; i < s->count; i++) {
		struct sensor *z = &s->list[i];
		bool alone = true;

		for (size_t k = 0; k < s->count; k++)
			alone &= k == i || s->list[k].kind != z->kind ||
				 strcmp(s->list[k].type, z->type) != 0;
		z->name = xasprintf("%s%s%s%s", z->kind == COOLING ? "cooling/" : "", z->type,
				    alone ? "" : "-", alone ? "" : z->number);
	}
	return s->count ? 0 : -ENOENT;
}

static void release(struct thermal *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].name);
		free(s->list[i].type);
		free(s->list[i].dir);
		sysfile_close(&s->list[i].value);
	}
	free(s->list);
	*s = (struct thermal){0};
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	struct thermal s = {0};
	size_t counts[KINDS] = {0};
	int r = find_sensors(&s, ctx->root);

	for (size_t i = 0; i < s.count; i++)
		counts[s.list[i].kind]++;
	if (r < 0)
		strbuf_addf(&report->detail, "no thermal zones in %s" CLASS, ctx->root);
	else
		strbuf_addf(&report->detail, "thermal zones: %zu, cooling devices: %zu",
			    counts[TEMPERATURE], counts[COOLING]);
	release(&s);
	return r;
}

static void tell_sensor(struct sample_set *set, uint32_t e, const struct sensor *z)
{
	sample_fact(set, e, "type", z->type);
	sample_fact(set, e, "device", path_base(z->dir));
	if (z->kind == COOLING)
		sys_fact(set, e, "max_state", "%s/max_state", z->dir);
	else
		sys_fact(set, e, "policy", "%s/policy", z->dir);
}

static int open_thermal(const struct source_context *ctx, struct sample_set *set, void **state,
			struct strbuf *why)
{
	struct thermal *s = xcalloc(1, sizeof(*s));
	bool found[KINDS] = {0};
	int r = find_sensors(s, ctx->root);

	if (r < 0) {
		strbuf_addf(why, "no thermal zones in %s" CLASS, ctx->root);
		release(s);
		free(s);
		return r;
	}
	for (size_t i = 0; i < s->count; i++) {
		struct sensor *z = &s->list[i];

		found[z->kind] = true;
		tell_sensor(set, sample_entity(set, ENTITY_SENSOR, z->name), z);
	}
	for (unsigned k = 0; k < KINDS; k++)
		if (!found[k])
			sample_absent(set, k, "there is no %s", kinds[k].prefix);
	*state = s;
	return 0;
}

static int read_thermal(void *state, struct sample_set *set)
{
	struct thermal *s = state;
	int error = -ENODATA;

	for (size_t i = 0; i < s->count; i++) {
		struct sensor *z = &s->list[i];
		int64_t value;
		int r = sysfile_i64(&z->value, &value);

		if (r < 0 || (z->kind == COOLING && value < 0)) {
			error = r < 0 ? r : error;
			continue;
		}
		sample_row(set, sample_entity(set, ENTITY_SENSOR, z->name));
		sample_put(set, z->kind, value);
	}
	return set->row_count ? 0 : error;
}

static void close_thermal(void *state)
{
	release(state);
	free(state);
}

const struct source source_thermal = {
	.name = "thermal",
	.help = "temperatures of thermal zones, states of cooling devices",
	.probe = probe,
	.metrics = metrics_of_thermal,
	.metric_count = KINDS,
	.every = 5,
	.slow = true,
	.open = open_thermal,
	.read = read_thermal,
	.close = close_thermal,
};
