/*
 * Runs a collector. The main thread handles signals, messages of other protocols, the status file
 * and the trimming of the log; batches of nodes are received by a thread of receiver.h, each sink
 * has its own thread (sink_worker.h), forwarding another one (sender.h).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/collector.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "inbox/daemon.h"
#include "sinks/own_metrics.h"
#include "sinks/sink_worker.h"
#include "transport/batch.h"
#include "transport/keyring.h"
#include "transport/receiver.h"
#include "transport/sender.h"

#define NS_PER_MS 1000000ull
#define TICK_NS (500 * NS_PER_MS)
#define NODES_NS (2000 * NS_PER_MS)
#define RETRY_MS 200 /* while the log cannot be written */
#define DRAIN_NS (2000 * NS_PER_MS)
#define GRACE_NS (10000 * NS_PER_MS)
#define LOCK_TRIES 20
#define HELD_WARN 0.5 /* shares of the log's limit: warn, and warn again after falling below */
#define HELD_AGAIN 0.25
#define FORWARD_NOTE "forward"

struct collector {
	struct context *ctx;
	const struct collect_options *o;
	char *dir;
	int dirfd, lock, signals;
	struct collect_view v;
	struct keyring keys;
	atomic_ullong least; /* all sinks have the entries below */
	bool stop, held_warned;
	uint64_t next_tick_ns, watchdog_ns, next_watchdog_ns;
	uint64_t next_nodes_ns;
	uint64_t forward_noted;
};

/* ---- options ---- */

char *collect_directory(const struct context *ctx, const char *option)
{
	const char *set = config_get(&ctx->config, SETTING_COLLECT_LOG);
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (option)
		return xstrdup(option);
	if (*set)
		return xstrdup(set);
	if (geteuid() == 0)
		return xstrdup("/var/lib/plimsoll/collect");
	if (state && *state == '/')
		return xasprintf("%s/plimsoll/collect", state);
	return home && *home ? xasprintf("%s/.local/state/plimsoll/collect", home) : NULL;
}

/* Refuses plain text for addresses that other hosts can reach, unless --insecure is given. */
static int check_safety(const struct collect_options *o)
{
	if (o->bind && !o->keys && !o->insecure && !link_is_local(o->bind)) {
		log_error("other hosts can reach '%s': use --keys FILE and --allow FILE "
			  "(`plimsoll keys` creates them), or --insecure",
			  o->bind);
		return -EINVAL;
	}
	if (o->bind && o->keys && !o->allow) {
		log_error("--keys needs the list of nodes that may send: --allow FILE (`plimsoll "
			  "keys` creates it)");
		return -EINVAL;
	}
	if (o->forward && o->keys && !o->server_key && !o->insecure) {
		log_error("--forward with --keys needs the other collector's public key: "
			  "--server-key KEY");
		return -EINVAL;
	}
	if (o->forward && !o->keys && !o->insecure && !link_is_local(o->forward)) {
		log_error(
			"'%s' is on another host: use --keys FILE and --server-key KEY (`plimsoll "
			"keys` creates them), or --insecure",
			o->forward);
		return -EINVAL;
	}
	collect_warn_open_ports(o);
	return 0;
}

static int load_keys(struct collector *c, struct strbuf *why)
{
	const struct collect_options *o = c->o;
	int r = o->keys ? keyring_own(&c->keys, o->keys, why) : 0;

	if (r == 0 && o->allow)
		r = keyring_allow(&c->keys, o->allow, why);
	if (r == 0 && o->server_key)
		r = keyring_server(&c->keys, o->server_key, why);
	return r;
}

/* ---- sinks ---- */

static void say(void *user, enum log_level level, const char *sink, const char *text)
{
	(void)user;
	switch (level) {
	case LOG_ERROR:
		log_error("%s: %s", sink, text);
		break;
	case LOG_WARN:
		log_warn("%s: %s", sink, text);
		break;
	default:
		log_info("%s: %s", sink, text);
		break;
	}
}

static void on_trim(void *user, uint64_t number)
{
	struct collector *c = user;

	atomic_store(&c->least, number);
}

