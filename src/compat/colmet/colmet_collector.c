/*
 * Called as `colmet-collector`: the options of colmet's collector (Python, flags without a value)
 * and of the one for its Rust node (flags with one), which become those of `plimsoll collect`.
 * What colmet's zeromq-swap did was dropped by ZeroMQ itself: it is taken with a warning.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/command.h"
#include "collector/collector.h"
#include "compat/colmet/colmet.h"
#include "compat/compat_options.h"
#include "core/text/text.h"

#define BIND_DEFAULT "tcp://0.0.0.0:5556"

enum {
	OPT_HELP,
	OPT_VERSION,
	OPT_VERBOSE,
	OPT_PERIOD,
	OPT_BUFFER,
	OPT_STDOUT,
	OPT_BIND,
	OPT_URI,
	OPT_HWM,
	OPT_LINGER,
	OPT_SWAP,
	OPT_HDF5,
	OPT_LEVEL,
	OPT_LIBRARY,
	OPT_ELASTIC,
	OPT_PREFIX,
	OPT_CREDENTIALS,
	OPT_NO_CHECK,
	OPT_PEER,
	OPT_LOG,
	OPT_SINK,
};

static const struct old_option rows[] = {
	{OPT_HELP, 'h', "help", TAKES_NONE, NULL, "show this and exit"},
	{OPT_VERSION, 0, "version", TAKES_NONE, NULL, "show the version and exit"},
	{OPT_VERBOSE, 'v', "verbose", TAKES_COUNT, "N", "say more; may be repeated"},
	{OPT_PERIOD, 's', "sample-period", TAKES_ONE, "SECONDS",
	 "no effect: messages are taken when they come"},
	{OPT_BUFFER, 0, "buffer-size", TAKES_ONE, "N", "no effect: any number is taken"},
	{OPT_STDOUT, 0, "enable-stdout-backend", TAKES_FLAG, NULL, "show records"},
	{OPT_BIND, 0, "zeromq-bind-uri", TAKES_ONE, "URI", "where nodes send to; " BIND_DEFAULT},
	{OPT_URI, 0, "zeromq-uri", TAKES_ONE, "URI", "the same; records are shown"},
	{OPT_HWM, 0, "zeromq-hwm", TAKES_ONE, "N", "messages that may wait, of each node; 1000"},
	{OPT_LINGER, 0, "zeromq-linger", TAKES_ONE, "MS", "no effect: nothing is sent"},
	{OPT_SWAP, 0, "zeromq-swap", TAKES_ONE, "N", "no effect: ZeroMQ has it no more"},
	{OPT_HDF5, 0, "hdf5-filepath", TAKES_ONE, "PATH",
	 "HDF5 file, or what the names of such files begin with"},
	{OPT_LEVEL, 0, "hdf5-complevel", TAKES_ONE, "N", "its compression, 0 to 9; 0"},
	{OPT_LIBRARY, 0, "hdf5-complib", TAKES_ONE, "NAME", "zlib, in place of others, too"},
	{OPT_ELASTIC, 0, "elastic-host", TAKES_ONE, "URL", "Elasticsearch, http://HOST:9200"},
	{OPT_PREFIX, 0, "elastic-index-prefix", TAKES_ONE, "TEXT", "of its indices; colmet_"},
	{OPT_CREDENTIALS, 'P', "http-credentials", TAKES_ONE, "FILE",
	 "file with user:password for it"},
	{OPT_NO_CHECK, 0, "no-check-certificates", TAKES_FLAG, NULL,
	 "do not check that of its server"},
	{OPT_PEER, 0, "peer", TAKES_ONE, "ADDRESS",
	 "take messages from this address only; may be repeated"},
	{OPT_LOG, 0, "log", TAKES_ONE, "DIR",
	 "where messages are kept until every output has them"},
	{OPT_SINK, 0, "sink", TAKES_ONE, "KIND:TARGET",
	 "another output, as of `plimsoll collect`; may be repeated"},
};

struct colmet_collector {
	struct context *ctx;
	struct collect_options o;
	const char *bind;
	char *hdf5, *elastic; /* as sinks */
	bool help, version, done, shown;
	int level;
};

static bool set(void *user, const struct old_option *r, const char *value, bool on);

static const struct old_program program = {
	.name = "colmet-collector", .rows = rows, .count = ARRAY_SIZE(rows), .set = set};

static int print_help(void)
{
	old_print_help(
		&program,
		"usage: colmet-collector [OPTION...]\n\nTakes what colmet's nodes send and puts "
		"it into files, servers or on the terminal.\n\noptions:\n");
	return EXIT_OK;
}

/* ---- options ----------------------------------------------------------------------------------
 */

static bool set_number(const struct old_option *r, const char *value, uint64_t max, uint64_t *ret)
{
	if (parse_u64(value, ret) == 0 && *ret <= max)
		return true;
	return old_wrong(&program, "--%s takes a whole number up to %llu, not '%s'", r->name,
			 (unsigned long long)max, value);
}

static bool set_seconds(const struct old_option *r, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	if (end != value && !*end && v > 0 && v <= 86400)
		return true;
	return old_wrong(&program, "--%s takes seconds, not '%s'", r->name, value);
}

