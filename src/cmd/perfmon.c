/*
 * Called as `perfmon`: that tool's options, as Python's argparse takes them (values may be left out
 * where its usage has them in brackets, long names may be shortened), and its exit statuses. What
 * they mean is in perfmon_job.c.
 */
#include "cmd/perfmon.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>

#include "cmd/personality.h"
#include "core/strbuf.h"
#include "core/text.h"

#define INTERVAL_MAX_S 86400u
#define CHECKPOINT_MAX_S (30 * 86400u)

enum arity {
	TAKES_NONE,
	TAKES_ONE,
	TAKES_MAYBE, /* one or none */
	TAKES_ANY,   /* as many as there are */
};

enum {
	OPT_HELP,
	OPT_SAVE_DIR,
	OPT_PREFIX,
	OPT_LAUNCHER,
	OPT_SAMPLING_FREQ,
	OPT_CHECK_POINT,
	OPT_GEN_REPORT,
	OPT_EXPORT,
	OPT_SYSTEM,
	OPT_PARTITION,
	OPT_ENV,
	OPT_NAME,
	OPT_VERBOSE,
	OPT_VERSION,
};

struct perfmon_option {
	int id;
	char letter;
	const char *name;
	enum arity arity;
	const char *value, *help;
};

static const struct perfmon_option rows[] = {
	{OPT_HELP, 'h', "help", TAKES_NONE, NULL, "show this and exit"},
	{OPT_SAVE_DIR, 'd', "save_dir", TAKES_MAYBE, "SAVE_DIR",
	 "directory for what is measured, one that all nodes have; the current one"},
	{OPT_PREFIX, 'p', "prefix", TAKES_MAYBE, "PREFIX",
	 "directory below it that is made for this job"},
	{OPT_LAUNCHER, 'l', "launcher", TAKES_MAYBE, "LAUNCHER",
	 "what launches MPI programs here, where it is not found by itself"},
	{OPT_SAMPLING_FREQ, 'i', "sampling_freq", TAKES_ONE, "SAMPLING_FREQ",
	 "seconds between samples; 30"},
	{OPT_CHECK_POINT, 'c', "check_point", TAKES_MAYBE, "CHECK_POINT",
	 "seconds after which samples must be on the disk; 900"},
	{OPT_GEN_REPORT, 'r', "gen_report", TAKES_NONE, NULL, "plots and a report: not there yet"},
	{OPT_EXPORT, 'e', "export", TAKES_ANY, "FORMAT",
	 "exports (csv hdf5 parquet pickle feather orc): not there yet"},
	{OPT_SYSTEM, 0, "system", TAKES_MAYBE, "SYSTEM", "name of the system, kept with the job"},
	{OPT_PARTITION, 0, "partition", TAKES_MAYBE, "PARTITION", "of the partition, likewise"},
	{OPT_ENV, 0, "env", TAKES_MAYBE, "ENV", "of the environment, likewise"},
	{OPT_NAME, 0, "name", TAKES_MAYBE, "NAME", "of the test, likewise"},
	{OPT_VERBOSE, 'v', "verbose", TAKES_NONE, NULL,
	 "a log of each host with all that happens, and its configuration"},
	{OPT_VERSION, 0, "version", TAKES_NONE, NULL, "show the version and exit"},
};

/* ---- help -------------------------------------------------------------------------------------
 */

static void add_form(struct strbuf *out, const struct perfmon_option *r)
{
	if (r->arity == TAKES_ONE)
		strbuf_addf(out, " %s", r->value);
	else if (r->arity == TAKES_MAYBE)
		strbuf_addf(out, " [%s]", r->value);
	else if (r->arity == TAKES_ANY)
		strbuf_addf(out, " [%s ...]", r->value);
}

static void usage(struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addstr(&text, "usage: perfmon");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf one = STRBUF_INIT;

		if (rows[i].letter)
			strbuf_addf(&one, " [-%c", rows[i].letter);
		else
			strbuf_addf(&one, " [--%s", rows[i].name);
		add_form(&one, &rows[i]);
		strbuf_addf(&text, "%s]", one.buf);
	}
	text_add_wrapped(out, text.buf, 15, 100);
	strbuf_addch(out, '\n');
}

