/* plimsoll collect: its options and settings. What it does is in collector.c. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "collector/collector.h"

struct options {
	struct collect_options collect;
	char *texts[8]; /* settings that were split */
	size_t text_count;
};

enum {
	OPT_BIND = 1,
	OPT_BIND_COLMET,
	OPT_SINK,
	OPT_FORWARD,
	OPT_SERVER_KEY,
	OPT_LOG,
	OPT_LOG_LIMIT,
	OPT_KEYS,
	OPT_ALLOW,
	OPT_INSECURE,
	OPT_PEER,
	OPT_CONNECTIONS,
	OPT_CREDENTIALS,
	OPT_NO_CHECK,
	OPT_PREFIX,
	OPT_LEVEL,
	OPT_ROLLOVER_SIZE,
	OPT_ROLLOVER_TIME,
	OPT_COMMIT,
	OPT_STATUS,
	OPT_RESEND,
};

/* ---- values, from options and from settings ---------------------------------------------------
 */

static bool add_sink(struct collect_options *o, const char *value, const char *what)
{
	_cleanup_strbuf_ struct strbuf known = STRBUF_INIT;
	size_t kind = strcspn(value, ":");

	for (const struct sink *const *f = sinks; *f; f++) {
		if (strlen((*f)->name) == kind && !strncmp(value, (*f)->name, kind) &&
		    value[kind] == ':' && value[kind + 1]) {
			if (o->sink_count == COLLECT_SINKS_MAX) {
				usage_error("collect", "more than %d sinks", COLLECT_SINKS_MAX);
				return false;
			}
			o->sinks[o->sink_count++] = value;
			return true;
		}
		strbuf_addf(&known, "%s%s:%s", known.len ? ", " : "", (*f)->name, (*f)->target);
	}
	_cleanup_free_ char *shown = sink_shown(value);
	usage_error("collect", "%s takes KIND:TARGET (%s), not '%s'", what, known.buf, shown);
	return false;
}

static bool add_peer(struct collect_options *o, const char *value, const char *what)
{
	(void)what;
	if (o->peer_count == COLLECT_PEERS_MAX) {
		usage_error("collect", "more than %d peers", COLLECT_PEERS_MAX);
		return false;
	}
	o->peers[o->peer_count++] = value;
	return true;
}

static bool set_size(uint64_t *to, const char *value, const char *what)
{
	if (parse_size(value, to) == 0)
		return true;
	usage_error("collect", "%s wants a size such as 500M or 2G, not '%s'", what, value);
	return false;
}

static bool set_time(uint64_t *to, const char *value, uint64_t least, const char *what)
{
	if (parse_duration_ns(value, to) == 0 && *to >= least)
		return true;
	usage_error("collect", "%s wants a time such as 5s or 1h, not '%s'", what, value);
	return false;
}

static bool set_connections(struct collect_options *o, const char *value, const char *what)
{
	uint64_t v;

	if (parse_u64(value, &v) < 0 || !v || v > UINT32_MAX) {
		usage_error("collect", "%s wants a number such as 5000, not '%s'", what, value);
		return false;
	}
	o->connections = (size_t)v;
	return true;
}

static bool set_level(struct collect_options *o, const char *value, const char *what)
{
	uint64_t v;

	if (parse_u64(value, &v) < 0 || v > 9) {
		usage_error("collect", "%s wants a number from 0 to 9, not '%s'", what, value);
		return false;
	}
	o->feed.level = (int)v;
	return true;
}

