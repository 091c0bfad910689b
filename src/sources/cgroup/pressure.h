/* Pressure stall information: the files of the node and of control groups. */
#pragma once

#include <stdint.h>

#include "core/files/cached_file.h"
#include "core/strbuf.h"

/* A line of such a file: some tasks waited, or all that could have run. */
struct psi_line {
	bool has_total, has_avg10;
	uint64_t total_us;
	uint64_t avg10; /* in hundredths of a percent */
};

struct psi {
	struct psi_line some, full;
};

/* Parses a file; missing values are marked absent. */
void psi_parse(struct words text, struct psi *ret);
/* Explains why such a file cannot be read; returns the remedy, or NULL. */
const char *psi_reason(int error, const char *path, struct strbuf *why);
