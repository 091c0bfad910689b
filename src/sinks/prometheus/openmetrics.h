/*
 * The last values of every job and node, as Prometheus scrapes them: OpenMetrics text, or the older
 * text format for who does not ask for it. Used by a collector's feed and by a node itself. What a
 * source does not report any more is gone with its next reading, what is silent goes after a while.
 * Rows of processes are left out: there are too many of them to be labels.
 */
#ifndef PL_SINKS_PROMETHEUS_OPENMETRICS_H
#define PL_SINKS_PROMETHEUS_OPENMETRICS_H

#include <stdint.h>

#include "core/strbuf.h"
#include "samples/sample.h"

struct openmetrics;

/* rows_max: rows in all that are kept; 0: a million. */
struct openmetrics *openmetrics_new(size_t rows_max);
void openmetrics_free(struct openmetrics *x);
/* A reading of a source of a host takes the place of the one before. Thread safe. */
void openmetrics_take(struct openmetrics *x, const char *host, const char *source,
		      const struct sample_set *set, int64_t time_us);
void openmetrics_render(struct openmetrics *x, bool openmetrics, struct strbuf *out);

/* Shows these behind the rest. They stay the caller's, and must outlive it. */
struct own_metrics;
void openmetrics_show_own(struct openmetrics *x, struct own_metrics *own);
/* One label, a comma before it where it is not the first. */
void openmetrics_add_label(struct strbuf *out, const char *name, const char *s, size_t n);

/* What a metric is called, without the "_total" of counters, and a value in the unit that the name
 * says. */
void openmetrics_name(struct strbuf *out, const char *source, const struct sample_metric *m);
double openmetrics_value(int64_t raw, const struct sample_metric *m);

/* ---- an address that is scraped; module "endpoint" --------------------------------------------
 */

struct endpoint;

/* "HOST:PORT", "[::1]:PORT" or ":PORT" for all addresses; port 0: any. GET /metrics answers. */
int http_server_open(struct endpoint **ret, const char *address, struct openmetrics *x,
		     struct strbuf *why);
unsigned http_server_port(const struct endpoint *e);
void http_server_close(struct endpoint *e); /* accepts NULL */

#endif
