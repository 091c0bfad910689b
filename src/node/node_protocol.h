/*
 * Protocols besides the node's own: of a collector that gets readings in another form, and of those
 * who configure a node by other messages than node_request.h has. Each is one constant, with a row
 * in node_protocols.def.
 */
#ifndef PL_NODE_NODE_PROTOCOL_H
#define PL_NODE_NODE_PROTOCOL_H

#include "node/node_settings.h"
#include "sampler/sample_output.h"

struct node_protocol_options {
	const char *uri, *node;
	unsigned high_water; /* messages that may wait; 0: 1000 */
	int linger_ms;
	int named; /* number of the job that is made of named processes; 0: there is none */
};

struct node_protocol_counts {
	uint64_t messages, records, dropped, waiting;
};

/* What a configuration message asks for. Empty: not said. */
struct node_protocol_request {
	char period[32];    /* as the setting */
	char metrics[1024]; /* under the protocol's names */
};

struct node_protocol {
	const char *name;              /* of --wire, and before its counts */
	const char *example;           /* address of a collector, for help */
	const char *named_source;      /* the source that metrics under its names are of */
	enum setting_id address;       /* of the collector */
	enum setting_id control;       /* where configuration messages are taken */
	enum setting_id named_metrics; /* that are sent under its names */

	/* -ENOSYS and others with the reason in *why. The counts are kept up to date where they
	 * are. */
	int (*open)(struct sample_output *ret, const struct node_protocol_options *o,
		    struct node_protocol_counts *counts, struct strbuf *why);
	/* Metrics under its names, NULL: none, are sent from now on; records: and those that the
	 * node's own names select. */
	void (*select)(const struct sample_output *o, const char *names, bool records);
	/* Can it send any of what is left of a source's metrics, of which keeps() says which? */
	bool (*leaves)(const char *source, const struct sample_metric *list, size_t count,
		       bool (*keeps)(void *user, const char *name), void *user);
	/* Sends what waits, as far as it goes now; between readings. */
	void (*retry)(const struct sample_output *o);

	/* A configuration message; negative errno with the reason in *why. */
	int (*read)(const void *p, size_t n, struct node_protocol_request *ret, struct strbuf *why);
	/* Puts metrics under its names into the settings next of a node that has the settings s;
	 * only: it sends by this protocol, and nothing else. */
	int (*change)(const struct node_settings *s, bool only, const char *list,
		      struct config *next, const char *origin, struct strbuf *why);
};

/* In the order of node_settings.wires; ends with NULL. */
extern const struct node_protocol *const node_protocols[];
const struct node_protocol *node_protocol_find(const char *name);
/* What the node sends by, and nothing else; NULL: its own protocol, or several. */
const struct node_protocol *node_only_protocol(const struct node_settings *s);

/* The sources that are sampled, with other events that are counted for jobs. */
void node_count_events(const struct node_settings *s, const char *events, struct strbuf *out);

#endif
