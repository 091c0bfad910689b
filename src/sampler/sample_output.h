/*
 * Where samples go: a sample file, the batches that a node sends, another tool's protocol, or
 * several of them.
 */
#pragma once

#include <stdint.h>

#include "samples/sample_file.h"

struct sample_output {
	/* Makes a source known; returns its number. */
	unsigned (*source)(void *user, const char *name, unsigned every, struct sample_set *set);
	/* Writes the samples of a source. The set stays the caller's; its fresh marks may be
	 * cleared.
	 */
	void (*add)(void *user, unsigned source, struct sample_set *set);
	void (*clock)(void *user, uint64_t boottime_ns, int64_t realtime_ns);
	/* The end of a tick. sync: make its samples durable. Negative errno: they are lost. */
	int (*flush)(void *user, bool sync);
	/* Starts anew with this head: sources are made known again. */
	int (*restart)(void *user, const struct sample_file_head *head);
	/* The end, and its reason. Releases the output. */
	int (*end)(void *user, const char *reason);
	void *user;
};

/* A sample file; fd is O_APPEND, and the caller closes it. */
void sample_output_file(struct sample_output *ret, int fd, const struct sample_file_head *head);

/* Several outputs; each gets all samples with their fresh marks. Copies the list. */
void sample_output_tee(struct sample_output *ret, const struct sample_output *list, size_t count);
