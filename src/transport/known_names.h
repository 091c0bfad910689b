/*
 * Names that this program gives itself: sources of nodes, tables of fixed rows, and their metrics.
 * Sinks take them from anybody; any other name is some node's own, and has to share the room for
 * such.
 */
#ifndef PL_TRANSPORT_KNOWN_NAMES_H
#define PL_TRANSPORT_KNOWN_NAMES_H

#include "samples/sample.h"

bool known_source(const char *name);
/* The metric as we have it; NULL: it is none of ours, or its source knows it only once it is open
 * (events of counters). */
const struct sample_metric *known_metric(const char *source, const char *name);
/* Are these all the metrics of one of our sources, as it has them? */
bool known_set(const char *source, const struct sample_metric *list, size_t count);
/* Calls for each of them. */
void known_metrics(void (*each)(void *user, const char *source, const struct sample_metric *m),
		   void *user);

#endif
