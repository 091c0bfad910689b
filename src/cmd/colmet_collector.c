/*
 * Called as `colmet-collector`: the options of colmet's collector (Python, flags without a value)
 * and of the one for its Rust node (flags with one), which become those of `plimsoll collect`.
 * Dashes and underscores in names are the same, names may be shortened. What colmet's zeromq-swap
 * did was dropped by ZeroMQ itself: it is taken with a warning.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include "cmd/collect.h"
#include "cmd/personality.h"
#include "core/text.h"

#define BIND_DEFAULT "tcp://0.0.0.0:5556"

enum takes {
	TAKES_NONE,
	TAKES_ONE,
	TAKES_FLAG,  /* true or false behind it, or nothing */
	TAKES_COUNT, /* a number, or nothing: one more */
};

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

static const struct colmet_option {
	int id;
	char letter;
	const char *name;
	enum takes takes;
	const char *value, *help;
} rows[] = {
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
	char *hdf5, *elastic; /* as sinks */
	bool help, version, shown;
	int level;
};

/* ---- help -------------------------------------------------------------------------------------
 */

static int print_help(void)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	strbuf_addstr(&out, "usage: colmet-collector [OPTION...]\n\nTakes what colmet's nodes send "
			    "and puts it into files, servers or on the terminal.\n\noptions:\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		strbuf_addstr(&out, "  ");
		if (rows[i].letter)
			strbuf_addf(&out, "-%c, ", rows[i].letter);
		strbuf_addf(&out, "--%s", rows[i].name);
		if (rows[i].takes == TAKES_FLAG)
			strbuf_addstr(&out, " [true|false]");
		else if (rows[i].value)
			strbuf_addf(&out, rows[i].takes == TAKES_COUNT ? " [%s]" : " %s",
				    rows[i].value);
		strbuf_addf(&out, "\n      %s\n", rows[i].help);
	}
	fwrite(out.buf, 1, out.len, stdout);
	return EXIT_OK;
}

static bool wrong(const char *fmt, ...) PL_PRINTF(1, 2);

/* What is wrong with the command line; false, for the caller to pass on. */
static bool wrong(const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_addstr(&out, "colmet-collector: error: ");
	text_add_printable(&out, text.buf, text.len);
	strbuf_addstr(&out, " (colmet-collector --help lists the options)\n");
	fwrite(out.buf, 1, out.len, stderr);
	return false;
}

/* ---- options ----------------------------------------------------------------------------------
 */

static bool set_number(const struct colmet_option *r, const char *value, uint64_t max,
		       uint64_t *ret)
{
	if (parse_u64(value, ret) == 0 && *ret <= max)
		return true;
	return wrong("--%s takes a whole number up to %llu, not '%s'", r->name,
		     (unsigned long long)max, value);
}

static bool set_seconds(const struct colmet_option *r, const char *value)
{
	char *end;
	double v = strtod(value, &end);

	if (end != value && !*end && v > 0 && v <= 86400)
		return true;
	return wrong("--%s takes seconds, not '%s'", r->name, value);
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
	return wrong("--hdf5-complib takes zlib, lzo, bzip2 or blosc, not '%s'", value);
}

static bool add_text(const struct colmet_option *r, const char **list, size_t *count, size_t max,
		     const char *value)
{
	if (*count == max)
		return wrong("--%s: more than %zu of them", r->name, max);
	list[(*count)++] = value;
	return true;
}