static int print_help(void)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	usage(&out);
	strbuf_addstr(&out, "\nSamples the batch job that it runs in (SLURM, PBS, OAR), beside it "
			    "and on each of its nodes.\n\noptions:\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		strbuf_addstr(&out, "  ");
		if (rows[i].letter)
			strbuf_addf(&out, "-%c, ", rows[i].letter);
		strbuf_addf(&out, "--%s", rows[i].name);
		add_form(&out, &rows[i]);
		strbuf_addf(&out, "\n      %s\n", rows[i].help);
	}
	fwrite(out.buf, 1, out.len, stdout);
	return EXIT_OK;
}

static bool wrong(const char *fmt, ...) PL_PRINTF(1, 2);

/* What is wrong with the command line, as argparse puts it; false, for the caller to pass on. */
static bool wrong(const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, text = STRBUF_INIT;
	va_list ap;

	usage(&out);
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	strbuf_addstr(&out, "perfmon: error: ");
	text_add_printable(&out, text.buf, text.len);
	strbuf_addch(&out, '\n');
	fwrite(out.buf, 1, out.len, stderr);
	return false;
}

/* ---- options ----------------------------------------------------------------------------------
 */

static bool set_seconds(const struct perfmon_option *r, const char *value, uint64_t max,
			uint64_t *ret)
{
	uint64_t v;

	if (parse_u64(value, &v) < 0 || !v || v > max)
		return wrong("--%s takes a whole number of seconds from 1 to %llu, not '%s'",
			     r->name, (unsigned long long)max, value);
	*ret = v;
	return true;
}

static bool set_format(const char *value)
{
	static const char *const formats[] = {"csv", "hdf5", "parquet", "pickle", "feather", "orc"};

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i], value))
			return true;
	return wrong("--export takes csv, hdf5, parquet, pickle, feather and orc, not '%s'", value);
}

/* value NULL: left out. */
static bool set(struct perfmon *p, const struct perfmon_option *r, const char *value)
{
	const struct {
		int id;
		const char **to;
	} texts[] = {
		{OPT_SAVE_DIR, &p->save_dir},   {OPT_PREFIX, &p->prefix},
		{OPT_LAUNCHER, &p->launcher},   {OPT_SYSTEM, &p->system},
		{OPT_PARTITION, &p->partition}, {OPT_ENV, &p->env},
		{OPT_NAME, &p->name},
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].id == r->id) {
			*texts[i].to = value && *value ? value : NULL;
			return true;
		}
	switch (r->id) {
	case OPT_SAMPLING_FREQ:
		return set_seconds(r, value, INTERVAL_MAX_S, &p->interval_s);
	case OPT_CHECK_POINT:
		return !value || set_seconds(r, value, CHECKPOINT_MAX_S, &p->checkpoint_s);
	case OPT_EXPORT:
		p->exports = true;
		return !value || set_format(value);
	case OPT_GEN_REPORT:
		p->report = true;
		break;
	case OPT_VERBOSE:
		p->verbose = true;
		break;
	case OPT_VERSION:
		p->version = true;
		break;
	default:
		p->help = true;
		break;
	}
	return true;
}

/* Words that stand for themselves: not options, but "-" and negative numbers are none either. */
static bool is_value(const char *arg)
{
	return arg && (arg[0] != '-' || !arg[1] || isdigit((unsigned char)arg[1]));
}

/* Takes the values of an option. given: what stood with it in one word. */
static bool take(struct perfmon *p, const struct perfmon_option *r, const char *given, char ***next)
{
	if (r->arity == TAKES_NONE && given)
		return wrong("--%s takes no value", r->name);
	if (given)
		return set(p, r, given);
	if (r->arity == TAKES_NONE || !is_value(**next)) {
		if (r->arity == TAKES_ONE)
			return wrong("--%s needs a value", r->name);
		return set(p, r, NULL);
	}
	do
		if (!set(p, r, *(*next)++))
			return false;
	while (r->arity == TAKES_ANY && is_value(**next));
	return true;
}

