/*
 * Called as `perfmon`: that tool's options, as Python's argparse takes them (values may be left out
 * where its usage has them in brackets, long names may be shortened), and its exit statuses. What
 * they mean is in perfmon_job.c.
 */
#include "compat/compat_options.h"
#include "compat/perfmon/perfmon.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <string.h>

#include "cmd/command.h"
#include "core/strbuf.h"
#include "core/text/text.h"

#define INTERVAL_MAX_S 86400u
#define CHECKPOINT_MAX_S (30 * 86400u)

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

static const struct old_option rows[] = {
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
	{OPT_GEN_REPORT, 'r', "gen_report", TAKES_NONE, NULL,
	 "plots/*.png and job-report-<job id>.pdf when the job is over"},
	{OPT_EXPORT, 'e', "export", TAKES_ANY, "FORMAT",
	 "tables of the metrics when the job is over: csv hdf5 parquet pickle feather orc; all"},
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
		old_add_form(&one, &rows[i]);
		strbuf_addf(&text, "%s]", one.buf);
	}
	text_add_wrapped(out, text.buf, 15, 100);
	strbuf_addch(out, '\n');
}

static bool set(void *user, const struct old_option *r, const char *value, bool on);

static const struct old_program program = {
	.name = "perfmon", .rows = rows, .count = ARRAY_SIZE(rows), .set = set, .usage = usage};

static int print_help(void)
{
	old_print_help(&program,
		       "\nSamples the batch job that it runs in (SLURM, PBS, OAR), beside it "
		       "and on each of its nodes.\n\noptions:\n");
	return EXIT_OK;
}

/* ---- options ----------------------------------------------------------------------------------
 */

static bool set_seconds(const struct old_option *r, const char *value, uint64_t max, uint64_t *ret)
{
	uint64_t v;

	if (parse_u64(value, &v) < 0 || !v || v > max)
		return old_wrong(&program,
				 "--%s takes a whole number of seconds from 1 to %llu, not '%s'",
				 r->name, (unsigned long long)max, value);
	*ret = v;
	return true;
}

/* Without a value: all of them. */
static bool set_format(struct perfmon *p, const char *value)
{
	for (size_t i = 0; perfmon_formats[i]; i++) {
		if (value && strcmp(perfmon_formats[i], value) != 0)
			continue;
		p->exports = p->formats[i] = true;
		if (value)
			return true;
	}
	return !value ||
	       old_wrong(&program,
			 "--export takes csv, hdf5, parquet, pickle, feather and orc, not "
			 "'%s'",
			 value);
}

/* value NULL: left out. */
static bool set(void *user, const struct old_option *r, const char *value, bool on)
{
	struct perfmon *p = user;
	const struct {
		int id;
		const char **to;
	} texts[] = {
		{OPT_SAVE_DIR, &p->save_dir},   {OPT_PREFIX, &p->prefix},
		{OPT_LAUNCHER, &p->launcher},   {OPT_SYSTEM, &p->system},
		{OPT_PARTITION, &p->partition}, {OPT_ENV, &p->env},
		{OPT_NAME, &p->name},
	};

	(void)on;
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
		return set_format(p, value);
	case OPT_GEN_REPORT:
		p->report = true;
		break;
	case OPT_VERBOSE:
		p->verbose = true;
		break;
	case OPT_VERSION:
		p->version = p->done = true;
		break;
	default:
		p->help = p->done = true;
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

static int run_perfmon(struct context *ctx, int argc, char **argv)
{
	struct perfmon p = {.interval_s = 30, .checkpoint_s = 900};

	if (!old_parse(&program, &p, argv + (argc > 0), &p.done))
		return EXIT_USAGE;
	if (p.help)
		return print_help();
	if (p.version) {
		puts("perfmon " PL_VERSION " (plimsoll)");
		return EXIT_OK;
	}
	return perfmon_monitor(ctx, &p);
}

const struct personality personality_perfmon = {
	.name = "perfmon",
	.run = run_perfmon,
	.sources_may_be_absent = true,
	.shell_prefix = "plimsoll",
	.variable_prefix = "PLIMSOLL",
	.listens = true,
};
