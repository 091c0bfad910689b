/* plimsoll collect: its options and settings. What it does is in collector.c. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "collector/collector.h"

struct options {
	struct collect_options collect;
	char *texts[2]; /* settings that were split */
	size_t text_count;
};

/* ---- values, from options and from settings ---------------------------------------------------
 */

static bool take_sink(struct context *ctx, const char *value, struct strbuf *why)
{
	struct collect_options *o = &((struct options *)ctx->options)->collect;
	_cleanup_strbuf_ struct strbuf known = STRBUF_INIT;
	size_t kind = strcspn(value, ":");

	for (const struct sink *const *f = sinks; *f; f++) {
		if (strlen((*f)->name) == kind && !strncmp(value, (*f)->name, kind) &&
		    value[kind] == ':' && value[kind + 1]) {
			if (o->sink_count == COLLECT_SINKS_MAX) {
				strbuf_addf(why, "more than %d sinks", COLLECT_SINKS_MAX);
				return false;
			}
			o->sinks[o->sink_count++] = value;
			return true;
		}
		strbuf_addf(&known, "%s%s:%s", known.len ? ", " : "", (*f)->name, (*f)->target);
	}
	_cleanup_free_ char *shown = sink_shown(value);
	strbuf_addf(why, "'%s' is not KIND:TARGET (%s)", shown, known.buf);
	return false;
}

static bool take_bind_colmet(struct context *ctx, const char *value, struct strbuf *why)
{
	struct options *all = ctx->options;
	const char **to = collect_bind_of(&all->collect, SETTING_COLLECT_BIND_COLMET);

	if (to)
		*to = value;
	else
		strbuf_addf(why, "'%s': this build has no such protocol", value);
	return to != NULL;
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "bind", "URI", "take batches from nodes here, tcp://*:5558",
	 AT(struct options, collect.bind), .setting = SETTING_COLLECT_BIND},
	{OPT_CALL, 0, "bind-colmet", "URI", "take messages of colmet's nodes here, tcp://*:5556",
	 .call = take_bind_colmet},
	{OPT_CALL, 's', "sink", "KIND:TARGET", "where data goes; may be given several times",
	 .call = take_sink},
	{OPT_TEXT, 0, "forward", "URI", "send every batch on to another collector",
	 AT(struct options, collect.forward), .setting = SETTING_COLLECT_FORWARD},
	{OPT_TEXT, 0, "server-key", "KEY", "its public key", AT(struct options, collect.server_key),
	 .setting = SETTING_COLLECT_SERVER_KEY},
	{OPT_TEXT, 0, "log", "DIR", "directory of the log and of what sinks have of it",
	 AT(struct options, collect.log)},
	{OPT_SIZE, 0, "log-limit", "SIZE", "take no more while the log is as large as this; none",
	 AT(struct options, collect.log_limit), .setting = SETTING_COLLECT_LOG_LIMIT},
	{OPT_TEXT, 0, "keys", "FILE", "the collector's keys (`plimsoll keys`)",
	 AT(struct options, collect.keys), .setting = SETTING_COLLECT_KEYS},
	{OPT_TEXT, 0, "allow", "FILE", "public keys of the nodes that may send",
	 AT(struct options, collect.allow), .setting = SETTING_COLLECT_ALLOW},
	{OPT_FLAG, 0, "insecure", NULL, "take batches from other hosts without encryption",
	 AT(struct options, collect.insecure), .setting = SETTING_COLLECT_INSECURE},
	{OPT_LIST, 0, "peer", "ADDRESS",
	 "without keys: take data from this address only; may be given several times",
	 LIST(struct options, collect.peers, collect.peer_count)},
	{OPT_COUNT, 0, "connections", "N",
	 "at most so many at once, a quarter of them from one address; what open files allow",
	 AT(struct options, collect.connections), RANGE(1, UINT32_MAX),
	 .setting = SETTING_COLLECT_CONNECTIONS},
	{OPT_TEXT, 0, "credentials", "FILE", "\"user:password\" for sinks that want one",
	 AT(struct options, collect.feed.user_file), .setting = SETTING_COLLECT_CREDENTIALS},
	{OPT_FLAG, 0, "no-check-certificates", NULL, "of servers that sinks speak to",
	 AT(struct options, collect.feed.no_check_certificates)},
	{OPT_TEXT, 0, "prefix", "TEXT", "of the names of indices and tables",
	 AT(struct options, collect.feed.prefix), .setting = SETTING_COLLECT_PREFIX},
	{OPT_COUNT, 0, "level", "N", "of compression of sinks that have it",
	 AT(struct options, collect.feed.level), RANGE(0, 9), .setting = SETTING_COLLECT_LEVEL},
	{OPT_SIZE, 0, "rollover-size", "SIZE", "begin another file beyond this",
	 AT(struct options, collect.feed.rollover_bytes), .setting = SETTING_COLLECT_ROLLOVER_SIZE},
	{OPT_DURATION, 0, "rollover-time", "TIME", "and after this",
	 AT(struct options, collect.feed.rollover_ns), .min = SECONDS,
	 .setting = SETTING_COLLECT_ROLLOVER_TIME},
	{OPT_DURATION, 0, "commit", "TIME",
	 "how long a sink may hold data back to write more at once; each sink's own",
	 AT(struct options, collect.commit_ns), .min = MS, .setting = SETTING_COLLECT_COMMIT},
	{OPT_FLAG, 0, "status", NULL, "show what the collector with this --log does",
	 AT(struct options, collect.status)},
	{OPT_FLAG, 0, "resend", NULL,
	 "send what sinks have refused to them again, while no collector runs, and end",
	 AT(struct options, collect.resend)},
	{OPT_FLAG, 0, "json", NULL, "print JSON", AT(struct options, collect.json)},
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

/* ---- settings, where no option said anything --------------------------------------------------
 */

/* The words of a setting as values of an option, to be freed with the options. */
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

	/* an address that was said is not joined by others of a file */
	bool ports = o->bind || collect_binds_others(o);
	if (ports)
		config_set(&ctx->config, SETTING_COLLECT_BIND, "", "flag");
	for (size_t i = 0; !ports && collector_protocols[i]; i++) {
		const char *value = config_get(&ctx->config, collector_protocols[i]->address);

		o->binds[i] = *value ? value : NULL;
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
	.run = run,
};