static int add_sink(struct collector *c, const char *named, struct strbuf *why)
{
	const char *colon = strchr(named, ':');
	_cleanup_free_ char *kind =
		xstrndup(named, colon ? (size_t)(colon - named) : strlen(named));
	const struct sink *sink = sink_find(kind);
	struct sink_options o = c->o->feed;

	o.target = colon ? colon + 1 : "";
	o.own = c->v.own;
	_cleanup_free_ char *shown = sink_shown(named);
	return sink_workers_add(c->v.replay, sink, &o, shown, why);
}

static int open_sinks(struct collector *c, struct strbuf *why)
{
	_cleanup_free_ char *dir = xasprintf("%s/sinks", c->dir);
	const struct sink_workers_options o = {.log = c->v.log,
					       .dir = dir,
					       .commit_ns = c->o->commit_ns,
					       .trim = on_trim,
					       .say = say,
					       .user = c};
	int r = sink_workers_new(&c->v.replay, &o, why);

	for (size_t i = 0; i < c->o->sink_count && r == 0; i++)
		r = add_sink(c, c->o->sinks[i], why);
	return r;
}

/* ---- forwarding ---- */

/* The number of the first entry that the other collector has not acknowledged. */
static uint64_t read_forward_note(const struct collector *c)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	unsigned long long position = 0, id = 0;

	if (fs_read(c->dirfd, FORWARD_NOTE, 256, &text) < 0 ||
	    sscanf(text.buf, "position %llu of %llx", &position, &id) != 2 ||
	    id != commit_log_id(c->v.log))
		return 0;
	return position;
}

static void write_forward_note(struct collector *c, uint64_t position)
{
	char text[96];

	if (position == c->forward_noted)
		return;
	int n = snprintf(text, sizeof(text), "position %llu of %llx\n",
			 (unsigned long long)position, (unsigned long long)commit_log_id(c->v.log));
	if (fs_replace_durable(c->dirfd, FORWARD_NOTE, text, (size_t)n, 0600) == 0)
		c->forward_noted = position;
}

static void say_forward(void *user, bool over, const char *text)
{
	(void)user;
	if (over)
		log_info("forwarding: recovered from: %s", text);
	else
		log_warn("forwarding: %s", text);
}

static int open_forward(struct collector *c, struct strbuf *why)
{
	char host[128] = "collector";
	struct link_keys keys;

	if (!c->o->forward)
		return 0;
	(void)gethostname(host, sizeof(host) - 1);
	keyring_use(&c->keys, &keys);
	const struct sender_options o = {.uri = c->o->forward,
					 .keys = *c->keys.server ? &keys : NULL,
					 .node = host,
					 .log = c->v.log,
					 .from = read_forward_note(c),
					 .say = say_forward};
	return sender_start(&c->v.deliver, &o, why);
}

/* ---- ports ---- */

static int open_ports(struct collector *c, struct strbuf *why)
{
	_cleanup_free_ char *state = xasprintf("%s/nodes", c->dir);
	const struct collect_options *o = c->o;
	struct link_keys keys;
	int r = 0;

	keyring_use(&c->keys, &keys);
	if (o->bind) {
		const struct receiver_options ro = {.uri = o->bind,
						    .keys = o->keys ? &keys : NULL,
						    .names = (const char *const *)c->keys.names,
						    .peers = o->peers,
						    .connections_max = o->connections,
						    .peer_count = o->keys ? 0 : o->peer_count,
						    .log = c->v.log,
						    .state = state};

		r = receiver_start(&c->v.receive, &ro, why);
	}
	return r == 0 ? collect_open_ports(&c->v, why) : r;
}

/* Logs the keys that may not send any more. */
static void log_revoked(const struct keyring *before, const struct keyring *now)
{
	for (size_t i = 0; i < before->count; i++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		if (!before->names[i] || now->names[i])
			continue;
		text_add_printable(&name, before->names[i], strlen(before->names[i]));
		log_warn("key %s of '%s' is revoked and may not send any more", before->allowed[i],
			 name.buf);
	}
}

