/* What carries a metric of a job: its executables or hosts, with the sums over their processes. */
#pragma once

#include "core/value.h"
#include "store/store.h"

struct carrier {
	char *name; /* of the executable or host */
	double sum;
	int64_t processes;
	int64_t start_us, end_us; /* of the first and the last process */
};

struct carrier_list {
	struct carrier *v;
	size_t count, cap;
};
void carrier_list_release(struct carrier_list *l);
#define _cleanup_carriers_ _cleanup_(carrier_list_release)

enum carrier_kind { CARRIER_EXECUTABLE, CARRIER_HOST };

/* Is the feature a sum over processes, so that there are carriers? */
bool carriers_known(const char *feature);
/* Those of a job, the largest first; tags: only processes with at least these, NULL: all. 0 or a
 * negative errno. */
int carriers_of(struct carrier_list *l, struct store *s, int64_t job, enum carrier_kind kind,
		const char *feature, const struct value *tags);
