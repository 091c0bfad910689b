/*
 * Metrics of the collector itself, for Prometheus to scrape together with those of nodes: text that
 * its main thread replaces now and then, and that any sink's thread may read. Names begin with
 * OWN_METRICS_PREFIX, which no metric of a node has.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

#define OWN_METRICS_PREFIX "plimsoll_collector_"

struct own_metrics;

struct own_metrics *own_metrics_new(void);
void own_metrics_free(struct own_metrics *o); /* accepts NULL */
/* Sets the text in both formats. Thread safe. */
void own_metrics_set(struct own_metrics *o, const struct strbuf *older,
		     const struct strbuf *openmetrics);
void own_metrics_add(struct own_metrics *o, bool openmetrics, struct strbuf *out);

/* ---- making that text: a header, then its values --------------------------------------------- */

struct own_family {
	const char *name; /* after the prefix */
	const char *help;
	bool counter; /* "_total" follows the name */
};
void own_metrics_head(struct strbuf *out, bool openmetrics, const struct own_family *f);
/* sink: NULL for none. */
void own_metrics_value(struct strbuf *out, const struct own_family *f, const char *sink,
		       double value);