static bool set(struct context *ctx, int id, const char *value)
{
	struct options *all = ctx->options;
	struct collect_options *o = &all->collect;
	const struct {
		int id;
		const char **to;
	} texts[] = {
		{OPT_BIND, &o->bind},
		{OPT_BIND_COLMET, collect_bind_of(o, SETTING_COLLECT_BIND_COLMET)},
		{OPT_FORWARD, &o->forward},
		{OPT_SERVER_KEY, &o->server_key},
		{OPT_LOG, &o->log},
		{OPT_KEYS, &o->keys},
		{OPT_ALLOW, &o->allow},
		{OPT_CREDENTIALS, &o->feed.user_file},
		{OPT_PREFIX, &o->feed.prefix},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].id == id && !texts[i].to)
			return !usage_error("collect", "'%s': this build has no such protocol",
					    value);
		else if (texts[i].id == id)
			*texts[i].to = value;
	switch (id) {
	case OPT_SINK:
		return add_sink(o, value, "--sink");
	case OPT_PEER:
		return add_peer(o, value, "--peer");
	case OPT_LOG_LIMIT:
		return set_size(&o->log_limit, value, "--log-limit");
	case OPT_ROLLOVER_SIZE:
		return set_size(&o->feed.rollover_bytes, value, "--rollover-size");
	case OPT_ROLLOVER_TIME:
		return set_time(&o->feed.rollover_ns, value, 1000000000, "--rollover-time");
	case OPT_COMMIT:
		return set_time(&o->commit_ns, value, 1000000, "--commit");
	case OPT_CONNECTIONS:
		return set_connections(o, value, "--connections");
	case OPT_LEVEL:
		return set_level(o, value, "--level");
	case OPT_INSECURE:
		o->insecure = true;
		break;
	case OPT_NO_CHECK:
		o->feed.no_check_certificates = true;
		break;
	case OPT_STATUS:
		o->status = true;
		break;
	case OPT_RESEND:
		o->resend = true;
		break;
	case OPTION_JSON:
		o->json = true;
		break;
	default:
		break;
	}
	return true;
}

/* ---- settings, where no option said anything --------------------------------------------------
 */

/* The words of a setting, to be freed with the options. */
static bool each_word(struct context *ctx, enum setting_id id,
		      bool (*add)(struct collect_options *o, const char *value, const char *what))
{
	struct options *all = ctx->options;
	const char *value = config_get(&ctx->config, id);
	char *save = NULL;

	if (!*value)
		return true;
	char *text = all->texts[all->text_count++] = xstrdup(value);
	for (char *w = strtok_r(text, " \t,", &save); w; w = strtok_r(NULL, " \t,", &save))
		if (!add(&all->collect, w, settings[id].name))
			return false;
	return true;
}

static bool is_yes(const struct context *ctx, enum setting_id id)
{
	const char *value = config_get(&ctx->config, id);

	return !strcmp(value, "yes") || !strcmp(value, "true") || !strcmp(value, "1");
}

