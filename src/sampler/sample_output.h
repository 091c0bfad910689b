/*
 * What readings are handed to: a sample file, the batches that a node sends, records of another
 * tool's, or several of them at once.
 */
#ifndef PL_SAMPLER_SAMPLE_OUTPUT_H
#define PL_SAMPLER_SAMPLE_OUTPUT_H

#include <stdint.h>

#include "samples/sample_file.h"

struct sample_output {
	/* Makes a source known; its number. */
	unsigned (*source)(void *user, const char *name, unsigned every, struct sample_set *set);
	/* Takes a reading. The set is the caller's, and the marks of what is fresh may be cleared.
	 */
	void (*add)(void *user, unsigned source, struct sample_set *set);
	void (*clock)(void *user, uint64_t boottime_ns, int64_t realtime_ns);
	/* All readings of a tick were handed over. sync: they must be durable now. Negative errno:
	 * they are lost. */
	int (*flush)(void *user, bool sync);
	/* Sources are told anew after this, with this head: another period. */
	int (*restart)(void *user, const struct sample_file_head *head);
	/* The end, and why. What the outlet holds is released. */
	int (*end)(void *user, const char *reason);
	void *user;
};

/* A sample file; fd is O_APPEND and stays the caller's. */
void sample_output_file(struct sample_output *ret, int fd, const struct sample_file_head *head);

/* Several at once: each has every reading, with what is fresh marked. The list is copied. */
void sample_output_tee(struct sample_output *ret, const struct sample_output *list, size_t count);

#endif
