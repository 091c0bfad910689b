/*
 * Running a collector. The main thread has the signals, messages of other protocols, the status
 * file and the trimming of the log; native batches come in by a thread of receiver.h, each sink has
 * one of its own (sink_worker.h), forwarding another (sender.h).
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
#define HELD_SAY 0.5 /* shares of the log's limit */
#define HELD_AGAIN 0.25
#define FORWARD_NOTE "forward"

struct collector {
	struct context *ctx;
	const struct collect_options *o;
	char *dir;
	int dirfd, lock, signals;
	struct collect_view v;
	struct keyring keys;
	atomic_ullong least; /* entries below it are with all sinks */
	bool stop, held_said;
	uint64_t next_tick_ns, watchdog_ns, next_watchdog_ns;
	uint64_t next_nodes_ns;
	uint64_t forward_noted;
};

/* ---- what was asked for -----------------------------------------------------------------------
 */

char *collect_directory(const struct context *ctx, const char *said)
{
	const char *set = config_get(&ctx->config, SETTING_COLLECT_LOG);
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (said)
		return xstrdup(said);
	if (*set)
		return xstrdup(set);
	if (geteuid() == 0)
		return xstrdup("/var/lib/plimsoll/collect");
	if (state && *state == '/')
		return xasprintf("%s/plimsoll/collect", state);
	return home && *home ? xasprintf("%s/.local/state/plimsoll/collect", home) : NULL;
}

/* Plain text is for addresses that nobody else can reach, unless somebody said otherwise. */
static int check_safety(const struct collect_options *o)
{
	if (o->bind && !o->keys && !o->insecure && !link_is_local(o->bind)) {
		log_error("'%s' can be reached from other hosts: --keys FILE and --allow FILE "
			  "(`plimsoll keys` makes them), or --insecure",
			  o->bind);
		return -EINVAL;
	}
	if (o->bind && o->keys && !o->allow) {
		log_error("--keys needs the list of nodes that may send: --allow FILE (`plimsoll "
			  "keys` makes it)");
		return -EINVAL;
	}
	if (o->forward && o->keys && !o->server_key && !o->insecure) {
		log_error("--forward with --keys needs the other collector's public key: "
			  "--server-key KEY");
		return -EINVAL;
	}
	if (o->forward && !o->keys && !o->insecure && !link_is_local(o->forward)) {
		log_error("'%s' is on another host: --keys FILE and --server-key KEY (`plimsoll "
			  "keys` makes them), or --insecure",
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

/* ---- sinks ------------------------------------------------------------------------------------
 */

static void say(void *user, enum log_level level, const char *feed, const char *text)
{
	(void)user;
	switch (level) {
	case LOG_ERROR:
		log_error("%s: %s", feed, text);
		break;
	case LOG_WARN:
		log_warn("%s: %s", feed, text);
		break;
	default:
		log_info("%s: %s", feed, text);
		break;
	}
}

static void on_trim(void *user, uint64_t number)
{
	struct collector *c = user;

	atomic_store(&c->least, number);
}

static int add_sink(struct collector *c, const char *sink, struct strbuf *why)
{
	const char *colon = strchr(sink, ':');
	_cleanup_free_ char *kind = xstrndup(sink, colon ? (size_t)(colon - sink) : strlen(sink));
	const struct sink *feed = sink_find(kind);
	struct sink_options o = c->o->feed;

	o.target = colon ? colon + 1 : "";
	o.own = c->v.own;
	_cleanup_free_ char *shown = sink_shown(sink);
	return sink_workers_add(c->v.replay, feed, &o, shown, why);
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

/* ---- forwarding -------------------------------------------------------------------------------
 */

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
		log_info("forwarding: over: %s", text);
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

/* ---- doors ------------------------------------------------------------------------------------
 */

static int open_doors(struct collector *c, struct strbuf *why)
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

/* Which keys may not send any more, by name: those that could before. */
static void say_revoked(const struct keyring *before, const struct keyring *now)
{
	for (size_t i = 0; i < before->count; i++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		if (!before->names[i] || now->names[i])
			continue;
		text_add_printable(&name, before->names[i], strlen(before->names[i]));
		log_warn("key %s, which was for '%s', may not send any more", before->allowed[i],
			 name.buf);
	}
}

/* The list of those who may send, anew. One that is no good changes nothing. */
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
		log_error("%s; those who were allowed before still are", why.buf);
	else
		log_info("'%s' is read again: who may send", c->o->allow);
	if (r == 0)
		say_revoked(&before, &c->keys);
	keyring_release(&before);
}

/* ---- at work ----------------------------------------------------------------------------------
 */

static void take_signals(struct collector *c)
{
	struct signalfd_siginfo s;

	while (read(c->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		if (s.ssi_signo == SIGHUP) {
			log_info("sinks begin anew");
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

/* A sink whose target is wrong will not become right: better to say so at once than to fill the
 * disk for it. */
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

/* A sink that stays away fills the log; said once while there is time to do something about it. */
static void say_held(struct collector *c)
{
	struct collect_hold hold;

	collect_hold(&c->v, c->dirfd, &hold);
	if (hold.share < HELD_AGAIN)
		c->held_said = false;
	if (hold.by && hold.share >= HELD_SAY && !c->held_said) {
		log_warn(
			"the log has %.0f %% of %s, held by %s, which has taken nothing for %.0f s: "
			"mend it, or take it out and start again, before nodes must keep all "
			"they have",
			hold.share * 100,
			c->o->log_limit ? "its limit (--log-limit)" : "the room on its disk",
			hold.by, hold.seconds);
		c->held_said = true;
	}
	free(hold.by);
}

/* What is done now and then. */
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
	say_held(c);
	if (now >= c->next_nodes_ns) {
		collect_write_nodes(&c->v, c->dirfd);
		c->next_nodes_ns = now + NODES_NS;
	}
	collect_write_status(&c->v, c->dirfd);
	collect_tell_metrics(&c->v);
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
		/* a queue's descriptor says nothing new about what was there before */
		size_t count = 1 + collect_poll_ports(&c->v, fds + 1);
		(void)poll(fds, count, held ? RETRY_MS : (int)(TICK_NS / NS_PER_MS / 2));
	}
	return 0;
}

/* ---- beginning and end ------------------------------------------------------------------------
 */

/* What is above the directory; whether that worked is found out when it is opened. */
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
	/* somebody may be looking for a moment */
	for (int i = 0; i < LOCK_TRIES; i++) {
		r = c->lock = collect_lock(c->dirfd, false);
		if (r != -EBUSY)
			break;
		usleep(50000);
	}
	if (r == -EBUSY)
		strbuf_addf(why,
			    "a collector is running with the log '%s': another one needs "
			    "another --log DIR",
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
	raise_file_limit(); /* each of thousands of nodes is a connection */
	if (r == 0)
		r = load_keys(c, &why);
	if (r == 0)
		r = open_log(c, &why);
	if (r == 0)
		r = open_sinks(c, &why);
	/* batches are numbered by what the doors find in the log: they come first */
	if (r == 0)
		r = open_doors(c, &why);
	if (r == 0)
		r = open_forward(c, &why);
	if (r == 0)
		r = sink_workers_start(c->v.replay, &why);
	if (r < 0)
		log_error("%s", why.len ? why.buf : strerror(-r));
	return r;
}

/* Doors first, then what is in the log goes to the sinks, as far as that is quick. What is left of
 * it is there at the next start. */
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
		log_warn("a sink does not come back: what it has not confirmed comes again after "
			 "the next start");
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
		log_error("there is no home for the log: --log DIR says where it is");
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
		log_info("takes batches into '%s'", c.dir);
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