/* "--save_dir", "--save_dir=X", "--sav X". */
static bool take_long(struct perfmon *p, const char *arg, char ***next)
{
	const char *equals = strchr(arg, '=');
	size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct perfmon_option *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strncmp(rows[i].name, arg, n) != 0)
			continue;
		if (!rows[i].name[n]) {
			found = &rows[i];
			break;
		}
		if (found)
			return wrong("--%s can be --%s or --%s", arg, found->name, rows[i].name);
		found = &rows[i];
	}
	if (!found || !n)
		return wrong("there is no option --%s", arg);
	return take(p, found, equals ? equals + 1 : NULL, next);
}

/* "-i 5", "-i5", "-i=5", "-rv". */
static bool take_letters(struct perfmon *p, const char *letters, char ***next)
{
	for (; *letters; letters++) {
		const struct perfmon_option *r = NULL;

		for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
			if (rows[i].letter == *letters)
				r = &rows[i];
		if (!r)
			return wrong("there is no option -%c", *letters);
		if (r->arity != TAKES_NONE)
			return take(p, r, letters[1] ? letters + 1 + (letters[1] == '=') : NULL,
				    next);
		if (!take(p, r, NULL, next))
			return false;
	}
	return true;
}

static bool parse(struct perfmon *p, char **argv)
{
	for (char **next = argv; *next;) {
		const char *arg = *next++;

		if (is_value(arg))
			return wrong("there is nothing for '%s' to mean", arg);
		if (!(arg[1] == '-' ? take_long(p, arg + 2, &next)
				    : take_letters(p, arg + 1, &next)))
			return false;
		if (p->help || p->version)
			break;
	}
	return true;
}

/* ---- paths ------------------------------------------------------------------------------------
 */

/* The variable at p, which stands at a '$'; its length there, 0 when it is none. */
static size_t variable_at(const char *p, char **ret_name)
{
	bool braces = p[1] == '{';
	const char *name = p + 1 + braces, *end = name;

	while (isalnum((unsigned char)*end) || *end == '_')
		end++;
	if (end == name || (braces && *end != '}'))
		return 0;
	*ret_name = xstrndup(name, (size_t)(end - name));
	return (size_t)(end - p) + braces;
}

static char *home_of(const char *user)
{
	const char *home = getenv("HOME");
	const struct passwd *pw = *user ? getpwnam(user) : NULL;

	if (!*user && home && *home)
		return xstrdup(home);
	if (!*user)
		pw = getpwuid(getuid());
	return pw ? xstrdup(pw->pw_dir) : NULL;
}

char *perfmon_expand(const char *path)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (const char *p = path; *p;) {
		_cleanup_free_ char *name = NULL;
		size_t n = *p == '$' ? variable_at(p, &name) : 0;
		const char *value = n ? getenv(name) : NULL;

		if (value)
			strbuf_addstr(&text, value);
		else
			strbuf_add(&text, p, n ? n : 1);
		p += n ? n : 1;
	}
	if (text.buf[0] != '~')
		return strbuf_take(&text);
	size_t n = strcspn(text.buf, "/");
	_cleanup_free_ char *user = xstrndup(text.buf + 1, n - 1), *home = home_of(user);
	if (!home)
		return strbuf_take(&text);
	return xasprintf("%s%s", home, text.buf + n);
}

int run_perfmon(struct context *ctx, int argc, char **argv)
{
	struct perfmon p = {.interval_s = 30, .checkpoint_s = 900};

	if (!parse(&p, argv + (argc > 0)))
		return EXIT_USAGE;
	if (p.help)
		return print_help();
	if (p.version) {
		puts("perfmon " PL_VERSION " (plimsoll)");
		return EXIT_OK;
	}
	if (p.report || p.exports) {
		log_error("%s are not there yet: nothing was monitored; without %s the JSON files "
			  "are written",
			  p.report ? "plots and reports" : "exports",
			  p.report && p.exports ? "-r and -e"
			  : p.report            ? "-r"
						: "-e");
		return EXIT_USAGE;
	}
	return perfmon_monitor(ctx, &p);
}
