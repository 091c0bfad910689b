/*
 * Names that this program defines: sources of nodes, fixed-row tables, and their metrics. Sinks
 * accept them from any node; all other names share a limited number of places.
 */
#pragma once

#include "samples/sample.h"

bool known_source(const char *name);
/* Our definition of a metric; NULL: it is not ours, or its source knows it only when open (hardware
 * events). */
const struct sample_metric *known_metric(const char *source, const char *name);
/* Are these exactly the metrics of one of our sources? */
bool known_set(const char *source, const struct sample_metric *list, size_t count);
/* Calls each() for every known metric. */
void known_metrics(void (*each)(void *user, const char *source, const struct sample_metric *m),
		   void *user);
