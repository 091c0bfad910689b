/* Where a node sends samples, and its control address; see node_internal.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "inbox/daemon.h"
#include "node/node_internal.h"
#include "transport/link.h"

#define NOTIFY_NS 10000000000ull

static bool sends(const struct node_settings *s)
{
	bool any = s->connect || s->output || s->prometheus;

	for (size_t i = 0; i < NODE_PROTOCOLS_MAX; i++)
		any = any || s->wires[i].address;
	return any;
}

int node_check(const struct node *n)
{
	const struct node_settings *s = &n->settings;

	if (!sends(s)) {
		_cleanup_strbuf_ struct strbuf wires = STRBUF_INIT;

		for (size_t i = 0; node_protocols[i]; i++)
			strbuf_addf(&wires, ", --wire %s URI", node_protocols[i]->name);
		usage_error("node",
			    "node has nowhere to send samples: use --connect URI, --output FILE%s "
			    "or --prometheus ADDR",
			    wires.buf);
		return -EINVAL;
	}
	return node_check_keys(s);
}

int node_open_output(struct node *n)
{
	const char *path = n->settings.output;

	if (!path)
		return 0;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	n->output = fs_open_output(path, O_WRONLY | O_APPEND, 0640, &why);
	if (n->output >= 0)
		return 0;
	int r = n->output;
	n->output = -1;
	log_error("cannot open '%s': %s", path, why.len ? why.buf : strerror(-r));
	return r;
}

void node_select_for_protocols(const struct node *n)
{
	for (size_t i = 0; node_protocols[i]; i++)
		if (n->protocols[i].open)
			node_protocols[i]->select(&n->protocols[i].output,
						  n->settings.wires[i].names,
						  n->settings.metrics.count > 0);
}

static int open_protocol(struct node *n, size_t at)
{
	const struct node_protocol *p = node_protocols[at];
	const struct node_protocol_options o = {.uri = n->settings.wires[at].address,
						.node = n->settings.name,
						.high_water = n->o->high_water,
						.linger_ms = n->o->linger_ms,
						.named = n->o->pid_count ? n->o->pids[0] : 0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = p->open(&n->protocols[at].output, &o, &n->protocols[at].counts, &why);

	if (r < 0) {
		log_error("cannot send to '%s': %s", o.uri, why.len ? why.buf : strerror(-r));
		return r;
	}
	n->protocols[at].open = true;
	if (!link_is_local(o.uri))
		log_warn("%s records are sent to '%s' unencrypted: %s has no encryption", p->name,
			 o.uri, p->name);
	return 0;
}

int node_open_outputs(struct node *n)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sample_output list[3 + NODE_PROTOCOLS_MAX];
	size_t count = 0;

	if (n->output >= 0)
		sample_output_file(&list[count++], n->output, &n->head);
	for (size_t i = 0; node_protocols[i]; i++) {
		if (!n->settings.wires[i].address)
			continue;
		if (open_protocol(n, i) < 0)
			return -EIO;
		list[count++] = n->protocols[i].output;
	}
	node_select_for_protocols(n);
	if (n->settings.prometheus) {
		int r = node_open_prometheus(n, &list[count], &why);

		if (r < 0) {
			log_error("cannot listen on '%s' for Prometheus: %s",
				  n->settings.prometheus, why.len ? why.buf : strerror(-r));
			return r;
		}
		count++;
	}
	if (node_open_batches(n, list, &count) < 0)
		return -EIO;
	if (count == 1)
		n->sink = list[0];
	else
		sample_output_tee(&n->sink, list, count);
	return 0;
}

/* ---- control ---- */

/* One daemon per name: a second one must not take the socket of the first. */
static int take_lock(struct node *n, const char *uri, struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("%s.lock", uri + strlen("ipc://"));

	n->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (n->lock >= 0 && flock(n->lock, LOCK_EX | LOCK_NB) == 0)
		return 0;
	int r = -errno;
	return strbuf_fail(why, r,
			   r == -EWOULDBLOCK
				   ? "another node daemon holds '%s'; give each its own --name"
				   : "cannot lock '%s'",
			   path);
}

