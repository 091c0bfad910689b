/*
 * Other protocols of a collector: messages of other tools' nodes, which become batches in its log.
 * Each is one constant, with a row in collector_protocols.def.
 */
#pragma once

#include <stdint.h>

#include "core/config.h"

struct collect_options;
struct collector_port; /* defined by each protocol */
struct commit_log;

struct collector_port_counts {
	uint64_t messages, bytes, records, batches;
	uint64_t bad;             /* invalid messages; each peer is logged once */
	uint64_t refused, closed; /* connections, as in struct receiver_counts */
};

struct collector_protocol {
	const char *name;        /* also in the status */
	enum setting_id address; /* where it listens */
	int (*open)(struct collector_port **ret, const char *uri, const struct collect_options *o,
		    struct commit_log *log, struct strbuf *why);
	void (*close)(struct collector_port *p);
	int (*descriptor)(struct collector_port *p);
	/* Takes waiting messages; true: there may be more. While the log cannot be written nothing
	 * is taken, so that senders wait. */
	bool (*work)(struct collector_port *p);
	bool (*is_held_up)(const struct collector_port *p);
	void (*counts)(const struct collector_port *p, struct collector_port_counts *ret);
	/* Where it listens. */
	void (*endpoint)(struct collector_port *p, struct strbuf *out);
};

/* The places in collect_options.binds. */
enum collector_protocol_id {
#define COLLECTOR_PROTOCOL(symbol, ...) COLLECTOR_PROTOCOL_##symbol,
#include "collector/collector_protocols.def"
#undef COLLECTOR_PROTOCOL
	COLLECTOR_PROTOCOLS_MAX = 4
};

/* In the order of collect_options.binds; ends with NULL. */
extern const struct collector_protocol *const collector_protocols[];
