/* Pressure stall information: the form of its files, which the node and control groups share. */
#ifndef PL_SOURCES_CGROUP_PRESSURE_H
#define PL_SOURCES_CGROUP_PRESSURE_H

#include <stdint.h>

#include "core/files/cached_file.h"
#include "core/strbuf.h"

/* One of the two lines of such a file: some tasks waited, or all that could have run. */
struct psi_line {
	bool has_total, has_avg10;
	uint64_t total_us;
	uint64_t avg10; /* in hundredths of a percent */
};

struct psi {
	struct psi_line some, full;
};

/* What a text holds; what it does not is absent. */
void psi_parse(struct words text, struct psi *ret);
/* Why a file of it cannot be read, and the remedy; NULL when there is none. */
const char *psi_reason(int error, const char *path, struct strbuf *why);

#endif
