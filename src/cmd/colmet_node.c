/*
 * Called as `colmet-node`: the options of both of colmet's node programs, the Python one's (flags
 * without a value) and the Rust one's (every flag with one), and as `colmet-node-config`, the Rust
 * one's tool. Dashes and underscores in names are the same. What the options mean is put into the
 * settings of the node daemon, which sends colmet's records.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cmd/colmet_node.h"
#include "cmd/personality.h"
#include "core/fs.h"
#include "core/text.h"
#include "formats/colmet.h"
#include "pipeline/link.h"

enum takes {
	TAKES_NONE,
	TAKES_ONE,
	TAKES_FLAG,  /* true or false behind it, or nothing */
	TAKES_COUNT, /* a number, or nothing: one more */
	TAKES_MANY,  /* all words up to the next option */
};

static const struct colmet_node_option {
	int id;
	char letter;
	const char *name;
	enum takes takes;
	const char *value, *help;
} rows[] = {
	{COLMET_HELP, 'h', "help", TAKES_NONE, NULL, "show this and exit"},
	{COLMET_VERSION, 0, "version", TAKES_NONE, NULL, "show the version and exit"},
	{COLMET_VERBOSE, 'v', "verbose", TAKES_COUNT, "N", "say more; may be repeated"},
	{COLMET_PERIOD, 's', "sample-period", TAKES_ONE, "SECONDS", "time between samples; 5"},
	{COLMET_METRICS, 'm', "metrics", TAKES_ONE, "LIST",
	 "metrics that are sent, NAME or NAME:PERIOD:JOB with commas between"},
	{COLMET_FILE_METRICS, 'f', "file_metrics", TAKES_ONE, "FILE", "the same from a file"},
	{COLMET_NO_PROCSTATS, 0, "disable-procstats", TAKES_FLAG, NULL, "leave out the node"},
	{COLMET_INFINIBAND, 0, "enable-infiniband", TAKES_FLAG, NULL, "counters of ports"},
	{COLMET_OMNIPATH, 0, "omnipath", TAKES_FLAG, NULL,
	 "no effect: the unit of a port's counters is known"},
	{COLMET_LUSTRE, 0, "enable-lustre", TAKES_FLAG, NULL, "Lustre mounts"},
	{COLMET_LUSTRE_PREFIX, 0, "lustre-prefix", TAKES_ONE, "PREFIX",
	 "names of mounts begin with this; lustre"},
	{COLMET_PERFHW, 0, "enable-perfhw", TAKES_FLAG, NULL, "counters of jobs"},
	{COLMET_PERFHW_LIST, 0, "perfhw-list", TAKES_MANY, "EVENT",
	 "which: 5 at most; instructions cache_misses page_faults"},
	{COLMET_JOBPROC, 0, "enable-jobproc", TAKES_FLAG, NULL, "sums over jobs' processes"},
	{COLMET_RAPL, 0, "enable-RAPL", TAKES_FLAG, NULL, "energy of packages"},
	{COLMET_TEMPERATURE, 0, "enable-temperature", TAKES_FLAG, NULL, "thermal zones"},
	{COLMET_IPMIPOWER, 0, "enable-ipmipower", TAKES_FLAG, NULL, "power of the node"},
	{COLMET_IPMIPOWER_CMD, 0, "ipmipower-cmd", TAKES_MANY, "WORD", "command that tells it"},
	{COLMET_NVIDIA, 0, "enable-nvidia", TAKES_FLAG, NULL, "GPUs of jobs"},
	{COLMET_CGROUP, 'c', "cgroup", TAKES_ONE, "DIR", "this control group is a job, too"},
	{COLMET_PID, 'p', "pid", TAKES_ONE, "PID", "this process is one, with all it starts"},
	{COLMET_TID, 't', "tid", TAKES_ONE, "TID", "the process of this thread"},
	{COLMET_CPUSET, 0, "cpuset_rootpath", TAKES_ONE, "DIR",
	 "where jobs' groups are; may be repeated; OAR's"},
	{COLMET_REGEX, 0, "regex_job_id", TAKES_ONE, "REGEX",
	 "names of groups that are jobs; may be repeated; _(\\d+)$"},
	{COLMET_ROOT, 0, "cgroup-root-path", TAKES_ONE, "DIR", "where groups are; /sys/fs/cgroup"},
	{COLMET_SUFFIX, 0, "cgroup-path-suffix", TAKES_ONE, "DIR", "and jobs below cpuset; /oar"},
	{COLMET_WAIT, 0, "wait-cgroup-cpuset-path", TAKES_FLAG, NULL,
	 "wait for that directory; true"},
	{COLMET_URI, 0, "zeromq-uri", TAKES_ONE, "URI", "collector; tcp://127.0.0.1:5556"},
	{COLMET_HWM, 0, "zeromq-hwm", TAKES_ONE, "N", "messages that may wait for it; 1000"},
	{COLMET_LINGER, 0, "zeromq-linger", TAKES_ONE, "MS", "how long at the end; 0"},
	{COLMET_CONFIG, 0, "colmet-config", TAKES_ONE, "URI",
	 "take configuration messages here, tcp://127.0.0.1:5557"},
};

