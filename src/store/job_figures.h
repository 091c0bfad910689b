/*
 * Figures of a job that are stored with it, so that lists can add them up: the granted core time
 * and the energy; and those of jobs that were stored before there was a column for them.
 */
#pragma once

#include "core/value.h"
#include "store/store.h"

/* The cores that the batch system granted, by the metadata of a job, else those of its hosts; -1:
 * not known. */
int64_t job_cores(const struct value *meta);

/* The CPUs of all hosts that the metadata tell of; -1: not known. */
int64_t job_cpus_of_hosts(const struct value *hosts);

/* Which series tell the energy of a host, the best first. */
enum energy_origin {
	ENERGY_OF_JOB,  /* the job's part */
	ENERGY_OF_NODE, /* by its controller: the mean power */
	ENERGY_OF_RAPL, /* packages and memory */
	ENERGY_OF_GPU,
	ENERGY_ORIGINS /* none */
};
enum energy_origin energy_origin_of(const char *metric, const char *entity_kind);
/* Is it counted? Packages include cores and graphics, the platform includes all. */
bool energy_counts(enum energy_origin origin, const char *entity);
/* The best figure of a host; NAN: it has none, as those of its origins. */
double energy_best(const double joules[ENERGY_ORIGINS]);

/* The energy of a stored job in millijoules, from its series. Each host counts with its best
 * source: the job's own part, else its controller, else packages, memory and GPUs. *ret_known is
 * false where no host has any. */
int job_energy(struct store *s, int64_t job, int64_t *ret_mj, bool *ret_known);

/* Computes words, core time and energy of all jobs of a store, in the transaction of the caller.
 * Logs progress if it takes long. */
int job_list_fill(struct store *s);
