/* Limits and names of findings; see findings.h. */
#include "analysis/findings/findings.h"

#include <stddef.h>
#include <string.h>

#define MIB (1024.0 * 1024)

const struct finding_limit finding_limits[LIMIT_COUNT] = {
#define FINDING_LIMIT(id, name, value, reason) {name, value, reason},
#include "analysis/findings/finding_limits.def"
#undef FINDING_LIMIT
};

const struct finding_id_row finding_ids[FINDING_COUNT] = {
#define FINDING(id, name, group, meaning) {name, meaning, GROUP_##group},
#include "analysis/findings/finding_ids.def"
#undef FINDING
};

static void finding_release(struct finding *f)
{
	free(f->title);
	free(f->details);
	free(f->advice);
	free(f->command);
	for (size_t i = 0; i < f->evidence_count; i++)
		free(f->evidence[i].where);
	free(f->evidence);
}

void findings_release(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		finding_release(&f->list[i]);
	free(f->list);
	*f = (struct findings){0};
}

const char *finding_weight_name(enum finding_weight weight)
{
	static const char *const names[] = {"note", "warning", "severe"};

	return names[weight];
}

/* All bits set is a NAN. */
void finding_figures_init(struct finding_figures *f)
{
	*f = (struct finding_figures){0};
	memset((void *)f, 0xff, offsetof(struct finding_figures, time));
}