/* ---- help -------------------------------------------------------------------------------------
 */

static int print_help(void)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	strbuf_addstr(&out, "usage: colmet-node [OPTION...]\n\nSamples the jobs of this node and "
			    "sends colmet's records to a collector.\n\noptions:\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		strbuf_addstr(&out, "  ");
		if (rows[i].letter)
			strbuf_addf(&out, "-%c, ", rows[i].letter);
		strbuf_addf(&out, "--%s", rows[i].name);
		if (rows[i].takes == TAKES_FLAG)
			strbuf_addstr(&out, " [true|false]");
		else if (rows[i].takes == TAKES_COUNT)
			strbuf_addf(&out, " [%s]", rows[i].value);
		else if (rows[i].value)
			strbuf_addf(&out, " %s%s", rows[i].value,
				    rows[i].takes == TAKES_MANY ? " ..." : "");
		strbuf_addf(&out, "\n      %s\n", rows[i].help);
	}
	fwrite(out.buf, 1, out.len, stdout);
	return EXIT_OK;
}

bool colmet_node_wrong(const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_addstr(&out, "colmet-node: error: ");
	text_add_printable(&out, text.buf, text.len);
	strbuf_addstr(&out, " (colmet-node --help lists the options)\n");
	fwrite(out.buf, 1, out.len, stderr);
	return false;
}

/* ---- parsing ----------------------------------------------------------------------------------
 */

static bool is_option(const char *arg)
{
	return arg && arg[0] == '-' && arg[1] && !isdigit((unsigned char)arg[1]);
}

/* true, false and the like; -1: none of them. */
static int truth(const char *word)
{
	static const char *const yes[] = {"true", "yes", "on", "1"};
	static const char *const no[] = {"false", "no", "off", "0"};

	for (size_t i = 0; word && i < ARRAY_SIZE(yes); i++) {
		if (!strcasecmp(word, yes[i]))
			return 1;
		if (!strcasecmp(word, no[i]))
			return 0;
	}
	return -1;
}

static bool is_number(const char *word)
{
	return word && *word && strspn(word, "0123456789") == strlen(word);
}

/* Takes an option; given: what stood with it in one word. */
static bool take(struct colmet_node *c, const struct colmet_node_option *r, const char *given,
		 char ***next)
{
	switch (r->takes) {
	case TAKES_NONE:
		return colmet_node_set(c, r->id, NULL, true);
	case TAKES_FLAG:
		if (given ? truth(given) < 0 : false)
			return colmet_node_wrong("--%s takes true or false, not '%s'", r->name,
						 given);
		if (!given && truth(**next) >= 0)
			given = *(*next)++;
		return colmet_node_set(c, r->id, NULL, !given || truth(given) == 1);
	case TAKES_COUNT:
		if (!given && is_number(**next))
			given = *(*next)++;
		return colmet_node_set(c, r->id, given, true);
	case TAKES_MANY:
		if (given)
			return colmet_node_set(c, r->id, given, true);
		if (!**next || is_option(**next))
			return colmet_node_wrong("--%s needs a value", r->name);
		while (**next && !is_option(**next))
			if (!colmet_node_set(c, r->id, *(*next)++, true))
				return false;
		return true;
	default:
		if (!given && !**next)
			return colmet_node_wrong("--%s needs a value", r->name);
		return colmet_node_set(c, r->id, given ? given : *(*next)++, true);
	}
}

static bool same_name(const char *name, const char *arg, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char a = name[i] == '_' ? '-' : name[i], b = arg[i] == '_' ? '-' : arg[i];

		if (a != b)
			return false;
	}
	return true;
}

