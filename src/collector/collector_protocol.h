/*
 * Protocols besides the collector's own: messages of other tools' nodes that become batches in its
 * log. Each is one constant, with a row in collector_protocols.def.
 */
#ifndef PL_COLLECTOR_COLLECTOR_PROTOCOL_H
#define PL_COLLECTOR_COLLECTOR_PROTOCOL_H

#include <stdint.h>

#include "core/config.h"

struct collect_options;
struct collector_port; /* each protocol's own */
struct commit_log;

struct collector_port_counts {
	uint64_t messages, bytes, records, batches;
	uint64_t bad;             /* invalid messages; each peer is logged once */
	uint64_t refused, closed; /* connections, as of struct receiver_counts */
};

struct collector_protocol {
	const char *name;        /* in the status, too */
	enum setting_id address; /* where it listens */
	int (*open)(struct collector_port **ret, const char *uri, const struct collect_options *o,
		    struct commit_log *log, struct strbuf *why);
	void (*close)(struct collector_port *p);
	int (*descriptor)(struct collector_port *p);
	/* Takes what is there; true: there may be more. What cannot be written now is kept, and
	 * nothing more is taken meanwhile, so that those who send wait. */
	bool (*work)(struct collector_port *p);
	bool (*is_held_up)(const struct collector_port *p);
	void (*counts)(const struct collector_port *p, struct collector_port_counts *ret);
	/* Where it listens. */
	void (*endpoint)(struct collector_port *p, struct strbuf *out);
};

#define COLLECTOR_PROTOCOLS_MAX 4

/* In the order of collect_options.binds; ends with NULL. */
extern const struct collector_protocol *const collector_protocols[];

#endif