static bool set_text(struct colmet_collector *c, const struct colmet_option *r, const char *value)
{
	switch (r->id) {
	case OPT_URI:
		c->shown = true;
		c->o.bind_colmet = value;
		return true;
	case OPT_BIND:
		c->o.bind_colmet = value;
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

/* value NULL: left out. on: of a flag. */
static bool set(struct colmet_collector *c, const struct colmet_option *r, const char *value,
		bool on)
{
	uint64_t n = 0;

	switch (r->id) {
	case OPT_HELP:
		c->help = true;
		return true;
	case OPT_VERSION:
		c->version = true;
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
		c->o.colmet_high_water = (int)n;
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

/* ---- parsing ----------------------------------------------------------------------------------
 */

/* true, false and the like; -1: none of them. */
static int truth(const char *word)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};

	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(word, words[i]))
			return i % 2;
	return -1;
}

static bool is_number(const char *word)
{
	return word && *word && strspn(word, "0123456789") == strlen(word);
}

/* Takes an option; given: what stood with it in one word. */
static bool take(struct colmet_collector *c, const struct colmet_option *r, const char *given,
		 char ***next)
{
	switch (r->takes) {
	case TAKES_NONE:
		return given ? wrong("--%s takes no value", r->name) : set(c, r, NULL, true);
	case TAKES_FLAG:
		if (given && truth(given) < 0)
			return wrong("--%s takes true or false, not '%s'", r->name, given);
		if (!given && truth(**next) >= 0)
			given = *(*next)++;
		return set(c, r, NULL, !given || truth(given) == 1);
	case TAKES_COUNT:
		if (!given && is_number(**next))
			given = *(*next)++;
		return set(c, r, given, true);
	default:
		if (!given && !**next)
			return wrong("--%s needs a value", r->name);
		return set(c, r, given ? given : *(*next)++, true);
	}
}

static bool same_name(const char *name, const char *arg, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((name[i] == '_' ? '-' : name[i]) != (arg[i] == '_' ? '-' : arg[i]))
			return false;
	return true;
}

static bool take_long(struct colmet_collector *c, const char *arg, char ***next)
{
	const char *equals = strchr(arg, '=');
	size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct colmet_option *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows) && n; i++) {
		if (strlen(rows[i].name) < n || !same_name(rows[i].name, arg, n))
			continue;
		if (!rows[i].name[n]) {
			found = &rows[i];
			break;
		}
		if (found)
			return wrong("--%s can be --%s or --%s", arg, found->name, rows[i].name);
		found = &rows[i];
	}
	if (!found)
		return wrong("there is no option --%s", arg);
	return take(c, found, equals ? equals + 1 : NULL, next);
}

/* "-vvv", "-v 3", "-v3", "-s 5", "-s5". */
static bool take_letters(struct colmet_collector *c, const char *letters, char ***next)
{
	for (; *letters; letters++) {
		const struct colmet_option *r = NULL;
		char *none = NULL, **nothing = &none;

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			if (rows[i].letter == *letters)
				r = &rows[i];
		if (!r)
			return wrong("there is no option -%c", *letters);
		if (r->takes == TAKES_ONE)
			return take(c, r, letters[1] ? letters + 1 + (letters[1] == '=') : NULL,
				    next);
		if (r->takes == TAKES_COUNT && is_number(letters + 1))
			return take(c, r, letters + 1, next);
		if (!take(c, r, NULL, letters[1] ? &nothing : next))
			return false;
	}
	return true;
}

static bool parse(struct colmet_collector *c, char **argv)
{
	for (char **next = argv; *next && !c->help && !c->version;) {
		const char *arg = *next++;

		if (arg[0] != '-' || !arg[1])
			return wrong("there is nothing for '%s' to mean", arg);
		if (!(arg[1] == '-' ? take_long(c, arg + 2, &next)
				    : take_letters(c, arg + 1, &next)))
			return false;
	}
	return true;
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
	for (const char *p = c->o.bind_colmet; *p; p++)
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
		return wrong("at least one output is needed: --enable-stdout-backend, "
			     "--hdf5-filepath PATH or --elastic-host URL");
	for (size_t i = 0; i < c->o.sink_count; i++) {
		_cleanup_free_ char *kind = xstrndup(c->o.sinks[i], strcspn(c->o.sinks[i], ":"));

		if (!strchr(c->o.sinks[i], ':') || !feed_find(kind))
			return wrong("there is no output '%s'", c->o.sinks[i]);
	}
	return true;
}

static int run(struct colmet_collector *c)
{
	_cleanup_free_ char *dir = NULL;

	if (!c->o.bind_colmet)
		c->o.bind_colmet = BIND_DEFAULT;
	if (!add_sinks(c))
		return EXIT_USAGE;
	if (!c->o.log)
		c->o.log = dir = log_directory(c);
	c->o.feed.colmet = true;
	c->o.feed.level = c->level;
	if (!c->o.feed.prefix)
		c->o.feed.prefix = "colmet_";
	/* as colmet has it: warnings, with one -v what happens, with two everything */
	log_init(c->ctx->program, c->ctx->verbosity > 1   ? LOG_DEBUG
				  : c->ctx->verbosity > 0 ? LOG_INFO
							  : LOG_WARN);
	return do_collect(c->ctx, &c->o);
}

int run_colmet_collector(struct context *ctx, int argc, char **argv)
{
	struct colmet_collector c = {.ctx = ctx};

	int status = !parse(&c, argv + (argc > 0)) ? EXIT_USAGE
		     : c.help                      ? print_help()
		     : c.version ? (puts("colmet-collector " PL_VERSION " (plimsoll)"), EXIT_OK)
				 : run(&c);
	free(c.hdf5);
	free(c.elastic);
	return status;
}
