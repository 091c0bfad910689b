/*
 * How often and how long: statistics of the phases of a job by name and origin; also by rank, or by
 * thread. Pure functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PHASE_NONE UINT32_MAX

/* Who marked it; the store has the same numbers in phase.origin. */
enum phase_source { PHASE_OF_PROGRAM, PHASE_OF_SCRIPT, PHASE_OF_COMMAND };

struct phase_span {
	uint32_t name;    /* number of its name */
	uint32_t process; /* number of its process */
	uint32_t tid;
	uint32_t tree;   /* tree_first of its image in the store; 0: unknown */
	uint32_t parent; /* place of the phase around it, which comes before it; PHASE_NONE */
	int64_t rank;    /* -1: none */
	int64_t begin_ns;
	int64_t duration_ns; /* -1: unknown */
	int64_t cpu_ns;      /* -1: unknown */
	uint16_t depth;
	uint8_t point, open; /* a point in time; without an end of its own */
	uint8_t origin;      /* enum phase_source */
};

enum phase_by { PHASE_BY_NAME, PHASE_BY_RANK, PHASE_BY_THREAD };

/* Totals of the parts, ranks or threads, that have a phase. */
struct phase_spread {
	uint64_t count;
	double min_ns, mean_ns, max_ns; /* NAN: no durations */
	/* the largest over the mean, less 1; NAN: of fewer than two */
	double imbalance;
};

struct phase_stat {
	uint32_t name, process, tid; /* process and tid of the first one */
	int64_t rank;                /* of the first one; -1: none */
	uint64_t count, points, open;
	struct phase_spread ranks; /* processes that have it, by rank where they have one */
	struct phase_spread threads;
	int64_t total_ns;       /* phases within one of the same name count once; -1: unknown */
	int64_t self_ns;        /* without phases inside */
	int64_t min_ns, max_ns; /* -1: unknown */
	double median_ns;       /* NAN: unknown */
	int64_t cpu_ns;         /* -1: unknown */
	int64_t first_ns, last_ns;
	uint16_t depth; /* of the first one */
	uint8_t origin;
};

/* In the order in which the phases first begin; freed by the caller. */
size_t phase_stats(const struct phase_span *v, size_t count, enum phase_by by,
		   struct phase_stat **ret);
