/*
 * The latest values of every job and node, for Prometheus to scrape: OpenMetrics text, or the older
 * text format for clients that do not ask for it. Used by a sink of the collector and by a node.
 * Rows that a source no longer reports disappear with its next reading, silent sources after a
 * while. Rows of processes are left out: there are too many of them for labels.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"
#include "samples/sample.h"

struct openmetrics;

/* rows_max: limit of all rows; 0: a million. */
struct openmetrics *openmetrics_new(size_t rows_max);
void openmetrics_free(struct openmetrics *x);
/* Replaces the previous reading of a source of a host. Thread safe. */
void openmetrics_take(struct openmetrics *x, const char *host, const char *source,
		      const struct sample_set *set, int64_t time_us);
void openmetrics_render(struct openmetrics *x, bool openmetrics, struct strbuf *out);

/* Appends these, which the caller owns and must keep as long. */
struct own_metrics;
void openmetrics_show_own(struct openmetrics *x, struct own_metrics *own);
/* Adds a label, after a comma if it is not the first. */
void openmetrics_add_label(struct strbuf *out, const char *name, const char *s, size_t n);

/* The name of a metric, without the "_total" of counters; and a value in the unit of that name. */
void openmetrics_name(struct strbuf *out, const char *source, const struct sample_metric *m);
double openmetrics_value(int64_t raw, const struct sample_metric *m);

/* ---- the HTTP server; module "endpoint" ------------------------------------------ */

struct endpoint;

/* address: "HOST:PORT", "[::1]:PORT" or ":PORT" for all addresses; port 0: any. Serves /metrics. */
int http_server_open(struct endpoint **ret, const char *address, struct openmetrics *x,
		     struct strbuf *why);
unsigned http_server_port(const struct endpoint *e);
void http_server_close(struct endpoint *e); /* accepts NULL */
