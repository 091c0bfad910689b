/* plimsoll import: data of other programs about stored jobs. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "store/import/sacct_import.h"
#include "views/output.h"

struct import_command {
	bool dry, json;
};

/* ---- sacct ---------------------------------------------------------------------------------- */

static void tell(void *user PL_UNUSED, const char *jobid, const char *reason)
{
	log_info("job %s: %s", jobid, reason);
}

static int print_sacct(const struct context *ctx, const struct sacct_result *got)
{
	const struct import_command *o = ctx->options;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (!o->json) {
		if (ctx->verbosity >= 0)
			printf("%s the accounting of %llu %s\n", o->dry ? "would join" : "joined",
			       (unsigned long long)got->joined, plural(got->joined, "job", "jobs"));
		if (got->absent)
			log_warn("%llu of %llu jobs of the file %s not in the store%s",
				 (unsigned long long)got->absent, (unsigned long long)got->jobs,
				 plural(got->absent, "is", "are"),
				 ctx->verbosity > 0 ? "" : "; -v lists them");
		if (got->ambiguous)
			log_warn(
				"%llu %s may be one of several stored jobs; add the column Start to "
				"the file",
				(unsigned long long)got->ambiguous,
				plural(got->ambiguous, "job", "jobs"));
		return EXIT_OK;
	}
	json_begin_object(&j, NULL);
	json_u64(&j, "jobs", got->jobs);
	json_u64(&j, "steps", got->steps);
	json_u64(&j, "joined", got->joined);
	json_u64(&j, "not_stored", got->absent);
	json_u64(&j, "ambiguous", got->ambiguous);
	json_u64(&j, "older_runs", got->older);
	json_end_object(&j);
	return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}

static int import_sacct_file(struct context *ctx, FILE *f, const char *name)
{
	const struct import_command *o = ctx->options;
	const struct sacct_options how = {.dry = o->dry, .tell = ctx->verbosity > 0 ? tell : NULL};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	struct sacct_result got;

	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return EXIT_FAILED;
	if (sacct_import(s, f, name, &how, &got, &why) < 0)
		return fail_with(EXIT_FAILED, "%s; nothing was stored", why.buf);
	return print_sacct(ctx, &got);
}

/* ---- kinds ---------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	int (*import)(struct context *ctx, FILE *f, const char *name);
} kinds[] = {
	{"sacct", import_sacct_file},
};

static int run(struct context *ctx, int argc PL_UNUSED, char **argv)
{
	bool standard = !strcmp(argv[1], "-");

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].name, argv[0]) != 0)
			continue;
		_cleanup_fclose_ FILE *f = standard ? NULL : fopen(argv[1], "re");
		if (!standard && !f)
			return fail_with(EXIT_FAILED, "cannot open '%s': %s", argv[1],
					 strerror(errno));
		return kinds[i].import(ctx, standard ? stdin : f,
				       standard ? "standard input" : argv[1]);
	}
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		strbuf_addf(&names, "%s%s", i ? ", " : "", kinds[i].name);
	return usage_error("import", "import: unknown kind '%s'; known kinds: %s", argv[0],
			   names.buf);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'n', "dry-run", NULL, "read the file and find its jobs, store nothing",
	 AT(struct import_command, dry)},
	ROW_JSON(struct import_command),
	ROWS_STORE,
};

const struct command command_import = {
	.name = "import",
	.summary = "join data of other programs to stored jobs",
	.operands = {"KIND FILE", 2, 2, NULL, "`plimsoll help import` lists the kinds",
		     "KIND FILE"},
	.description =
		"Reads FILE (- for standard input) and adds what it says to jobs of the store, all of it "
		"in one transaction or nothing. KIND is:\n\n"
		"sacct: the accounting of Slurm, output of `sacct --parsable2` with a header, in any "
		"order of columns: account, partition, QOS, state, exit code, times, requested and "
		"allocated resources, nodes, memory, energy, and the steps of each job. A job is found "
		"by JobIDRaw (else JobID), user, cluster and time. Its values become annotations "
		"`sacct.KEY`, which `show`, `list --json`, filters and SQL have; importing again "
		"replaces them. Jobs that are not in the store are counted, and listed with -v. "
		"Unknown columns are skipped; an invalid line ends the import.\n\n"
		"`plimsoll submit` stores jobs, `plimsoll db import` copies databases.",
	.examples =
		"sacct -P -a -S now-1day -o JobIDRaw,User,Account,State,Start,End,ReqMem,MaxRSS | "
		"plimsoll import sacct -\n"
		"  the jobs of the last day, for cron\n"
		"plimsoll import sacct --dry-run -v sacct.txt\n"
		"  is the file valid, and which of its jobs are not stored?\n",
	OPTIONS(struct import_command, rows),
	.run = run,
};
