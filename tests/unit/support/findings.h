/* What tests of findings share: a sound job to begin with, and what is said of it. */
#pragma once

#include "unit.h"

#include <math.h>
#include <string.h>

#include "analysis/findings/findings.h"

#define GIB (1024.0 * 1024 * 1024)
#define LIMIT(id) (finding_limits[LIMIT_##id].value)
#define JUST_BELOW(v) ((v)*0.999)
#define JUST_ABOVE(v) ((v)*1.001)

/* A job that nothing is wrong with: two of four cores busy for 100 s. */
static inline struct finding_figures sound(void)
{
	struct finding_figures f;

	finding_figures_init(&f);
	f.duration = 100;
	f.exitcode = 0;
	f.cores = 4;
	f.granted = true;
	f.cpu = 220;
	f.processes = 10;
	f.failed = f.signalled = f.killed = 0;
	return f;
}

/* Looks for a finding; NULL where there is none. *all is released by the next call. */
static inline const struct finding *find(const struct finding_figures *f, enum finding_kind kind,
					 enum finding_weight weight)
{
	static struct findings all;

	findings_release(&all);
	findings_find(&all, f);
	assert_true(all.count >= 1);
	for (size_t i = 0; i < all.count; i++) {
		assert_true(*all.list[i].title && *all.list[i].evidence && *all.list[i].advice);
		assert_true(!i || all.list[i].weight <= all.list[i - 1].weight);
	}
	for (size_t i = 0; i < all.count; i++)
		if (all.list[i].kind == kind && all.list[i].weight == weight)
			return &all.list[i];
	return NULL;
}

static inline void is(const char *got, const char *want)
{
	assert_string_equal(got, want);
}

static inline void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%.300s' does not say '%s'", text, part);
}

#define NONE(kind, weight) assert_null(find(&f, FINDING_##kind, FINDING_##weight))
#define SAYS(kind, weight)                                                             \
	({                                                                             \
		const struct finding *o_ = find(&f, FINDING_##kind, FINDING_##weight); \
		assert_non_null(o_);                                                   \
		o_;                                                                    \
	})
