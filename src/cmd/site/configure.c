/* plimsoll configure: changes period, metrics and sources of a running node daemon. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "cmd/command.h"
#include "core/text/text.h"
#include "node/node.h"
#include "transport/keyring.h"

#define TIMEOUT_NS (10 * SECONDS)

struct options {
	struct node_change change;
	bool show, json;
	uint64_t timeout_ns;
	const char *keys, *server_key;
};

/* The version of the daemon: after an upgrade, the old one may still run. */
static void print_daemon(const struct value *v)
{
	const struct value *pid = value_get(v, "pid"), *since = value_get(v, "since_us");
	const struct value *replaced = value_get(v, "replaced");
	const char *version = value_get_str(v, "version");
	_cleanup_strbuf_ struct strbuf when = STRBUF_INIT;

	/* an old daemon does not report its version */
	if (!version || !pid || pid->kind != VALUE_INT || !since || since->kind != VALUE_INT) {
		printf("daemon   older than " PL_VERSION "; restart it\n");
		return;
	}
	text_add_time(&when, since->integer, false);
	printf("daemon   plimsoll %s, process %lld, since %.10s %.8s%s\n", version,
	       (long long)pid->integer, when.buf, when.len > 19 ? when.buf + 11 : "",
	       replaced && replaced->kind == VALUE_BOOL && replaced->boolean
		       ? "; its program was replaced; restart it"
	       : strcmp(version, PL_VERSION) != 0 ? "; this is " PL_VERSION
						  : "");
}

static void print_answer(const struct value *v)
{
	const struct value *period = value_get(v, "period_ms");
	const struct value *states = value_get(v, "states");
	const char *chosen = value_get_str(v, "metrics"), *names = value_get_str(v, "sources");

	printf("node     %s\n", value_get_str(v, "node") ? value_get_str(v, "node") : "?");
	print_daemon(v);
	if (period && period->kind == VALUE_INT)
		printf("period   %g s\n", (double)period->integer / 1e3);
	printf("metrics  %s\n", chosen && *chosen ? chosen : "all");
	printf("sources  %s\n", names && *names ? names : "default");
	for (size_t i = 0; states && i < value_pairs(states); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		value_to_text(value_at(states, i), &text);
		printf("  %-16s %s\n", value_key(states, i)->str.data, text.buf);
	}
}

/* "collector away; batches: 12 waiting, 3 dropped", and problems. */
static void print_delivery(const struct value *v)
{
	static const char *const keys[] = {"acknowledged", "spooled", "dropped", "refused",
					   "damaged"};
	static const char *const words[] = {"acknowledged", "waiting", "dropped", "refused",
					    "damaged"};
	const struct value *c = value_get(v, "counts"), *problems = value_get(v, "problems");
	const char *collector = c ? value_get_str(c, "collector") : NULL;

	if (collector)
		printf("collector %s; batches:", collector);
	for (size_t i = 0; collector && i < ARRAY_SIZE(keys); i++) {
		const struct value *n = value_get(c, keys[i]);

		if (n && n->kind == VALUE_INT)
			printf("%s %lld %s", i ? "," : "", (long long)n->integer, words[i]);
	}
	if (collector)
		putchar('\n');
	for (size_t i = 0; problems && problems->kind == VALUE_LIST && i < problems->list.count;
	     i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		value_to_text(problems->list.items[i], &text);
		printf("problem  %s\n", text.buf);
	}
}

