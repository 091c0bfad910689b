/*
 * Configuring a running node. The answer to a request has the settings in force, or the reason why
 * nothing was changed. A request is checked completely before any of it is applied.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "node/node.h"
#include "node/node_protocol.h"
#include "transport/link.h"

#define WARNINGS_MAX 16 /* about invalid messages */

struct node_control {
	struct node_control_options o;
	struct link *link;
	struct link *others[NODE_PROTOCOLS_MAX]; /* of node_protocols; NULL: none */
	char *peer;                              /* waits for an answer; NULL: none */
	size_t peer_size;
	bool busy;
	unsigned warnings;
};

/* ---- the address ---- */

/* "/a/b" as "/a" and "b". */
static char *parent_of(const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');

	*ret_name = slash + 1;
	return slash == path ? xstrdup("/") : xstrndup(path, (size_t)(slash - path));
}

static char *runtime_dir(const struct config *c)
{
	const char *given = getenv("RUNTIME_DIRECTORY"), *xdg = getenv("XDG_RUNTIME_DIR");

	if (given && given[0] == '/')
		return xstrndup(given, strcspn(given, ":"));
	if (!geteuid())
		return xstrdup("/run/plimsoll-node");
	if (xdg && xdg[0] == '/')
		return xasprintf("%s/plimsoll", xdg);
	return config_path(c, SETTING_PREFIX);
}

char *node_runtime_path(const struct config *c, const char *prefix, const char *name, bool create,
			struct strbuf *why)
{
	_cleanup_free_ char *dir = runtime_dir(c);
	const char *base;

	if (dir[0] != '/' || !fs_is_name(name)) {
		strbuf_addf(why, "cannot make a socket path of '%s' and '%s'", dir, name);
		return NULL;
	}
	_cleanup_free_ char *parent = parent_of(dir, &base);
	_cleanup_close_ int fd = fs_open_private(parent, base, create, why);
	if (fd < 0)
		return NULL;
	return xasprintf("%s/%s%s", dir, prefix, name);
}

char *node_control_address(const struct config *c, const char *name, bool create,
			   struct strbuf *why)
{
	_cleanup_free_ char *path = node_runtime_path(c, "node.", name, create, why);

	return path ? xasprintf("ipc://%s", path) : NULL;
}

/* ---- requests ---- */

static void answer(struct node_control *c, const void *peer, size_t peer_size, const char *error)
{
	_cleanup_value_ struct value *v = error ? value_new(VALUE_DICT) : c->o.show(c->o.user);
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	value_set(v, "ok", value_bool(!error));
	if (error)
		value_set(v, "error", value_str(error));
	value_to_json(v, &j, NULL);
	const struct link_part parts[] = {{peer, peer_size}, {j.out.buf, j.out.len}};
	/* a peer that does not wait gets no answer */
	(void)link_send(c->link, parts, 2);
}

/* -EALREADY: nothing to change. */
static int take_request(struct node_control *c, const struct link_part *p, struct strbuf *why)
{
	struct node_request r;
	int e = node_request_read(&r, p->data, p->size, why);

	if (e < 0)
		return e;
	e = r.change.period || r.change.metrics || r.change.sources
		    ? c->o.change(c->o.user, &r.change, why)
		    : -EALREADY;
	node_request_release(&r);
	return e;
}

static bool work_native(struct node_control *c)
{
	struct link_part parts[LINK_PARTS_MAX];
	size_t count;

	while (link_receive(c->link, parts, &count) > 0) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

		if (count < 2)
			continue;
		int r = take_request(c, &parts[count - 1], &why);
		if (r == 0) {
			/* answered when it has been carried out; other requests wait */
			c->peer = xmalloc(parts[0].size ? parts[0].size : 1);
			memcpy(c->peer, parts[0].data, parts[0].size);
			c->peer_size = parts[0].size;
			c->busy = true;
			return true;
		}
		answer(c, parts[0].data, parts[0].size, r == -EALREADY ? NULL : why.buf);
	}
	return false;
}

/* ---- messages of other protocols ---- */

static int take_message(struct node_control *c, const struct node_protocol *p,
			const struct link_part *part, struct strbuf *why)
{
	struct node_protocol_request request = {0};
	int r = p->read(part->data, part->size, &request, why);

	if (r < 0)
		return r;
	const struct node_change change = {.period = *request.period ? request.period : NULL,
					   .names = *request.metrics ? request.metrics : NULL,
					   .protocol = p};
	return change.period || change.names ? c->o.change(c->o.user, &change, why) : -EALREADY;
}

static bool work_protocol(struct node_control *c, size_t at)
{
	struct link_part parts[LINK_PARTS_MAX];
	size_t count;

	while (link_receive(c->others[at], parts, &count) > 0) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		int r = count == 1 ? take_message(c, node_protocols[at], &parts[0], &why)
				   : -EBADMSG;

		if (r == 0) {
			c->busy = true;
			return true;
		}
		if (r != -EALREADY && c->warnings++ < WARNINGS_MAX)
			log_warn("refused a configuration message: %s",
				 why.len ? why.buf : strerror(-r));
	}
	return false;
}