/* The node's own key and those of --allow may configure it. */
static int read_keys(struct node *n, struct link_keys *ret, struct strbuf *why)
{
	const struct node_settings *s = &n->settings;
	struct keyring *k = &n->control_keys;
	size_t count = 0;

	if (!s->keys)
		return strbuf_fail(why, -EINVAL, "'%s' needs the node's keys: --keys FILE",
				   s->control);
	int r = keyring_own(k, s->keys, why);
	for (size_t i = 0; r == 0 && i < s->allow.count; i++)
		if (!key_is_good(s->allow.names[i]))
			r = keyring_allow(k, s->allow.names[i], why);
	if (r < 0)
		return r;
	n->allowed = xcalloc(s->allow.count + k->count + 1, sizeof(*n->allowed));
	n->allowed[count++] = k->public;
	for (size_t i = 0; i < s->allow.count; i++)
		if (key_is_good(s->allow.names[i]))
			n->allowed[count++] = s->allow.names[i];
	for (size_t i = 0; i < k->count; i++)
		n->allowed[count++] = k->allowed[i];
	*ret = (struct link_keys){.secret = k->secret,
				  .public = k->public,
				  .allowed = n->allowed,
				  .allowed_count = count};
	return 0;
}

static int open_control(struct node *n, struct node_control_options *o, struct strbuf *why)
{
	const struct node_settings *s = &n->settings;
	_cleanup_free_ char *made = NULL;
	struct link_keys keys;
	int r = 0;

	o->uri = s->control;
	if (s->control && !*s->control) {
		made = node_control_address(&n->ctx->config, s->name, true, why);
		r = made ? take_lock(n, made, why) : -ENOENT;
		o->uri = made;
	} else if (s->control && !str_prefix(s->control, "ipc://")) {
		r = read_keys(n, &keys, why);
		o->keys = &keys;
	}
	if (r == 0)
		r = node_control_open(&n->control, o, why);
	o->keys = NULL; /* needed for opening only */
	return r;
}

int node_open_control(struct node *n,
		      int (*change)(void *user, const struct node_change *c, struct strbuf *why),
		      struct value *(*show)(void *user))
{
	const struct node_settings *s = &n->settings;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct node_control_options o = {
		.wires = s->wires, .change = change, .show = show, .user = n};
	bool others = false;

	for (size_t i = 0; i < NODE_PROTOCOLS_MAX; i++)
		others = others || s->wires[i].control;
	/* an address that was given must work, the default one need not */
	bool asked = (s->control && *s->control) || others;
	if (n->o->once || (!s->control && !others))
		return 0;
	int r = open_control(n, &o, &why);
	if (r == 0)
		return 0;
	if (!asked && r != -EWOULDBLOCK) {
		log_warn("`plimsoll configure` cannot reach this node: %s", why.buf);
		return 0;
	}
	log_error("%s", why.len ? why.buf : strerror(-r));
	return r;
}

/* ---- status ---- */

void node_notify(struct node *n)
{
	uint64_t now = clock_boottime_ns();

	if (now < n->next_notify_ns)
		return;
	n->next_notify_ns = now + NOTIFY_NS;
	size_t jobs = n->jobs ? cgroup_jobs_count(n->jobs) : 0;
	_cleanup_free_ char *text =
		xasprintf("STATUS=%zu %s, %llu ended, %llu %s sent, %llu lost", jobs,
			  plural(jobs, "job", "jobs"), (unsigned long long)n->jobs_ended,
			  (unsigned long long)n->batches.batches,
			  plural(n->batches.batches, "batch", "batches"),
			  (unsigned long long)n->batches.failed);
	notify_service_manager(text);
}