static bool use_settings(struct context *ctx)
{
	struct options *all = ctx->options;
	struct collect_options *o = &all->collect;
	const struct {
		enum setting_id id;
		const char **to;
	} texts[] = {
		{SETTING_COLLECT_BIND, &o->bind},
		{SETTING_COLLECT_FORWARD, &o->forward},
		{SETTING_COLLECT_SERVER_KEY, &o->server_key},
		{SETTING_COLLECT_KEYS, &o->keys},
		{SETTING_COLLECT_ALLOW, &o->allow},
		{SETTING_COLLECT_CREDENTIALS, &o->feed.user_file},
		{SETTING_COLLECT_PREFIX, &o->feed.prefix},
	};
	const char *limit = config_get(&ctx->config, SETTING_COLLECT_LOG_LIMIT);
	const char *level = config_get(&ctx->config, SETTING_COLLECT_LEVEL);
	const char *size = config_get(&ctx->config, SETTING_COLLECT_ROLLOVER_SIZE);
	const char *time = config_get(&ctx->config, SETTING_COLLECT_ROLLOVER_TIME);

	/* an address that was said is not joined by others of a file */
	bool ports = o->bind || collect_binds_others(o);
	for (size_t i = 0; !ports && collector_protocols[i]; i++) {
		const char *value = config_get(&ctx->config, collector_protocols[i]->address);

		o->binds[i] = *value ? value : NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const char *value = config_get(&ctx->config, texts[i].id);

		if (!*texts[i].to && *value && !(ports && i == 0))
			*texts[i].to = value;
	}
	o->insecure = o->insecure || is_yes(ctx, SETTING_COLLECT_INSECURE);
	o->feed.no_check_certificates =
		o->feed.no_check_certificates || !is_yes(ctx, SETTING_COLLECT_CHECK_CERTIFICATES);
	if (!o->log_limit && *limit && !set_size(&o->log_limit, limit, "collect_log_limit"))
		return false;
	if (o->feed.level < 0 && *level && !set_level(o, level, "collect_level"))
		return false;
	if (!o->feed.rollover_bytes && *size &&
	    !set_size(&o->feed.rollover_bytes, size, "collect_rollover_size"))
		return false;
	if (!o->feed.rollover_ns && *time &&
	    !set_time(&o->feed.rollover_ns, time, 1000000000, "collect_rollover_time"))
		return false;
	const char *connections = config_get(&ctx->config, SETTING_COLLECT_CONNECTIONS);
	if (!o->connections && *connections &&
	    !set_connections(o, connections, "collect_connections"))
		return false;
	const char *commit = config_get(&ctx->config, SETTING_COLLECT_COMMIT);
	if (!o->commit_ns && *commit && !set_time(&o->commit_ns, commit, 1000000, "collect_commit"))
		return false;
	return (o->sink_count || o->forward || each_word(ctx, SETTING_COLLECT_SINKS, add_sink)) &&
	       (o->peer_count || each_word(ctx, SETTING_COLLECT_PEERS, add_peer));
}

static int checked(struct context *ctx)
{
	const struct options *all = ctx->options;
	const struct collect_options *o = &all->collect;

	if (o->status)
		return do_collect(ctx, o);
	if (!use_settings(ctx))
		return EXIT_USAGE;
	if (o->resend && !o->sink_count)
		return usage_error("collect", "--resend needs the sinks: --sink KIND:TARGET, as "
					      "the collector has them");
	if (o->resend)
		return do_collect(ctx, o);
	if (!o->bind && !collect_binds_others(o))
		return usage_error("collect", "--bind URI or --bind-colmet URI says where nodes "
					      "call: tcp://*:5558");
	if (!o->sink_count && !o->forward)
		return usage_error("collect", "--sink KIND:TARGET or --forward URI says where it "
					      "all goes");
	return do_collect(ctx, o);
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct options *all = ctx->options;

	if (argc)
		return usage_error("collect", "collect takes no argument, but '%s'", argv[0]);
	int status = checked(ctx);
	for (size_t i = 0; i < all->text_count; i++)
		free(all->texts[i]);
	return status;
}

