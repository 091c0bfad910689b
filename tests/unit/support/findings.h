/* What tests of findings share: a sound job to begin with, and what is said of it. */
#pragma once

#include "unit.h"

#include <math.h>
#include <string.h>

#include "analysis/findings/findings.h"

#define GIB (1024.0 * 1024 * 1024)
#define MIB (1024.0 * 1024)

/* Four cores for 100 s that were granted; part of the core time is given, the rest had nothing to
 * run. */
static inline struct finding_figures job_with(enum core_part part, double seconds)
{
	struct finding_figures f;

	finding_figures_init(&f);
	f.duration = 100;
	f.exitcode = 0;
	f.cores = 4;
	f.granted = true;
	f.sampled = f.looked = true;
	f.cpu = f.cpu_wait = 0;
	f.processes = 10;
	f.failed = f.signalled = f.killed = f.crashed = 0;
	f.parallel = f.alone = 0;
	f.job = "4711";
	f.time.part[part] = seconds;
	f.time.part[CORE_SERIAL] += 400 - seconds;
	if (core_parts[part].family == CORE_BUSY_FAMILY ||
	    core_parts[part].family == CORE_KERNEL_FAMILY)
		f.cpu = seconds;
	return f;
}

/* All findings, which the next call releases. Every one is complete. */
static inline const struct findings *all_of(const struct finding_figures *f)
{
	static struct findings all;

	findings_release(&all);
	findings_find(&all, f);
	assert_true(all.count >= 1);
	for (size_t i = 0; i < all.count; i++) {
		const struct finding *one = &all.list[i];

		assert_true(*one->title && *one->details && *one->advice);
		assert_true(isnan(one->share) || (one->share >= 0 && one->share <= 1));
		assert_true(isnan(one->saving) || (one->saving >= 0 && one->saving <= f->duration));
	}
	return &all;
}

static inline const struct finding *verdict_of(const struct finding_figures *f)
{
	return &all_of(f)->list[0];
}

static inline const struct finding *find(const struct finding_figures *f, enum finding_id id)
{
	const struct findings *all = all_of(f);

	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].id == id)
			return &all->list[i];
	return NULL;
}

static inline void has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%.300s' does not say '%s'", text, part);
}

/* No advice of any finding says this. */
static inline void never(const struct finding_figures *f, const char *part)
{
	const struct findings *all = all_of(f);

	for (size_t i = 0; i < all->count; i++)
		if (strstr(all->list[i].advice, part))
			fail_msg("'%.300s' says '%s'", all->list[i].advice, part);
}

#define VERDICT(id_) \
	assert_string_equal(finding_ids[verdict_of(&f)->id].name, finding_ids[FINDING_##id_].name)
#define NONE(id_) assert_null(find(&f, FINDING_##id_))
#define SAYS(id_)                                                   \
	({                                                          \
		const struct finding *o_ = find(&f, FINDING_##id_); \
		assert_non_null(o_);                                \
		o_;                                                 \
	})