/* ---- the daemon ---- */

static int open_protocol(struct link **ret, const char *uri, struct strbuf *why)
{
	const struct link_options o = {.kind = LINK_PULL,
				       .uri = uri,
				       .bind = true,
				       .message_max = NODE_REQUEST_MAX,
				       .high_water = 16};

	return link_open(ret, &o, why);
}

int node_control_open(struct node_control **ret, const struct node_control_options *o,
		      struct strbuf *why)
{
	struct node_control *c = xcalloc(1, sizeof(*c));
	const struct link_options native = {.kind = LINK_ROUTER,
					    .uri = o->uri,
					    .bind = true,
					    .keys = o->keys,
					    .own_users = !o->keys,
					    .message_max = NODE_REQUEST_MAX + 1024,
					    .high_water = 16};
	int r = 0;

	c->o = *o;
	if (o->uri)
		r = link_open(&c->link, &native, why);
	for (size_t i = 0; r == 0 && node_protocols[i]; i++)
		if (o->wires[i].control)
			r = open_protocol(&c->others[i], o->wires[i].control, why);
	c->o.wires = NULL; /* needed for opening only */
	if (r < 0) {
		node_control_close(c);
		return r;
	}
	c->busy = true; /* messages may have arrived already */
	*ret = c;
	return 0;
}

void node_control_close(struct node_control *c)
{
	if (!c)
		return;
	if (c->link)
		link_close(c->link);
	for (size_t i = 0; i < NODE_PROTOCOLS_MAX; i++)
		if (c->others[i])
			link_close(c->others[i]);
	free(c->peer);
	free(c);
}

size_t node_control_poll(struct node_control *c, struct pollfd *fds, size_t cap)
{
	size_t n = 0;

	if (c->link && n < cap)
		fds[n++] = (struct pollfd){.fd = link_descriptor(c->link), .events = POLLIN};
	for (size_t i = 0; i < NODE_PROTOCOLS_MAX; i++)
		if (c->others[i] && n < cap)
			fds[n++] = (struct pollfd){.fd = link_descriptor(c->others[i]),
						   .events = POLLIN};
	return n;
}

bool node_control_work(struct node_control *c)
{
	uint64_t refused, closed;

	c->busy = false;
	if (c->link)
		link_log_refused(c->link, &refused, &closed);
	for (size_t i = 0; i < NODE_PROTOCOLS_MAX; i++)
		if (c->others[i])
			link_log_refused(c->others[i], &refused, &closed);
	bool changed = c->link && work_native(c);
	for (size_t i = 0; i < NODE_PROTOCOLS_MAX && !changed; i++)
		changed = c->others[i] && work_protocol(c, i);
	return changed;
}

void node_control_answer(struct node_control *c)
{
	if (c->peer)
		answer(c, c->peer, c->peer_size, NULL);
	free(c->peer);
	c->peer = NULL;
}

bool node_control_busy(const struct node_control *c)
{
	return c->busy;
}

/* ---- the client ---- */

static struct value *read_answer(const struct link_part *p, struct strbuf *why)
{
	struct value *v = NULL;

	if (value_from_json(p->data, p->size, &v, why) < 0) {
		strbuf_reset(why);
		strbuf_addstr(why, "invalid answer");
		return NULL;
	}
	return v;
}

struct value *node_ask(const char *uri, const struct link_keys *keys, const struct node_change *c,
		       uint64_t timeout_ns, struct strbuf *why)
{
	const struct link_options lo = {.kind = LINK_DEALER, .uri = uri, .keys = keys};
	_cleanup_strbuf_ struct strbuf request = STRBUF_INIT;
	struct link_part parts[LINK_PARTS_MAX];
	struct value *v = NULL;
	struct link *l;
	size_t count;

	if (link_open(&l, &lo, why) < 0)
		return NULL;
	node_request_write(c, &request);
	const struct link_part part = {request.buf, request.len};
	uint64_t until = clock_boottime_ns() + timeout_ns, now;
	int r = link_send(l, &part, 1);
	while (r == 0 && !v && (now = clock_boottime_ns()) < until) {
		struct pollfd fd = {.fd = link_descriptor(l), .events = POLLIN};

		if (link_receive(l, parts, &count) > 0 && count)
			v = read_answer(&parts[count - 1], why);
		else
			(void)poll(&fd, 1, (int)((until - now) / 1000000 % 100) + 1);
		if (why->len)
			break;
	}
	if (!v && !why->len)
		strbuf_addf(why, "no answer from '%s' within %.0f s", uri,
			    (double)timeout_ns * 1e-9);
	link_close(l);
	return v;
}
