/* Readings of a node become batches: an outlet that closes one every so often, or when it is large.
 */
#ifndef PL_NODE_NODE_BATCHES_H
#define PL_NODE_NODE_BATCHES_H

#include "sampler/sample_output.h"
#include "transport/batch.h"

#define NODE_BATCH_BYTES ((size_t)2 << 20) /* before packing */

struct node_batches_options {
	const char *node;
	uint64_t boot;
	uint64_t every_ns;
	/* Gets each batch, packed. Negative errno: it is lost. */
	int (*take)(void *user, const struct batch_name *name, const void *p, size_t n);
	void *user;
};

struct node_batches_counts {
	uint64_t batches, bytes, failed;
};

/* The counts are kept up to date where they are; all must stay until the outlet ended. */
void sample_output_batches(struct sample_output *ret, const struct node_batches_options *o,
			   const struct sample_file_head *head, struct node_batches_counts *counts);

#endif