static bool set_library(const char *value)
{
	static const char *const others[] = {"lzo", "bzip2", "blosc"};

	if (!strcmp(value, "zlib"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(value, others[i])) {
			log_warn("--hdf5-complib %s: zlib is used, which every reader of HDF5 has",
				 value);
			return true;
		}
	return old_wrong(&program, "--hdf5-complib takes zlib, lzo, bzip2 or blosc, not '%s'",
			 value);
}

static bool add_text(const struct old_option *r, const char **list, size_t *count, size_t max,
		     const char *value)
{
	if (*count == max)
		return old_wrong(&program, "--%s: more than %zu of them", r->name, max);
	list[(*count)++] = value;
	return true;
}

static bool set_text(struct colmet_collector *c, const struct old_option *r, const char *value)
{
	switch (r->id) {
	case OPT_URI:
		c->shown = true;
		c->bind = value;
		return true;
	case OPT_BIND:
		c->bind = value;
		return true;
	case OPT_HDF5:
		free(c->hdf5);
		c->hdf5 = xasprintf("hdf5:%s", value);
		return true;
	case OPT_ELASTIC:
		free(c->elastic);
		c->elastic = xasprintf("elastic:%s", value);
		return true;
	case OPT_PREFIX:
		c->o.feed.prefix = value;
		return true;
	case OPT_CREDENTIALS:
		c->o.feed.user_file = value;
		return true;
	case OPT_LOG:
		c->o.log = value;
		return true;
	case OPT_PEER:
		return add_text(r, c->o.peers, &c->o.peer_count, COLLECT_PEERS_MAX, value);
	default:
		return add_text(r, c->o.sinks, &c->o.sink_count, COLLECT_SINKS_MAX - 3, value);
	}
}

static bool set(void *user, const struct old_option *r, const char *value, bool on)
{
	struct colmet_collector *c = user;
	uint64_t n = 0;

	switch (r->id) {
	case OPT_HELP:
		c->help = c->done = true;
		return true;
	case OPT_VERSION:
		c->version = c->done = true;
		return true;
	case OPT_VERBOSE:
		if (value && !set_number(r, value, 9, &n))
			return false;
		c->ctx->verbosity = value ? (int)n : c->ctx->verbosity + 1;
		return true;
	case OPT_PERIOD:
		return set_seconds(r, value);
	case OPT_BUFFER:
	case OPT_LINGER:
		return set_number(r, value, INT64_MAX, &n);
	case OPT_SWAP:
		log_warn("--zeromq-swap has no effect: ZeroMQ has it no more");
		return true;
	case OPT_HWM:
		if (!set_number(r, value, 1000000000, &n))
			return false;
		c->o.high_water = (int)n;
		return true;
	case OPT_LEVEL:
		if (!set_number(r, value, 9, &n))
			return false;
		c->level = (int)n;
		return true;
	case OPT_LIBRARY:
		return set_library(value);
	case OPT_STDOUT:
		c->shown = on;
		return true;
	case OPT_NO_CHECK:
		c->o.feed.no_check_certificates = on;
		return true;
	default:
		return set_text(c, r, value);
	}
}

/* ---- running ----------------------------------------------------------------------------------
 */

/* A log for each address: several collectors may run on a host, as colmet's do. */
static char *log_directory(const struct colmet_collector *c)
{
	_cleanup_free_ char *base = collect_directory(c->ctx, NULL);
	struct strbuf out = STRBUF_INIT;

	if (!base)
		return NULL;
	strbuf_addf(&out, "%s/colmet-", base);
	for (const char *p = c->bind; *p; p++)
		strbuf_addch(&out, isalnum((unsigned char)*p) || *p == '.' ? *p : '_');
	return strbuf_take(&out);
}

static bool add_sinks(struct colmet_collector *c)
{
	if (c->shown)
		c->o.sinks[c->o.sink_count++] = "stdout:text";
	if (c->hdf5)
		c->o.sinks[c->o.sink_count++] = c->hdf5;
	if (c->elastic)
		c->o.sinks[c->o.sink_count++] = c->elastic;
	if (!c->o.sink_count)
		return old_wrong(&program,
				 "at least one output is needed: --enable-stdout-backend, "
				 "--hdf5-filepath PATH or --elastic-host URL");
	for (size_t i = 0; i < c->o.sink_count; i++) {
		_cleanup_free_ char *kind = xstrndup(c->o.sinks[i], strcspn(c->o.sinks[i], ":"));

		if (!strchr(c->o.sinks[i], ':') || !sink_find(kind))
			return old_wrong(&program, "there is no output '%s'", c->o.sinks[i]);
	}
	return true;
}

static int run(struct colmet_collector *c)
{
	_cleanup_free_ char *dir = NULL;

	if (!c->bind)
		c->bind = BIND_DEFAULT;
	*collect_bind_of(&c->o, SETTING_COLLECT_BIND_COLMET) = c->bind;
	if (!add_sinks(c))
		return EXIT_USAGE;
	if (!c->o.log)
		c->o.log = dir = log_directory(c);
	c->o.feed.layout = &row_layout_colmet;
	c->o.feed.level = c->level;
	if (!c->o.feed.prefix)
		c->o.feed.prefix = "colmet_";
	/* as colmet has it: warnings, with one -v what happens, with two everything */
	log_init(c->ctx->program, c->ctx->verbosity > 1   ? LOG_DEBUG
				  : c->ctx->verbosity > 0 ? LOG_INFO
							  : LOG_WARN);
	return do_collect(c->ctx, &c->o);
}

static int run_colmet_collector(struct context *ctx, int argc, char **argv)
{
	struct colmet_collector c = {.ctx = ctx};

	int status = !old_parse(&program, &c, argv + (argc > 0), &c.done) ? EXIT_USAGE
		     : c.help                                             ? print_help()
		     : c.version ? (puts("colmet-collector " PL_VERSION " (plimsoll)"), EXIT_OK)
				 : run(&c);
	free(c.hdf5);
	free(c.elastic);
	return status;
}

const struct personality personality_colmet_collector = {
	.name = "colmet-collector",
	.run = run_colmet_collector,
	.shell_prefix = "plimsoll",
	.variable_prefix = "PLIMSOLL",
};
