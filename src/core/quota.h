/*
 * Shares of what is bounded and used by all nodes together: the names that a sink keeps, the
 * entities of a job. A host gets its share and no more, so that one of them cannot use up what
 * others need. Whoever wants more is refused, counted, and named once in the log.
 */
#ifndef PL_CORE_QUOTA_H
#define PL_CORE_QUOTA_H

#include <stddef.h>
#include <stdint.h>

#include "core/util.h"

struct quota_share {
	char *host;
	size_t used;
	bool said;
};

struct quota {
	const char *what; /* for the log: "clickhouse: names of tables" */
	size_t max, each; /* in all, and of one host */
	size_t used;
	uint64_t refused;
	bool said;                /* that there are none left */
	struct quota_share *list; /* by host */
	size_t count, cap;
};

/* One more for this host; false: it has its share, or there are none left. */
bool quota_take(struct quota *s, const char *host);
void quota_release(struct quota *s);

#endif