static int finish(const struct options *o, const struct value *v)
{
	const struct value *ok = value_get(v, "ok");
	bool good = ok && ok->kind == VALUE_BOOL && ok->boolean;

	if (!good) {
		const char *error = value_get_str(v, "error");

		log_error("nothing was changed: %s", error ? error : "the node refused it");
		return EXIT_FAILED;
	}
	if (o->json) {
		_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

		j.pretty = true;
		value_to_json(v, &j, NULL);
		return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	print_answer(v);
	print_delivery(v);
	return EXIT_OK;
}

/* Is the daemon of this socket running? It holds a lock file. */
static bool is_running(const char *uri)
{
	_cleanup_free_ char *path = xasprintf("%s.lock", uri + strlen("ipc://"));
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;
	_cleanup_(keyring_release) struct keyring keys = {0};
	char host[256] = "localhost";

	(void)gethostname(host, sizeof(host) - 1);
	const char *node = argc ? argv[0] : host;
	if (!o->show && !o->change.period && !o->change.metrics && !o->change.sources)
		return usage_error("configure",
				   "configure: nothing to change; give --period, --metrics, "
				   "--sources or --show");
	_cleanup_free_ char *uri = strstr(node, "://")
					   ? xstrdup(node)
					   : node_control_address(&ctx->config, node, false, &why);
	if (!uri || (!strstr(node, "://") && !is_running(uri)))
		return fail_with(EXIT_FAILED,
				 "no node daemon '%s' is running here: %s%s; start it with "
				 "`plimsoll node`",
				 node, uri ? "no socket " : "",
				 uri ? uri + strlen("ipc://") : why.buf);
	const char *file = o->keys ? o->keys : config_get(&ctx->config, SETTING_NODE_KEYS);
	bool tcp = !link_is_local(uri) || str_prefix(uri, "tcp://");
	if (tcp && !*file) {
		log_error("'%s' needs --keys FILE; make one with `plimsoll keys`", uri);
		return EXIT_USAGE;
	}
	if (tcp && (keyring_own(&keys, file, &why) < 0 ||
		    (o->server_key && keyring_server(&keys, o->server_key, &why) < 0)))
		return fail_with(EXIT_FAILED, "%s", why.buf);
	/* by default the key file of the node, whose owner may configure it */
	const struct link_keys lk = {.secret = keys.secret,
				     .public = keys.public,
				     .server = o->server_key ? keys.server : keys.public};
	v = node_ask(uri, tcp ? &lk : NULL, &o->change, o->timeout_ns, &why);
	if (!v)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	return finish(o, v);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'i', "period", "TIME", "time between samples",
	 AT(struct options, change.period)},
	{OPT_TEXT, 'm', "metrics", "LIST", "metrics to send, names or SOURCE.PATTERN; '' for all",
	 AT(struct options, change.metrics)},
	{OPT_TEXT, 's', "sources", "LIST",
	 "sources, NAME[=OPTION][@PERIOD] separated by blanks; '' for the default",
	 AT(struct options, change.sources)},
	{OPT_FLAG, 0, "show", NULL, "change nothing, print the current state",
	 AT(struct options, show)},
	{OPT_DURATION, 0, "timeout", "TIME", "how long to wait for the answer; default 10s",
	 AT(struct options, timeout_ns), .min = 1},
	{OPT_TEXT, 0, "keys", "FILE", "key pair, for a TCP address", AT(struct options, keys)},
	{OPT_TEXT, 0, "server-key", "KEY", "public key of the node; default: that of --keys",
	 AT(struct options, server_key)},
	ROW_JSON(struct options),
	ROWS_COMMON,
};

const struct command command_configure = {
	.name = "configure",
	.summary = "change what a running node daemon samples",
	.operands = {"NODE", 0, 1},
	.description =
		"Sends a request to the daemon `plimsoll node` and prints its new state. NODE is the "
		"name of a node on this host (--name, else the host name), or its --control address. "
		"If any part of a request is invalid, nothing is changed, an error says why, and the "
		"exit status is 1.\n\n"
		"The user that the daemon runs as may configure it through its socket; over TCP, "
		"whoever has the keys of the node, or keys given to it with --allow. Changes last "
		"until the daemon ends or reads its configuration again (SIGHUP).",
	.examples = "plimsoll configure --show\n  the state of the node on this host\n"
		    "plimsoll configure --period 1s --metrics 'jobs.*,system.cpu_*'\n"
		    "  sample more often, send fewer metrics\n",
	OPTIONS(struct options, rows),
	.defaults = &(const struct options){.timeout_ns = TIMEOUT_NS},
	.run = run,
};
