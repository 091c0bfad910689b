/*
 * Called as `colmet-collector`: the options of colmet's collector (Python, flags without a value)
 * and of the one for its Rust node (flags with one), which become those of `plimsoll collect`.
 * What colmet's zeromq-swap did was dropped by ZeroMQ itself: it is taken with a warning.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "collector/collector.h"
#include "compat/colmet/colmet.h"
#include "compat/options/compat_options.h"
#include "core/text/text.h"

#define BIND_DEFAULT "tcp://0.0.0.0:5556"

struct colmet_collector {
	struct context *ctx;
	struct collect_options o;
	const char *bind, *hdf5, *elastic;
	bool shown;
	int64_t verbosity, level, high_water;
};

static const struct old_program program;

/* ---- options -------------------------------------------------------------------------------- */

static bool check_seconds(void *user PL_UNUSED, const struct old_option *r, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	if (end != value && !*end && v > 0 && v <= 86400)
		return true;
	return old_wrong(&program, "--%s takes seconds, not '%s'", r->name, value);
}

static bool warn_swap(void *user PL_UNUSED, const struct old_option *r, const char *value PL_UNUSED)
{
	log_warn("--%s has no effect: ZeroMQ no longer has it", r->name);
	return true;
}

static bool check_library(void *user PL_UNUSED, const struct old_option *r, const char *value)
{
	static const char *const others[] = {"lzo", "bzip2", "blosc"};

	if (!strcmp(value, "zlib"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!strcmp(value, others[i])) {
			log_warn("--%s %s: zlib is used, which every reader of HDF5 has", r->name,
				 value);
			return true;
		}
	return old_wrong(&program, "--%s takes zlib, lzo, bzip2 or blosc, not '%s'", r->name,
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

static bool add_peer(void *user, const struct old_option *r, const char *value)
{
	struct collect_options *o = &((struct colmet_collector *)user)->o;

	return add_text(r, o->peers, &o->peer_count, COLLECT_PEERS_MAX, value);
}

static bool add_sink(void *user, const struct old_option *r, const char *value)
{
	struct collect_options *o = &((struct colmet_collector *)user)->o;

	return add_text(r, o->sinks, &o->sink_count, COLLECT_SINKS_MAX - 3, value);
}

static bool show_records(void *user, const struct old_option *r PL_UNUSED,
			 const char *value PL_UNUSED)
{
	((struct colmet_collector *)user)->shown = true;
	return true;
}

#define TEXT(member) TEXT_AT(struct colmet_collector, member)
#define FLAG(member) FLAG_AT(struct colmet_collector, member)
#define NUMBER(member, max) NUMBER_AT(struct colmet_collector, member, 0, max)

static const struct old_option rows[] = {
	ROW_HELP,
	ROW_VERSION,
	{'v', "verbose", TAKES_COUNT, "N", "say more; may be repeated", NUMBER(verbosity, 9)},
	{'s', "sample-period", TAKES_ONE, "SECONDS", "no effect: messages are taken when they come",
	 .take = check_seconds},
	{0, "buffer-size", TAKES_ONE, "N", "no effect: any number is taken", .max = INT64_MAX},
	{0, "enable-stdout-backend", TAKES_FLAG, NULL, "show records", FLAG(shown)},
	{0, "zeromq-bind-uri", TAKES_ONE, "URI", "where nodes send to; " BIND_DEFAULT, TEXT(bind)},
	{0, "zeromq-uri", TAKES_ONE, "URI", "the same; records are shown", TEXT(bind),
	 .take = show_records},
	{0, "zeromq-hwm", TAKES_ONE, "N", "messages that may wait, of each node; 1000",
	 NUMBER(high_water, 1000000000)},
	{0, "zeromq-linger", TAKES_ONE, "MS", "no effect: nothing is sent", .max = INT64_MAX},
	{0, "zeromq-swap", TAKES_ONE, "N", "no effect: ZeroMQ no longer has it", .take = warn_swap},
	{0, "hdf5-filepath", TAKES_ONE, "PATH",
	 "HDF5 file, or what the names of such files begin with", TEXT(hdf5)},
	{0, "hdf5-complevel", TAKES_ONE, "N", "its compression, 0 to 9; 0", NUMBER(level, 9)},
	{0, "hdf5-complib", TAKES_ONE, "NAME", "zlib, in place of others, too",
	 .take = check_library},
	{0, "elastic-host", TAKES_ONE, "URL", "Elasticsearch, http://HOST:9200", TEXT(elastic)},
	{0, "elastic-index-prefix", TAKES_ONE, "TEXT", "of its indices; colmet_",
	 TEXT(o.feed.prefix)},
	{'P', "http-credentials", TAKES_ONE, "FILE", "file with user:password for it",
	 TEXT(o.feed.user_file)},
	{0, "no-check-certificates", TAKES_FLAG, NULL,
	 "do not verify the certificate of its server", FLAG(o.feed.no_check_certificates)},
	{0, "peer", TAKES_ONE, "ADDRESS", "take messages from this address only; may be repeated",
	 .take = add_peer},
	{0, "log", TAKES_ONE, "DIR", "where messages are kept until every output has them",
	 TEXT(o.log)},
	{0, "sink", TAKES_ONE, "KIND:TARGET",
	 "another output, as of `plimsoll collect`; may be repeated", .take = add_sink},
};

static const struct old_program program = {
	.name = "colmet-collector",
	.rows = rows,
	.count = ARRAY_SIZE(rows),
	.about =
		"usage: colmet-collector [OPTION...]\n\nTakes what colmet's nodes send and puts it into "
		"files, servers or on the terminal.\n\noptions:\n",
};

/* ---- running -------------------------------------------------------------------------------- */

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

static bool add_sinks(struct colmet_collector *c, char *hdf5, char *elastic)
{
	if (c->shown)
		c->o.sinks[c->o.sink_count++] = "stdout:text";
	if (c->hdf5)
		c->o.sinks[c->o.sink_count++] = hdf5;
	if (c->elastic)
		c->o.sinks[c->o.sink_count++] = elastic;
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
	_cleanup_free_ char *hdf5 = xasprintf("hdf5:%s", c->hdf5 ? c->hdf5 : "");
	_cleanup_free_ char *elastic = xasprintf("elastic:%s", c->elastic ? c->elastic : "");

	if (!c->bind)
		c->bind = BIND_DEFAULT;
	*collect_bind_of(&c->o, SETTING_COLLECT_BIND_COLMET) = c->bind;
	if (!add_sinks(c, hdf5, elastic))
		return EXIT_USAGE;
	if (!c->o.log)
		c->o.log = dir = log_directory(c);
	c->o.feed.layout = &row_layout_colmet;
	c->o.feed.level = (int)c->level;
	c->o.high_water = (int)c->high_water;
	c->ctx->verbosity = (int)c->verbosity;
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
	struct colmet_collector c = {.ctx = ctx, .verbosity = ctx->verbosity};
	int status = old_parse(&program, &c, argv + (argc > 0));

	return status < 0 ? run(&c) : status;
}

const struct personality personality_colmet_collector = {
	.name = "colmet-collector",
	.run = run_colmet_collector,
	.shell_prefix = "plimsoll",
	.variable_prefix = "PLIMSOLL",
};
