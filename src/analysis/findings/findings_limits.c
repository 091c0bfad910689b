/* Limits of findings, and names; see findings.h. */
#include "analysis/findings/findings.h"

#include <stddef.h>
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)

const struct finding_limit finding_limits[LIMIT_COUNT] = {
#define FINDING_LIMIT(id, name, value, reason) {name, value, reason},
#include "analysis/findings/finding_limits.def"
#undef FINDING_LIMIT
};

void findings_release(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].title);
		free(f->list[i].evidence);
		free(f->list[i].advice);
	}
	free(f->list);
	*f = (struct findings){0};
}

const char *finding_kind_name(enum finding_kind kind)
{
	static const char *const names[] = {[FINDING_CPU] = "cpu",
					    [FINDING_MEMORY] = "memory",
					    [FINDING_IO] = "io",
					    [FINDING_NETWORK] = "network",
					    [FINDING_WAITING] = "waiting",
					    [FINDING_IDLE] = "idle",
					    [FINDING_IMBALANCE] = "imbalance",
					    [FINDING_FAILED] = "failed",
					    [FINDING_KILLED] = "killed",
					    [FINDING_OOM] = "oom",
					    [FINDING_SHORT] = "short",
					    [FINDING_GPU] = "gpu",
					    [FINDING_ACCOUNTING] = "accounting"};

	return names[kind];
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
	memset((void *)f, 0xff, offsetof(struct finding_figures, job));
}
