/* What the module "zmq" offers to link.c; see link.h. */
#ifndef PL_PIPELINE_LINK_MODULE_H
#define PL_PIPELINE_LINK_MODULE_H

#include "pipeline/link.h"

struct link_functions {
	int (*open)(struct link **ret, const struct link_options *o, struct strbuf *why);
	void (*close)(struct link *l);
	int (*descriptor)(struct link *l);
	int (*send)(struct link *l, const struct link_part *parts, size_t count);
	int (*receive)(struct link *l, struct link_part *parts, size_t *ret_count);
	enum link_state (*state)(struct link *l, uint64_t *ret_connections);
	int (*peer_key)(struct link *l);
	void (*peer)(struct link *l, struct strbuf *out);
	uint64_t (*refused)(struct link *l, struct strbuf *who);
	int (*allow)(struct link *l, const struct link_keys *keys, struct strbuf *why);
	void (*endpoint)(struct link *l, struct strbuf *out);
	int (*make_keys)(char *ret_public, char *ret_secret, struct strbuf *why);
	void (*version)(struct strbuf *out);
};

/* ---- who may call: zap.c, compiled into the module ---------------------------------------------
 */

struct zap;

/*
 * Answers every connection that is made to the sockets of a context, in a thread of its own: by
 * key where there are keys, else by address. To be begun before anything is bound.
 */
int zap_start(struct zap **ret, void *context, const struct link_options *o, struct strbuf *why);
/* After the context was shut down. */
void zap_stop(struct zap *z);
int zap_allow(struct zap *z, const struct link_keys *keys, struct strbuf *why);
uint64_t zap_refused(struct zap *z, struct strbuf *who);

#endif