/* Reads the list of nodes that may send again. An invalid list is ignored. */
static void renew_allowed(struct collector *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct keyring before = {0};
	struct link_keys keys;

	if (!c->v.receive || !c->o->keys || !c->o->allow)
		return;
	int r = keyring_renew(&c->keys, c->o->allow, &before, &why);
	if (r == 0) {
		keyring_use(&c->keys, &keys);
		r = receiver_allow(c->v.receive, &keys, &why);
		if (r < 0) {
			keyring_release(&c->keys);
			c->keys = before;
			before = (struct keyring){0};
		}
	}
	if (r < 0)
		log_error("%s; the previous list stays in force", why.buf);
	else
		log_info("read '%s' again: the list of nodes that may send", c->o->allow);
	if (r == 0)
		log_revoked(&before, &c->keys);
	keyring_release(&before);
}

/* ---- the loop ---- */

static void take_signals(struct collector *c)
{
	struct signalfd_siginfo s;

	while (read(c->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		if (s.ssi_signo == SIGHUP) {
			log_info("reopening all sinks");
			sink_workers_reopen(c->v.replay);
			renew_allowed(c);
		} else {
			c->stop = true;
		}
	}
}

static void trim(struct collector *c)
{
	uint64_t least = sink_workers_count(c->v.replay) ? atomic_load(&c->least) : UINT64_MAX;

	if (c->v.deliver) {
		uint64_t position = sender_position(c->v.deliver);

		write_forward_note(c, position);
		least = position < least ? position : least;
	}
	if (!least)
		return;
	if (c->v.receive)
		receiver_trim(c->v.receive, least);
	else
		commit_log_trim(c->v.log, least);
}

/* A sink with a wrong target never works: better to stop at once than to fill the disk. */
static bool sink_failed(struct collector *c)
{
	for (size_t i = 0; i < sink_workers_count(c->v.replay); i++) {
		struct sink_workers_state s;

		sink_workers_state(c->v.replay, i, &s);
		if (s.phase == SINK_WORKERS_FAILED)
			return true;
	}
	return false;
}

/* A sink that stays away fills the log: warns once while there is time to act. */
static void warn_held(struct collector *c)
{
	struct collect_hold hold;

	collect_hold(&c->v, c->dirfd, &hold);
	if (hold.share < HELD_AGAIN)
		c->held_warned = false;
	if (hold.by && hold.share >= HELD_WARN && !c->held_warned) {
		log_warn(
			"the log has reached %.0f %% of %s, held by %s, which has stored nothing for "
			"%.0f s: repair that sink, or remove it and restart, before nodes have to "
			"keep all their data",
			hold.share * 100,
			c->o->log_limit ? "its limit (--log-limit)" : "the disk space", hold.by,
			hold.seconds);
		c->held_warned = true;
	}
	free(hold.by);
}

/* Periodic work. */
static void tick(struct collector *c)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
	uint64_t now = clock_boottime_ns();

	if (c->watchdog_ns && now >= c->next_watchdog_ns) {
		notify_service_manager("WATCHDOG=1");
		c->next_watchdog_ns = now + c->watchdog_ns / 3;
	}
	if (now < c->next_tick_ns)
		return;
	c->next_tick_ns = now + TICK_NS;
	trim(c);
	warn_held(c);
	if (now >= c->next_nodes_ns) {
		collect_write_nodes(&c->v, c->dirfd);
		c->next_nodes_ns = now + NODES_NS;
	}
	collect_write_status(&c->v, c->dirfd);
	collect_update_metrics(&c->v);
	collect_status_line(&c->v, &line);
	notify_service_manager(line.buf);
}

static int work(struct collector *c)
{
	while (!c->stop) {
		struct pollfd fds[1 + COLLECTOR_PROTOCOLS_MAX] = {
			{.fd = c->signals, .events = POLLIN}};
		bool held, more = collect_work_ports(&c->v, &held);

		take_signals(c);
		tick(c);
		if (sink_failed(c))
			return -EINVAL;
		if (c->stop || more)
			continue;
		/* the descriptor of a queue does not report old messages again */
		size_t count = 1 + collect_poll_ports(&c->v, fds + 1);
		(void)poll(fds, count, held ? RETRY_MS : (int)(TICK_NS / NS_PER_MS / 2));
	}
	return 0;
}

/* ---- start and stop ---- */

