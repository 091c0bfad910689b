/*
 * Other protocols of a node: to collectors that expect samples in another form, and from tools that
 * configure a node by other messages than those of node_request.h. Each is one constant, with a row
 * in node_protocols.def.
 */
#pragma once

#include "node/node_settings.h"
#include "sampler/sample_output.h"

struct node_protocol_options {
	const char *uri, *node;
	unsigned high_water; /* messages that may wait; 0: 1000 */
	int linger_ms;
	int named; /* number of the job of named processes; 0: none */
};

struct node_protocol_counts {
	uint64_t messages, records, dropped, waiting;
};

/* The content of a configuration message. Empty: unchanged. */
struct node_protocol_request {
	char period[32];    /* as the setting */
	char metrics[1024]; /* under the protocol's names */
};

struct node_protocol {
	const char *name;              /* of --wire, and prefix of its counts */
	const char *example;           /* address of a collector, for help */
	const char *named_source;      /* the source of metrics under its names */
	enum setting_id address;       /* of the collector */
	enum setting_id control;       /* address for configuration messages */
	enum setting_id named_metrics; /* that are sent under its names */

	/* -ENOSYS and others with the reason in *why. Updates *counts until it is ended. */
	int (*open)(struct sample_output *ret, const struct node_protocol_options *o,
		    struct node_protocol_counts *counts, struct strbuf *why);
	/* Selects metrics to send, under its names; NULL: none. records: also those selected under
	 * the node's own names. */
	void (*select)(const struct sample_output *o, const char *names, bool records);
	/* Can it send any of those metrics of a source that keeps() selects? */
	bool (*leaves)(const char *source, const struct sample_metric *list, size_t count,
		       bool (*keeps)(void *user, const char *name), void *user);
	/* Sends waiting messages without blocking; called between readings. */
	void (*retry)(const struct sample_output *o);

	/* Parses a configuration message; negative errno with the reason in *why. */
	int (*read)(const void *p, size_t n, struct node_protocol_request *ret, struct strbuf *why);
	/* Puts metrics under its names into the settings next of a node with the settings s; only:
	 * this is the node's only protocol. */
	int (*change)(const struct node_settings *s, bool only, const char *list,
		      struct config *next, const char *origin, struct strbuf *why);
};

/* In the order of node_settings.wires; ends with NULL. */
extern const struct node_protocol *const node_protocols[];
const struct node_protocol *node_protocol_find(const char *name);
/* The only protocol that the node sends by; NULL: its own, or several. */
const struct node_protocol *node_only_protocol(const struct node_settings *s);

/* Adds the list of sampled sources with other events for job_counters. */
void node_count_events(const struct node_settings *s, const char *events, struct strbuf *out);
