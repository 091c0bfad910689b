/* A file of event groups, with the formulas in it computed. */
#include "fuzz.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "sources/counters/counters_groups.h"

static void check_group(const struct group *g)
{
	static const double numbers[][GROUP_EVENTS_MAX + 1] = {
		{0},
		{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
		{1e300, -1e300, NAN, INFINITY, 1e-300, 0},
	};

	REQUIRE(g->name && *g->name && g->help && *g->help);
	REQUIRE(g->event_count > 0 && g->event_count <= GROUP_EVENTS_MAX);
	REQUIRE(g->value_count <= GROUP_VALUES_MAX);
	for (size_t i = 0; i < g->value_count; i++)
		for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
			const struct formula *f = &g->values[i].formula;
			double v = 0;

			for (unsigned o = 0; o < f->count; o++)
				REQUIRE(f->ops[o].op != 'v' ||
					f->ops[o].variable <= g->event_count);
			if (formula_value(f, numbers[k], &v))
				REQUIRE(isfinite(v));
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *text = xstrndup((const char *)data, size);
	struct cpu_identity cpu = {.vendor = "GenuineIntel", .family = 6, .model = 85};
	struct groups g;

	int r = groups_parse(&g, "/nonexistent", "fuzz", text, &why);
	REQUIRE(r == 0 || (r == -EINVAL && str_prefix(why.buf, "fuzz.groups, line ")));
	if (r == 0) {
		REQUIRE(g.group_count <= GROUPS_MAX && g.pmu_count <= GROUPS_PMUS_MAX);
		for (size_t i = 0; i < g.group_count; i++) {
			check_group(&g.groups[i]);
			REQUIRE(groups_find(&g, g.groups[i].name) == &g.groups[i]);
		}
		(void)groups_match(&g, &cpu);
		groups_release(&g);
	}
	return 0;
}
