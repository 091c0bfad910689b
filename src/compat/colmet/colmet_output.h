/*
 * Readings of a node as colmet's records, pushed to a colmet collector: one message a tick. The
 * collector may be away for as long as it likes: messages wait in a queue of bounded length, and
 * when it is full the oldest go, counted. Sampling never waits.
 */
#ifndef PL_COMPAT_COLMET_COLMET_OUTPUT_H
#define PL_COMPAT_COLMET_COLMET_OUTPUT_H

#include "node/node_protocol.h"

/* -ENOSYS and others with the reason in *why. The counts are kept up to date where they are. */
int colmet_output_open(struct sample_output *ret, const struct node_protocol_options *o,
		       struct node_protocol_counts *counts, struct strbuf *why);
/* Metrics by the names of colmet's Rust version, NULL: none, go in its messages from now on, and
 * records only where they are wanted besides. */
void colmet_output_select(const struct sample_output *o, const char *names, bool records);
/* Has a record any field for what is left of a source's metrics, of which keeps() says which? */
bool colmet_output_leaves(const char *source, const struct sample_metric *list, size_t count,
			  bool (*keeps)(void *user, const char *name), void *user);
/* Sends what waits, as far as it goes now; between readings. */
void colmet_output_retry(const struct sample_output *o);

#endif