static bool take_long(struct colmet_node *c, const char *arg, char ***next)
{
	const char *equals = strchr(arg, '=');
	size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct colmet_node_option *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strlen(rows[i].name) < n || !same_name(rows[i].name, arg, n))
			continue;
		if (!rows[i].name[n]) {
			found = &rows[i];
			break;
		}
		if (found)
			return colmet_node_wrong("--%s can be --%s or --%s", arg, found->name,
						 rows[i].name);
		found = &rows[i];
	}
	if (!found || !n)
		return colmet_node_wrong("there is no option --%s", arg);
	return take(c, found, equals ? equals + 1 : NULL, next);
}

static bool take_letters(struct colmet_node *c, const char *letters, char ***next)
{
	for (; *letters; letters++) {
		const struct colmet_node_option *r = NULL;

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			if (rows[i].letter == *letters)
				r = &rows[i];
		if (!r)
			return colmet_node_wrong("there is no option -%c", *letters);
		if (r->takes == TAKES_ONE)
			return take(c, r, letters[1] ? letters + 1 + (letters[1] == '=') : NULL,
				    next);
		/* -vvv counts, -v 3 and -v3 say how much */
		if (r->takes == TAKES_COUNT && is_number(letters + 1))
			return take(c, r, letters + 1, next);
		char *none = NULL, **nothing = &none;
		if (!take(c, r, NULL, letters[1] ? &nothing : next))
			return false;
	}
	return true;
}

static bool parse(struct colmet_node *c, char **argv)
{
	for (char **next = argv; *next;) {
		const char *arg = *next++;

		if (!is_option(arg))
			return colmet_node_wrong("there is nothing for '%s' to mean", arg);
		if (!(arg[1] == '-' ? take_long(c, arg + 2, &next)
				    : take_letters(c, arg + 1, &next)))
			return false;
		if (c->help || c->version)
			break;
	}
	return true;
}

int run_colmet_node(struct context *ctx, int argc, char **argv)
{
	struct colmet_node c;

	colmet_node_init(&c, ctx);
	int status = !parse(&c, argv + (argc > 0)) ? EXIT_USAGE
		     : c.help                      ? print_help()
		     : c.version ? (puts("colmet-node " PL_VERSION " (plimsoll)"), EXIT_OK)
				 : colmet_node_run(&c);
	colmet_node_release(&c);
	return status;
}

/* ---- colmet-node-config -------------------------------------------------------------------------
 */

#define CONFIG_URI "tcp://127.0.0.1:5557"
#define LINGER_MS 2000

static int wrong_use(void)
{
	fputs("usage: colmet-node-config PERIOD METRICS [URI]\n\nSends colmet's configuration "
	      "message to a node that takes it (colmet-node --colmet-config URI):\nseconds between "
	      "samples, and metrics with commas between them. URI: " CONFIG_URI "\n",
	      stderr);
	return EXIT_USAGE;
}

int run_colmet_node_config(struct context *ctx, int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf message = STRBUF_INIT, why = STRBUF_INIT;
	struct colmet_configuration c = {0};
	const struct link_options lo = {
		.kind = LINK_PUSH, .uri = argc > 3 ? argv[3] : CONFIG_URI, .linger_ms = LINGER_MS};
	struct link *l;
	char *end;

	(void)ctx;
	if (argc < 3 || argc > 4)
		return wrong_use();
	c.period_s = strtod(argv[1], &end);
	if (end == argv[1] || *end || !(c.period_s >= 0.01 && c.period_s <= 86400)) {
		log_error("'%s' is no time between samples: seconds from 0.01 to 86400", argv[1]);
		return EXIT_USAGE;
	}
	if (strlen(argv[2]) >= sizeof(c.metrics)) {
		log_error("the list of metrics is too long: %zu bytes at most",
			  sizeof(c.metrics) - 1);
		return EXIT_USAGE;
	}
	memcpy(c.metrics, argv[2], strlen(argv[2]) + 1);
	colmet_write_configuration(&c, &message);
	int r = link_open(&l, &lo, &why);
	if (r == 0) {
		const struct link_part part = {message.buf, message.len};

		r = link_send(l, &part, 1);
		link_close(l);
	}
	if (r < 0)
		log_error("cannot send to '%s': %s", lo.uri, why.len ? why.buf : strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}
