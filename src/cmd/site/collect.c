/* plimsoll collect: its options and settings; collector/collector.c does the work. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "collector/collector.h"

struct options {
	struct collect_options collect;
	char *texts[2]; /* copies of settings that were split */
	size_t text_count;
};

/* ---- values from options and settings ------------------------------------------------------- */

static bool take_sink(struct context *ctx, const char *value, struct strbuf *why)
{
	struct collect_options *o = &((struct options *)ctx->options)->collect;
	_cleanup_strbuf_ struct strbuf known = STRBUF_INIT;
	size_t kind = strcspn(value, ":");

	for (const struct sink *const *f = sinks; *f; f++) {
		if (strlen((*f)->name) == kind && !strncmp(value, (*f)->name, kind) &&
		    value[kind] == ':' && value[kind + 1]) {
			if (o->sink_count == COLLECT_SINKS_MAX) {
				strbuf_addf(why, "at most %d sinks are allowed", COLLECT_SINKS_MAX);
				return false;
			}
			o->sinks[o->sink_count++] = value;
			return true;
		}
		strbuf_addf(&known, "%s%s:%s", known.len ? ", " : "", (*f)->name, (*f)->target);
	}
	_cleanup_free_ char *shown = sink_shown(value);
	strbuf_addf(why, "invalid sink '%s', expected KIND:TARGET (%s)", shown, known.buf);
	return false;
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "bind", "URI", "receive batches from nodes here, such as tcp://*:5558",
	 AT(struct options, collect.bind), .setting = SETTING_COLLECT_BIND},
