/*
 * What a collector says about itself, for Prometheus to scrape beside what nodes sent: text that
 * its main thread replaces now and then, and that any sink's thread may show. Names begin with
 * OWN_METRICS_PREFIX, which no metric of a node has.
 */
#ifndef PL_SINKS_OWN_METRICS_H
#define PL_SINKS_OWN_METRICS_H

#include <stdint.h>

#include "core/strbuf.h"

#define OWN_METRICS_PREFIX "plimsoll_collector_"

struct own_metrics;

struct own_metrics *own_metrics_new(void);
void own_metrics_free(struct own_metrics *o); /* accepts NULL */
/* Both forms of the text; see below. Thread safe. */
void own_metrics_set(struct own_metrics *o, const struct strbuf *older,
		     const struct strbuf *openmetrics);
void own_metrics_add(struct own_metrics *o, bool openmetrics, struct strbuf *out);

/* ---- making that text: a head, then its values ------------------------------------------------
 */

struct own_family {
	const char *name; /* behind the prefix */
	const char *help;
	bool counter; /* "_total" comes behind the name */
};
void own_metrics_head(struct strbuf *out, bool openmetrics, const struct own_family *f);
/* sink: NULL for none. */
void own_metrics_value(struct strbuf *out, const struct own_family *f, const char *sink,
		       double value);

#endif
