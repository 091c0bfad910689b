/*
 * Sums of the images of a job by executable, by tags and over the job, which are stored with it so
 * that questions about all jobs need not read every process; see migrations/009_usage.sql.
 */
#pragma once

#include "core/hash_map.h"
#include "store/store.h"

#define USAGE_UNKNOWN INT64_MIN

/* What is summed, of one image or of a group; USAGE_UNKNOWN: no image has it. */
struct usage {
	uint64_t images, processes;
	int64_t cpu_us, duration_us, rchar, wchar, read_bytes, write_bytes;
	int64_t rssmax; /* the maximum */
};
#define USAGE_NONE                                                                                 \
	{                                                                                          \
		.cpu_us = USAGE_UNKNOWN, .duration_us = USAGE_UNKNOWN, .rchar = USAGE_UNKNOWN,     \
		.wchar = USAGE_UNKNOWN, .read_bytes = USAGE_UNKNOWN, .write_bytes = USAGE_UNKNOWN, \
		.rssmax = USAGE_UNKNOWN                                                            \
	}
/* Sums stop at the limits of the type; what is unknown adds nothing. */
int64_t usage_sum(int64_t a, int64_t b);
void usage_add(struct usage *to, const struct usage *from);

struct usage_group {
	char *name; /* any bytes; NULL: images without one */
	size_t size;
	struct usage usage;
};

struct usage_groups {
	struct usage_group *v;
	size_t count, cap, last;
	struct hash_map index;
};
void usage_groups_release(struct usage_groups *g);
/* The group of a name, new if there is none; valid until the next call. name NULL: unknown. */
struct usage_group *usage_group(struct usage_groups *g, const char *name, size_t size);

struct usage_sums {
	struct usage_groups executables, operations;
	struct usage all;
};
void usage_sums_release(struct usage_sums *u);
/* Writes the rows of a job. */
int usage_sums_write(const struct usage_sums *u, struct store *s, int64_t job);

/* Computes and writes the sums of all jobs of a store that has none yet, in the transaction of the
 * caller. Logs progress if it takes long. */
int usage_sums_fill(struct store *s);
