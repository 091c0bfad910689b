/*
 * Implausible data of stored jobs: what no job can have had, whatever it did. Finds errors of
 * clocks, of collecting tools and of imported files; damage of the store itself is found by `db
 * check`.
 */
#pragma once

#include "store/store.h"

struct verify_limits {
	int64_t earliest_us, latest_us; /* dates outside of these are implausible */
};

/* One row per check, for help and documents; ends with a NULL name. */
struct verify_check {
	const char *name, *help;
	/* Adds what is wrong with the job to *out, nothing if it is plausible; returns how many
	 * values, or a negative errno. */
	int64_t (*run)(struct store *s, int64_t job, const struct verify_limits *l,
		       struct strbuf *out);
};
extern const struct verify_check verify_checks[];

/* Runs all checks and calls tell() for each that fails. The number of failed checks, or a negative
 * errno. */
int verify_job(struct store *s, int64_t job, const struct verify_limits *l,
	       void (*tell)(void *user, const struct verify_check *c, int64_t count,
			    const char *detail),
	       void *user);
