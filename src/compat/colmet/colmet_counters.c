/* Where colmet's numbered counters come from among the rows and metrics of our sources: zones of
 * RAPL, thermal zones, events of perf. */
#include <string.h>

#include "compat/colmet/colmet_internal.h"

/* What stands behind "package-", "core-" or "dram-": "0", or "0-die-1" where dies have counters of
 * their own. */
static bool zone_of(const struct entity *e, unsigned *ret_kind, const char **ret_domain)
{
	static const char *const kinds[] = {"package-", "core-", "dram-"};

	for (unsigned k = 0; e->kind == ENTITY_PACKAGE && k < ARRAY_SIZE(kinds); k++)
		if (str_prefix(e->name, kinds[k])) {
			*ret_kind = k;
			*ret_domain = e->name + strlen(kinds[k]);
			return true;
		}
	return false;
}

void colmet_find_zones(const struct sample_set *set, struct colmet_zones *ret)
{
	const char *domain;
	unsigned kind;

	*ret = (struct colmet_zones){0};
	for (size_t i = 0; i < COLMET_ZONES; i++)
		ret->entities[i] = -1;
	for (size_t i = 0; i < set->entity_count; i++)
		if (zone_of(&set->entities[i], &kind, &domain) && kind == 0 &&
		    ret->domain_count < ARRAY_SIZE(ret->domains))
			ret->domains[ret->domain_count++] = domain;
	for (size_t i = 0; i < set->entity_count; i++) {
		if (!zone_of(&set->entities[i], &kind, &domain))
			continue;
		for (size_t d = 0; d < ret->domain_count; d++)
			if (!strcmp(ret->domains[d], domain))
				ret->entities[d * 3 + kind] = (int64_t)i;
	}
}

bool colmet_thermal_zone(const struct entity *e, unsigned *ret)
{
	static const char prefix[] = "thermal_zone";
	const char *device;
	size_t size;

	if (e->kind != ENTITY_SENSOR || !entity_metadata(e, "device", &device, &size) ||
	    size != sizeof(prefix) || memcmp(device, prefix, sizeof(prefix) - 1) != 0)
		return false;
	*ret = (unsigned)(device[size - 1] - '0');
	return *ret < COLMET_THERMAL_ZONES;
}

unsigned colmet_find_events(const struct sample_set *set, unsigned places[COLMET_EVENTS])
{
	unsigned count = 0;

	for (unsigned m = 0; m < set->metric_count && count < COLMET_EVENTS; m++)
		if (set->metrics[m].kind == KIND_COUNTER)
			places[count++] = m;
	return count;
}
