/* Puts samples of a node into batches: a sample output that closes a batch periodically, or when it
 * is large. */
#pragma once

#include "sampler/sample_output.h"
#include "transport/batch.h"

#define NODE_BATCH_BYTES ((size_t)2 << 20) /* before compression */

struct node_batches_options {
	const char *node;
	uint64_t boot;
	uint64_t every_ns;
	/* Gets each compressed batch. Negative errno: it is lost. */
	int (*take)(void *user, const struct batch_name *name, const void *p, size_t n);
	void *user;
};

struct node_batches_counts {
	uint64_t batches, bytes, failed;
};

/* Updates *counts; all arguments must stay valid until the output is ended. */
void sample_output_batches(struct sample_output *ret, const struct node_batches_options *o,
			   const struct sample_file_head *head, struct node_batches_counts *counts);
