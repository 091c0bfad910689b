/* The ports of other protocols; see collector_protocol.h. */
#include <errno.h>
#include <poll.h>

#include "collector/collector.h"
#include "transport/link.h"

#define COLLECTOR_PROTOCOL(symbol, ...) \
	extern const struct collector_protocol collector_protocol_##symbol;
#include "collector/collector_protocols.def"
#undef COLLECTOR_PROTOCOL

const struct collector_protocol *const collector_protocols[] = {
#define COLLECTOR_PROTOCOL(symbol, ...) &collector_protocol_##symbol,
#include "collector/collector_protocols.def"
#undef COLLECTOR_PROTOCOL
	NULL,
};
_Static_assert(ARRAY_SIZE(collector_protocols) <= COLLECTOR_PROTOCOLS_MAX + 1,
	       "too many protocols for struct collect_options");

const char **collect_bind_of(struct collect_options *o, enum setting_id address)
{
	for (size_t i = 0; collector_protocols[i]; i++)
		if (collector_protocols[i]->address == address)
			return &o->binds[i];
	return NULL;
}

bool collect_binds_others(const struct collect_options *o)
{
	bool any = false;

	for (size_t i = 0; i < COLLECTOR_PROTOCOLS_MAX; i++)
		any = any || o->binds[i];
	return any;
}

void collect_warn_open_ports(const struct collect_options *o)
{
	for (size_t i = 0; collector_protocols[i]; i++)
		if (o->binds[i] && !link_is_local(o->binds[i]) && !o->peer_count)
			log_warn("'%s' accepts messages from any host, neither encrypted nor "
				 "authenticated, as %s does; --peer limits who may send",
				 o->binds[i], collector_protocols[i]->name);
}

int collect_open_ports(struct collect_view *v, struct strbuf *why)
{
	int r = 0;

	for (size_t i = 0; r == 0 && collector_protocols[i]; i++)
		if (v->o->binds[i])
			r = collector_protocols[i]->open(&v->ports[i], v->o->binds[i], v->o, v->log,
							 why);
	return r;
}

void collect_close_ports(struct collect_view *v)
{
	for (size_t i = 0; collector_protocols[i]; i++) {
		if (v->ports[i])
			collector_protocols[i]->close(v->ports[i]);
		v->ports[i] = NULL;
	}
}

bool collect_work_ports(struct collect_view *v, bool *ret_held)
{
	bool more = false;

	*ret_held = false;
	for (size_t i = 0; collector_protocols[i]; i++) {
		if (!v->ports[i])
			continue;
		more |= collector_protocols[i]->work(v->ports[i]);
		*ret_held |= collector_protocols[i]->is_held_up(v->ports[i]);
	}
	return more;
}

size_t collect_poll_ports(const struct collect_view *v, struct pollfd *fds)
{
	size_t n = 0;

	for (size_t i = 0; collector_protocols[i]; i++)
		if (v->ports[i] && !collector_protocols[i]->is_held_up(v->ports[i]))
			fds[n++] = (struct pollfd){
				.fd = collector_protocols[i]->descriptor(v->ports[i]),
				.events = POLLIN};
	return n;
}