/* Makes the parents of the directory; opening it shows whether that worked. */
static void make_parents(const char *dir)
{
	_cleanup_free_ char *path = xstrdup(dir);

	for (char *p = path + 1; *path && (p = strchr(p, '/')); p++) {
		*p = 0;
		(void)mkdir(path, 0755);
		*p = '/';
	}
}

static int open_log(struct collector *c, struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("%s/log", c->dir);
	const struct commit_log_options o = {.dir = path, .limit = c->o->log_limit};
	int r = 0;

	make_parents(c->dir);
	c->dirfd = fs_open_named(c->dir, true, why);
	if (c->dirfd < 0)
		return c->dirfd;
	/* --status may hold it for a moment */
	for (int i = 0; i < LOCK_TRIES; i++) {
		r = c->lock = collect_lock(c->dirfd, false);
		if (r != -EBUSY)
			break;
		usleep(50000);
	}
	if (r == -EBUSY)
		strbuf_addf(why,
			    "another collector uses the log '%s': stop it, or choose another "
			    "--log DIR",
			    c->dir);
	else if (r < 0)
		strbuf_addf(why, "cannot write in '%s': %s", c->dir, strerror(-r));
	return r < 0 ? r : commit_log_open(&c->v.log, &o, why);
}

static int begin(struct collector *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = batch_ready(&why);

	c->signals = hold_signals();
	(void)raise_file_limit(); /* each of thousands of nodes is a connection */
	if (r == 0)
		r = load_keys(c, &why);
	if (r == 0)
		r = open_log(c, &why);
	if (r == 0)
		r = open_sinks(c, &why);
	/* ports come first: they number batches by what they find in the log */
	if (r == 0)
		r = open_ports(c, &why);
	if (r == 0)
		r = open_forward(c, &why);
	if (r == 0)
		r = sink_workers_start(c->v.replay, &why);
	if (r < 0)
		log_error("%s", why.len ? why.buf : strerror(-r));
	return r;
}

/* Closes the ports, then delivers what is in the log, as far as that is quick. The rest is
 * delivered after the next start. */
static bool end(struct collector *c)
{
	bool all = true;

	notify_service_manager("STOPPING=1");
	if (c->v.receive)
		receiver_stop(c->v.receive);
	c->v.receive = NULL;
	collect_close_ports(&c->v);
	if (c->v.log)
		(void)commit_log_sync(c->v.log);
	if (c->v.replay)
		all = sink_workers_stop(c->v.replay, DRAIN_NS, GRACE_NS);
	if (!all)
		log_warn("a sink does not respond: what it has not confirmed is delivered again "
			 "after the next start");
	if (c->v.log && c->v.replay)
		collect_write_status(&c->v, c->dirfd);
	if (c->v.deliver) {
		write_forward_note(c, sender_position(c->v.deliver));
		(void)sender_stop(c->v.deliver, DRAIN_NS, NULL);
	}
	return all;
}

int do_collect(struct context *ctx, const struct collect_options *o)
{
	struct collector c = {.ctx = ctx, .o = o, .dirfd = -1, .lock = -1, .signals = -1};

	c.dir = collect_directory(ctx, o->log);
	if (!c.dir) {
		log_error("cannot find a directory for the log: use --log DIR");
		return EXIT_FAILED;
	}
	if (o->status || o->resend) {
		int status =
			o->status ? collect_show_status(c.dir, o->json) : collect_resend(o, c.dir);

		free(c.dir);
		return status;
	}
	c.v.o = o;
	c.v.dir = c.dir;
	c.v.own = own_metrics_new();
	c.v.started_us = clock_realtime_us();
	int r = check_safety(o) < 0 ? -EINVAL : begin(&c);
	if (r == 0) {
		c.watchdog_ns = watchdog_ns();
		notify_service_manager("READY=1");
		log_info("storing batches in '%s'", c.dir);
		r = work(&c);
	}
	bool all = end(&c);
	if (all) {
		sink_workers_free(c.v.replay);
		own_metrics_free(c.v.own);
		commit_log_close(c.v.log);
	}
	keyring_release(&c.keys);
	close_fd(&c.signals);
	close_fd(&c.lock);
	close_fd(&c.dirfd);
	free(c.dir);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}
