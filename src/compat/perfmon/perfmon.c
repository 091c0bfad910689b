/*
 * The personality `perfmon`: that tool's options, parsed as by Python's argparse (values are
 * optional if its usage has them in brackets, long names may be shortened), and its exit statuses.
 * perfmon_job.c implements them.
 */
#include "compat/options/compat_options.h"
#include "compat/perfmon/perfmon.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <string.h>

#include "cmd/command.h"
#include "core/strbuf.h"
#include "core/text/text.h"

#define TEXT(member) TEXT_AT(struct perfmon, member)
#define FLAG(member) FLAG_AT(struct perfmon, member)

static bool set_format(void *user, const struct old_option *r, const char *value);

static const struct old_option rows[] = {
	ROW_HELP,
	{'d', "save_dir", TAKES_MAYBE, "SAVE_DIR",
	 "directory for what is measured, one that all nodes have; the current one",
	 TEXT(save_dir)},
	{'p', "prefix", TAKES_MAYBE, "PREFIX", "directory below it that is made for this job",
	 TEXT(prefix)},
	{'l', "launcher", TAKES_MAYBE, "LAUNCHER",
	 "what launches MPI programs here, where it is not found by itself", TEXT(launcher)},
	{'i', "sampling_freq", TAKES_ONE, "SAMPLING_FREQ", "seconds between samples; 30",
	 NUMBER_AT(struct perfmon, interval_s, 1, 86400)},
	{'c', "check_point", TAKES_MAYBE, "CHECK_POINT",
	 "seconds after which samples must be on the disk; 900",
	 NUMBER_AT(struct perfmon, checkpoint_s, 1, 30 * 86400)},
	{'r', "gen_report", TAKES_NONE, NULL,
	 "plots/*.png and job-report-<job id>.pdf when the job is over", FLAG(report)},
	{'e', "export", TAKES_ANY, "FORMAT",
	 "tables of the metrics when the job is over: csv hdf5 parquet pickle feather orc; all",
	 FLAG(exports), .take = set_format},
	{0, "system", TAKES_MAYBE, "SYSTEM", "name of the system, kept with the job", TEXT(system)},
	{0, "partition", TAKES_MAYBE, "PARTITION", "of the partition, likewise", TEXT(partition)},
	{0, "env", TAKES_MAYBE, "ENV", "of the environment, likewise", TEXT(env)},
	{0, "name", TAKES_MAYBE, "NAME", "of the test, likewise", TEXT(name)},
	{'v', "verbose", TAKES_NONE, NULL,
	 "a log of each host with all that happens, and its configuration", FLAG(verbose)},
	ROW_VERSION,
};

/* ---- help ----------------------------------------------------------------------------------- */

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

static const struct old_program program = {
	.name = "perfmon",
	.rows = rows,
	.count = ARRAY_SIZE(rows),
	.about =
		"\nSamples the batch job that it runs in (SLURM, PBS, OAR), beside it and on each of its "
		"nodes.\n\noptions:\n",
	.usage = usage,
};

/* Without a value: all formats. */
static bool set_format(void *user, const struct old_option *r, const char *value)
{
	struct perfmon *p = user;

	for (size_t i = 0; perfmon_formats[i]; i++) {
		if (value && strcmp(perfmon_formats[i], value) != 0)
			continue;
		p->formats[i] = true;
		if (value)
			return true;
	}
	return !value ||
	       old_wrong(&program,
			 "--%s takes csv, hdf5, parquet, pickle, feather and orc, not '%s'",
			 r->name, value);
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* Parses the variable at p, which points to a '$'; returns its length, 0 if it is not a
 * variable. */
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
	int status = old_parse(&program, &p, argv + (argc > 0));

	return status < 0 ? perfmon_monitor(ctx, &p) : status;
}

const struct personality personality_perfmon = {
	.name = "perfmon",
	.run = run_perfmon,
	.sources_may_be_absent = true,
	.shell_prefix = "plimsoll",
	.variable_prefix = "PLIMSOLL",
	.listens = true,
};