static const struct option_row rows[] = {
	{OPT_BIND, 0, "bind", "URI", "take batches from nodes here, tcp://*:5558"},
	{OPT_BIND_COLMET, 0, "bind-colmet", "URI",
	 "take messages of colmet's nodes here, tcp://*:5556"},
	{OPT_SINK, 's', "sink", "KIND:TARGET", "where data goes; may be given several times"},
	{OPT_FORWARD, 0, "forward", "URI", "send every batch on to another collector"},
	{OPT_SERVER_KEY, 0, "server-key", "KEY", "its public key"},
	{OPT_LOG, 0, "log", "DIR", "directory of the log and of what sinks have of it"},
	{OPT_LOG_LIMIT, 0, "log-limit", "SIZE",
	 "take no more while the log is as large as this; none"},
	{OPT_KEYS, 0, "keys", "FILE", "the collector's keys (`plimsoll keys`)"},
	{OPT_ALLOW, 0, "allow", "FILE", "public keys of the nodes that may send"},
	{OPT_INSECURE, 0, "insecure", NULL, "take batches from other hosts without encryption"},
	{OPT_PEER, 0, "peer", "ADDRESS",
	 "without keys: take data from this address only; may be given several times"},
	{OPT_CONNECTIONS, 0, "connections", "N",
	 "at most so many at once, a quarter of them from one address; what open files allow"},
	{OPT_CREDENTIALS, 0, "credentials", "FILE", "\"user:password\" for sinks that want one"},
	{OPT_NO_CHECK, 0, "no-check-certificates", NULL, "of servers that sinks speak to"},
	{OPT_PREFIX, 0, "prefix", "TEXT", "of the names of indices and tables"},
	{OPT_LEVEL, 0, "level", "N", "of compression of sinks that have it, 0 to 9"},
	{OPT_ROLLOVER_SIZE, 0, "rollover-size", "SIZE", "begin another file beyond this"},
	{OPT_ROLLOVER_TIME, 0, "rollover-time", "TIME", "and after this"},
	{OPT_COMMIT, 0, "commit", "TIME",
	 "how long a sink may hold data back to write more at once; each sink's own"},
	{OPT_STATUS, 0, "status", NULL, "show what the collector with this --log does"},
	{OPT_RESEND, 0, "resend", NULL,
	 "send what sinks have refused to them again, while no collector runs, and end"},
	ROW_JSON,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

static const struct options defaults = {.collect.feed.level = -1};

const struct command command_collect = {
	.name = "collect",
	.summary = "take samples from nodes and put them where they are wanted",
	.arguments = "",
	.description =
		"The daemon that nodes send to (`plimsoll node --connect URI`). What comes is kept in "
		"a log before it is acknowledged, and each sink is fed from that log at its own "
		"speed: one that is slow or away holds up nobody, gets everything later, and has "
		"nothing twice. `plimsoll sinks` lists the kinds. It stays in the foreground, as "
		"service managers want it; share/plimsoll/systemd has a unit.\n\n"
		"An address that other hosts can reach needs keys, or --insecure; --allow lists the "
		"public keys of nodes. Messages of colmet's nodes are neither encrypted nor "
		"authenticated: they have an address of their own, and --peer limits who may send "
		"there. What is none of theirs is counted and dropped, with one line for each "
		"sender.\n\n"
		"While the log is full, or the disk, nothing more is taken: nodes keep what they have. "
		"With --forward collectors form a tree; a batch keeps its name on the way and is "
		"stored once.\n\n"
		"A sink that cannot be reached gets everything later. Only what its server refuses for "
		"what is in it is left out: counted, said, and kept in the sink's directory below "
		"--log (64 MiB, the oldest go first). --resend, with the same --log and --sink, sends "
		"that again once the cause is mended; sinks that are files write it to files of their own "
		"(TARGET-resent.TIME.hdf5, NAME-resent.csv). Its status is 1 when something is refused again, or "
		"there is nothing to send.\n\n"
		"TERM and INT end it when sinks have what was in the log, or after some seconds; the "
		"rest is there at the next start. HUP makes sinks that write files begin new ones, "
		"and reads the list of --allow again; one that is no good changes nothing. "
		"--status shows how full the log is, how far each sink is, and the nodes that were "
		"silent for longest; with --json all nodes (nodes: name, last batch, how many were taken, "
		"dropped by the node, and refused). It ends with 3 when the collector is not running. Every option can stand in the "
		"configuration file as well (`plimsoll config` lists collect_bind and the others).",
	.examples =
		"plimsoll collect --bind tcp://127.0.0.1:5558 --sink stdout:jsonl\n"
		"  what nodes on this host send, line by line\n"
		"plimsoll collect --bind 'tcp://*:5558' --keys /etc/plimsoll/collector.key --allow "
		"/etc/plimsoll/nodes --sink store:postgresql:///jobs --sink prometheus::9465\n"
		"  the usual\n"
		"plimsoll collect --status\n  how far each sink is\n",
	.options = rows,
	.defaults = &defaults,
	.options_size = sizeof(defaults),
	.set = set,
	.run = run,
};