#define COLLECTOR_PROTOCOL(symbol, option, id, text)                     \
	{OPT_TEXT,                                                       \
	 0,                                                              \
	 option,                                                         \
	 "URI",                                                          \
	 text,                                                           \
	 AT(struct options, collect.binds[COLLECTOR_PROTOCOL_##symbol]), \
	 .setting = SETTING_##id},
#include "collector/collector_protocols.def"
#undef COLLECTOR_PROTOCOL
	{OPT_CALL, 's', "sink", "KIND:TARGET", "where to deliver samples; can be repeated",
	 .call = take_sink},
	{OPT_TEXT, 0, "forward", "URI", "forward every batch to another collector",
	 AT(struct options, collect.forward), .setting = SETTING_COLLECT_FORWARD},
	{OPT_TEXT, 0, "server-key", "KEY", "public key of the collector of --forward",
	 AT(struct options, collect.server_key), .setting = SETTING_COLLECT_SERVER_KEY},
	{OPT_TEXT, 0, "log", "DIR", "directory of the log and the positions of the sinks in it",
	 AT(struct options, collect.log)},
	{OPT_SIZE, 0, "log-limit", "SIZE",
	 "accept no batches while the log is larger; default: no limit",
	 AT(struct options, collect.log_limit), .setting = SETTING_COLLECT_LOG_LIMIT},
	{OPT_TEXT, 0, "keys", "FILE", "key pair of the collector (`plimsoll keys`)",
	 AT(struct options, collect.keys), .setting = SETTING_COLLECT_KEYS},
	{OPT_TEXT, 0, "allow", "FILE", "public keys of the nodes that may send",
	 AT(struct options, collect.allow), .setting = SETTING_COLLECT_ALLOW},
	{OPT_FLAG, 0, "insecure", NULL, "accept batches from other hosts without encryption",
	 AT(struct options, collect.insecure), .setting = SETTING_COLLECT_INSECURE},
	{OPT_LIST, 0, "peer", "ADDRESS",
	 "without keys: accept data from this address only; can be repeated",
	 LIST(struct options, collect.peers, collect.peer_count)},
	{OPT_COUNT, 0, "connections", "N",
	 "maximum number of connections, a quarter of them from one address; default: by the limit "
	 "on open files",
	 AT(struct options, collect.connections), RANGE(1, UINT32_MAX),
	 .setting = SETTING_COLLECT_CONNECTIONS},
	{OPT_TEXT, 0, "credentials", "FILE", "file with \"user:password\" for sinks that need it",
	 AT(struct options, collect.feed.user_file), .setting = SETTING_COLLECT_CREDENTIALS},
	{OPT_FLAG, 0, "no-check-certificates", NULL,
	 "do not verify TLS certificates of sink servers",
	 AT(struct options, collect.feed.no_check_certificates)},
	{OPT_TEXT, 0, "prefix", "TEXT", "prefix of the names of indices and tables",
	 AT(struct options, collect.feed.prefix), .setting = SETTING_COLLECT_PREFIX},
	{OPT_COUNT, 0, "level", "N", "compression level, for sinks that compress",
	 AT(struct options, collect.feed.level), RANGE(0, 9), .setting = SETTING_COLLECT_LEVEL},
	{OPT_SIZE, 0, "rollover-size", "SIZE", "start a new file above this size",
	 AT(struct options, collect.feed.rollover_bytes), .setting = SETTING_COLLECT_ROLLOVER_SIZE},
	{OPT_DURATION, 0, "rollover-time", "TIME", "start a new file after this time",
	 AT(struct options, collect.feed.rollover_ns), .min = SECONDS,
	 .setting = SETTING_COLLECT_ROLLOVER_TIME},
	{OPT_DURATION, 0, "commit", "TIME",
	 "how long a sink may buffer data; default: depends on the sink",
	 AT(struct options, collect.commit_ns), .min = MS, .setting = SETTING_COLLECT_COMMIT},
	{OPT_FLAG, 0, "status", NULL, "print the state of the collector with this --log",
	 AT(struct options, collect.status)},
	{OPT_FLAG, 0, "resend", NULL,
	 "send data that sinks refused again, while no collector runs, and end",
	 AT(struct options, collect.resend)},
	{OPT_FLAG, 0, "json", NULL, "print JSON", AT(struct options, collect.json)},
	ROWS_COMMON,
};

/* ---- settings, unless options override them ------------------------------------------------- */

/* Takes each word of a setting as a value of an option. */
static bool each_word(struct context *ctx, enum setting_id id, const char *option)
{
	struct options *all = ctx->options;
	const char *value = config_get(&ctx->config, id);
	const struct option_row *o = rows;
	char *save = NULL;

	if (!*value)
		return true;
	while (strcmp(o->name, option) != 0)
		o++;
	char *text = all->texts[all->text_count++] = xstrdup(value);
	for (char *w = strtok_r(text, " \t,", &save); w; w = strtok_r(NULL, " \t,", &save))
		if (!option_take(o, "collect", settings[id].name, ctx, w))
			return false;
	return true;
}

static bool use_settings(struct context *ctx)
{
	struct options *all = ctx->options;
	struct collect_options *o = &all->collect;
	const char *check = config_get(&ctx->config, SETTING_COLLECT_CHECK_CERTIFICATES);

	/* an address on the command line replaces all configured ones */
	if (o->bind || collect_binds_others(o)) {
		config_set(&ctx->config, SETTING_COLLECT_BIND, "", "flag");
		for (size_t i = 0; collector_protocols[i]; i++)
			config_set(&ctx->config, collector_protocols[i]->address, "", "flag");
	}
	o->feed.no_check_certificates = o->feed.no_check_certificates || !option_is_yes(check);
	return options_use_settings(rows, "collect", ctx) &&
	       (o->sink_count || o->forward || each_word(ctx, SETTING_COLLECT_SINKS, "sink")) &&
	       (o->peer_count || each_word(ctx, SETTING_COLLECT_PEERS, "peer"));
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
		return usage_error("collect",
				   "collect: --resend needs the sinks of the collector, --sink "
				   "KIND:TARGET");
	if (o->resend)
		return do_collect(ctx, o);
	if (!o->bind && !collect_binds_others(o))
		return usage_error("collect", "%s",
				   "collect: give the address for nodes with --bind URI"
#define COLLECTOR_PROTOCOL(symbol, option, ...) " or --" option " URI"
#include "collector/collector_protocols.def"
#undef COLLECTOR_PROTOCOL
				   ", such as tcp://*:5558");
	if (!o->sink_count && !o->forward)
		return usage_error("collect",
				   "collect: give a destination with --sink KIND:TARGET or "
				   "--forward URI");
	return do_collect(ctx, o);
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	struct options *all = ctx->options;
	int status = checked(ctx);

	for (size_t i = 0; i < all->text_count; i++)
		free(all->texts[i]);
	return status;
}

static const struct options defaults = {.collect.feed.level = -1};

const struct command command_collect = {
	.name = "collect",
	.summary = "receive samples from nodes and deliver them to sinks",
	.description =
		"The daemon that nodes send to (`plimsoll node --connect URI`). Batches are written to "
		"a log before they are acknowledged, and each sink reads that log at its own speed: a "
		"slow or unreachable sink delays no other, gets everything later, and nothing twice. "
		"`plimsoll sinks` lists the kinds of sinks. The collector stays in the foreground, as "
		"service managers expect; share/plimsoll/systemd has a unit file.\n\n"
		"An address that other hosts can reach needs keys or --insecure; --allow lists the "
		"public keys of the nodes. Messages from nodes of other tools are neither encrypted nor "
		"authenticated: they have a separate address, and --peer limits who may send there. "
		"Invalid messages are counted and dropped, and logged once per sender.\n\n"
		"While the log or the disk is full, the collector accepts nothing and nodes keep their "
		"samples. With --forward, collectors form a tree; a batch keeps its identity and is "
		"stored once.\n\n"
		"A sink that cannot be reached gets everything later. Only data that its server "
		"refuses because of its content is skipped: it is counted, logged, and kept in the "
		"directory of the sink below --log (up to 64 MiB, the oldest is dropped first). "
		"--resend, with the same --log and --sink, sends it again once the cause is fixed; "
		"sinks that are files write it to separate files (TARGET-resent.TIME.hdf5, "
		"NAME-resent.csv). The exit status is 1 if data is refused again or there is nothing "
		"to send.\n\n"
		"SIGTERM and SIGINT end the collector when the sinks have everything in the log, or "
		"after some seconds; the rest is delivered after the next start. SIGHUP makes sinks "
		"start new files and reads the file of --allow again; an invalid file is ignored. "
		"--status shows how full the log is, the position of each sink, and the nodes that "
		"were silent longest; with --json all nodes (nodes: name, last batch, and the numbers "
		"of batches accepted, dropped by the node, and refused). It exits with 3 if the "
		"collector is not running. Every option can also be set in the configuration file "
		"(`plimsoll config` lists collect_bind and the others).",
	.examples =
		"plimsoll collect --bind tcp://127.0.0.1:5558 --sink stdout:jsonl\n"
		"  print what nodes on this host send\n"
		"plimsoll collect --bind 'tcp://*:5558' --keys /etc/plimsoll/collector.key --allow "
		"/etc/plimsoll/nodes --sink store:postgresql:///jobs --sink prometheus::9465\n"
		"  a typical site\n"
		"plimsoll collect --status\n  the position of each sink\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
