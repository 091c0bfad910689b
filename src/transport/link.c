/* Loads the module "zmq" and calls its functions; see link.h. */
#include "transport/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "core/log.h"
#include "core/module.h"
#include "transport/zmq/link_module.h"

/* Set before the first link exists. */
static _Atomic(const struct link_functions *) loaded;

static const struct link_functions *zmq(void)
{
	return atomic_load(&loaded);
}

static int load(struct strbuf *why)
{
	const struct module *m = zmq() ? NULL : module_load("zmq", why);

	if (m)
		atomic_store(&loaded, (const struct link_functions *)m->functions);
	return zmq() ? 0 : -ENOSYS;
}

int link_open(struct link **ret, const struct link_options *o, struct strbuf *why)
{
	int r = load(why);

	return r < 0 ? r : zmq()->open(ret, o, why);
}

void link_close(struct link *l)
{
	if (l)
		zmq()->close(l);
}

int link_descriptor(struct link *l)
{
	return zmq()->descriptor(l);
}

int link_send(struct link *l, const struct link_part *parts, size_t count)
{
	return zmq()->send(l, parts, count);
}

int link_receive(struct link *l, struct link_part *parts, size_t *ret_count)
{
	return zmq()->receive(l, parts, ret_count);
}

enum link_state link_state(struct link *l, uint64_t *ret_connections)
{
	return zmq()->state(l, ret_connections);
}

int link_peer_key(struct link *l)
{
	return zmq()->peer_key(l);
}

void link_peer(struct link *l, struct strbuf *out)
{
	zmq()->peer(l, out);
}

uint64_t link_peer_number(struct link *l)
{
	return zmq()->peer_number(l);
}

uint64_t link_refused(struct link *l, struct strbuf *who)
{
	return zmq()->refused(l, who);
}

uint64_t link_closed(struct link *l, struct strbuf *who)
{
	return zmq()->closed(l, who);
}

static void log_each(char *lines, const char *before, const char *after)
{
	char *save = NULL;

	for (char *w = strtok_r(lines, "\n", &save); w; w = strtok_r(NULL, "\n", &save))
		log_warn("%s%s%s", before, w, after);
}

void link_log_refused(struct link *l, uint64_t *ret_refused, uint64_t *ret_closed)
{
	_cleanup_strbuf_ struct strbuf refused = STRBUF_INIT, closed = STRBUF_INIT;

	*ret_refused = link_refused(l, &refused);
	*ret_closed = link_closed(l, &closed);
	log_each(refused.buf, "refused a connection from ", "");
	log_each(closed.buf, "closed a connection from ", "; further ones are not logged");
}

int link_allow(struct link *l, const struct link_keys *keys, struct strbuf *why)
{
	return zmq()->allow(l, keys, why);
}

void link_endpoint(struct link *l, struct strbuf *out)
{
	zmq()->endpoint(l, out);
}

int link_make_keys(char *ret_public, char *ret_secret, struct strbuf *why)
{
	int r = load(why);

	return r < 0 ? r : zmq()->make_keys(ret_public, ret_secret, why);
}

bool link_is_local(const char *uri)
{
	char host[64];
	struct in_addr v4;
	struct in6_addr v6;

	if (str_prefix(uri, "ipc://") || str_prefix(uri, "inproc://"))
		return true;
	if (!str_prefix(uri, "tcp://"))
		return false;
	uri += strlen("tcp://");
	const char *from = strchr(uri, ';'); /* "source;target": the target counts */
	uri = from ? from + 1 : uri;
	bool bracket = uri[0] == '[';
	const char *end = bracket ? strchr(uri, ']') : strrchr(uri, ':');
	uri += bracket;
	if (!end || end <= uri || (size_t)(end - uri) >= sizeof(host))
		return false;
	memcpy(host, uri, (size_t)(end - uri));
	host[end - uri] = 0;
	if (!strcmp(host, "localhost") || !strcmp(host, "lo"))
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, host, &v6) == 1 &&
	       (IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127));
}
