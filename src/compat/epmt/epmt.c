/*
 * Called as `epmt`: EPMT's options before or after the command, its settings.py and environment,
 * its directories, file names and messages. The work is done by the same actions as for `plimsoll`.
 */
#include <string.h>

#include "cmd/command.h"
#include "compat/epmt/epmt.h"
#include "core/text/similar.h"
#include "web/server.h"

/* ---- commands ------------------------------------------------------------------------------- */

static int run_start(struct context *ctx, const struct epmt *e)
{
	struct start_options o = {.error = e->error};

	epmt_find_job(ctx, EPMT_NEXT_JOB, true);
	epmt_set_runs_apart(ctx);
	return do_start(ctx, &o);
}

static int run_stop(struct context *ctx, const struct epmt *e)
{
	struct stop_options o = {.error = e->error, .exitcode = -1};

	epmt_find_job(ctx, EPMT_THIS_JOB, false);
	return do_stop(ctx, &o);
}

static int run_run(struct context *ctx, const struct epmt *e)
{
	struct run_options o = {.auto_job = e->automatic, .dry = e->dry, .quiet = true};

	if (!e->word_count) {
		log_error("run needs a command");
		return EXIT_USAGE;
	}
	epmt_find_job(ctx, e->automatic ? EPMT_NEXT_JOB : EPMT_THIS_JOB, e->automatic);
	if (e->automatic && !e->dry)
		epmt_set_runs_apart(ctx);
	else if (!e->automatic && !e->dry)
		o.auto_job = epmt_run_apart(ctx);
	char **words = epmt_shell_words(e->word_count, e->words);
	int n = 0;
	while (words[n])
		n++;
	int status = do_run(ctx, &o, n, words);
	free_strings(words);
	return status;
}

static int run_source(struct context *ctx, const struct epmt *e)
{
	epmt_find_job(ctx, EPMT_THIS_JOB, false);
	return do_source(ctx, e->slurm ? SHELL_SLURM : SHELL_AUTO, NULL);
}

static int run_stage(struct context *ctx, const struct epmt *e)
{
	struct stage_options o = {
		.error = e->error, .no_collate = e->no_collate, .no_archive = e->no_archive};

	epmt_find_job(ctx, EPMT_THIS_JOB, false);
	return do_stage(ctx, &o, e->word_count, e->words);
}

static int run_dump(struct context *ctx, const struct epmt *e)
{
	epmt_find_job(ctx, EPMT_THIS_JOB, false);
	return epmt_dump(ctx, e);
}

static int run_submit(struct context *ctx, const struct epmt *e)
{
	if (!e->word_count)
		epmt_find_job(ctx, EPMT_THIS_JOB, false);
	return epmt_submit(ctx, e);
}

static int run_annotate(struct context *ctx, const struct epmt *e)
{
	struct annotate_options o = {.replace = e->replace};

	epmt_find_job(ctx, EPMT_THIS_JOB, false);
	return do_annotate(ctx, &o, e->word_count, e->words);
}

/* At the port of EPMT's own interface, whose old addresses lead to the pages. */
static int run_gui(struct context *ctx, const struct epmt *e PL_UNUSED)
{
	const struct serve_options o = {.listen = "127.0.0.1:8050", .base_path = ""};

	return do_serve(ctx, &o);
}

/* All words are Jupyter's. */
static int run_notebook(struct context *ctx, const struct epmt *e)
{
	struct notebook_options o = {.argc = e->word_count, .argv = e->words};

	epmt_say_store(ctx);
	if (epmt_python_environment(ctx) < 0)
		return EXIT_FAILED;
	return do_notebook(ctx, &o);
}

static int run_analyze(struct context *ctx, const struct epmt *e)
{
	struct analyze_options o = {.again = e->word_count > 0};

	epmt_say_store(ctx);
	/* an outlier is no failure of EPMT's commands */
	return do_analyze(ctx, &o, e->word_count, e->words) == EXIT_FAILED ? EXIT_FAILED : EXIT_OK;
}

static const struct epmt_command *find_command(const char *name)
{
	for (const struct epmt_command *c = epmt_commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static int no_command(const char *word)
{
	const char *near = NULL;
	unsigned least = strlen(word) < 4 ? 1 : 2;

	for (const struct epmt_command *c = epmt_commands; c->name; c++) {
		unsigned d = word_distance(word, c->name);

		if (d <= least) {
			least = d ? d - 1 : 0;
			near = c->name;
		}
	}
	if (near)
		log_error("there is no command '%s'; did you mean '%s'?", word, near);
	else
		log_error("there is no command '%s'; `epmt help` lists them", word);
	return EXIT_USAGE;
}

static int run_help(struct context *ctx, const struct epmt *e)
{
	const struct epmt_command *c = NULL;

	if (e->word_count && !strcmp(e->words[0], "api"))
		return epmt_help_api(ctx, e);
	if (e->word_count && !(c = find_command(e->words[0])))
		return no_command(e->words[0]);
	if (c) {
		epmt_print_command(c, stdout);
		return EXIT_OK;
	}
	epmt_print_usage(stdout);
	epmt_print_settings(ctx);
	return EXIT_OK;
}

/* Commands that only EPMT itself has, and what there is instead. */
static int say_instead(struct context *ctx, const struct epmt *e)
{
	static const struct {
		const char *name, *instead;
	} rows[] = {
		{"integration", "`make check` in the source tree runs the tests"},
		{"unittest", "`make check` in the source tree runs the tests"},
	};

	(void)ctx;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, e->command))
			log_error("%s: %s", e->command, rows[i].instead);
	return EXIT_FAILED;
}

#define FILES "[DIRECTORY|ARCHIVE ...]"

const struct epmt_command epmt_commands[] = {
	{"analyze", "[JOBID ...]", "find outliers among jobs, by default among all new ones",
	 run_analyze,
	 "Jobs are compared with the reference models of their exp_name and exp_component, or with each "
	 "other."},
	{"annotate", "[DIRECTORY|ARCHIVE|JOBID] KEY=VALUE ...", "add notes to a job", run_annotate,
	 NULL},
	{"check", "", "try everything that is needed", epmt_check, NULL},
	{"concat", "FILE ... | DIRECTORY", "put papiex's CSV files together", epmt_concat,
	 "The output is HOST-collated-papiex-JOBID-0.csv in the current directory unless -o names "
	 "it."},
	{"convert", "SOURCE.tgz [DEST.tgz]", "turn CSV inside an archive into TSV", epmt_convert,
	 "Without DEST the new archive is SOURCE-tsv.tgz; the old one stays."},
	{"daemon", "[-s|-D|-S] [-i [DIRECTORY]] [-r] [-k] [-m] [--no-analyze] [--retire]",
	 "put jobs that arrive into the store", epmt_daemon, NULL},
	{"dbcare", "", "look after the store: what the options name", epmt_dbcare, NULL},
	{"dbsize", "[all|database|table|index|tablespace]", "print the size of the store",
	 epmt_dbsize, NULL},
	{"delete", "JOBID ...", "remove jobs from the store", epmt_delete, NULL},
	{"drop", "", "remove every job from the store", epmt_drop, NULL},
	{"dump", "[DIRECTORY|ARCHIVE|FILE|JOBID ...]", "print the metadata of jobs", run_dump,
	 NULL},
	{"explore", "EXPERIMENT", "show the components and time segments of an experiment",
	 epmt_explore, NULL},
	{"gui", "", "show the jobs of the store in a browser", run_gui,
	 "It prints a link to pages that only this host can reach, at EPMT's port, and ends with "
	 "Ctrl-C. `plimsoll\nserve` has options."},
	{"help", "[COMMAND | api [FUNCTION ...]]", "print this, with all settings", run_help,
	 "help api lists the functions of the Python modules; with names it explains these."},
	{"integration", "", "(not here: make check)", say_instead, NULL},
	{"list",
	 "[jobs|procs|thread_metrics|job_proc_tags|op_metrics|refmodels|unprocessed_jobs|unanalyzed_jobs] "
	 "[KEY=VALUE ...] [ID ...]",
	 "list what is in the store", epmt_list,
	 "Keys are those of EPMT's functions: limit, offset, order, tags, exact_tag_only, hosts, when, "
	 "before,\nafter, annotations, fmt (terse, dict, pandas) and jobs; of op_metrics tags, "
	 "exact_tags_only, group_by_tag and\nop_duration_method."},
	{"migrate", "[URL]",
	 "bring the tables of the store up to date, or copy a database of EPMT into it",
	 epmt_migrate, NULL},
	{"notebook", "[-- ARGUMENT ...]", "Jupyter with a notebook about the last job",
	 run_notebook, NULL},
	{"python", "[FILE|-|-c CODE] [ARGUMENT ...]", "run Python with EPMT's modules", epmt_python,
	 "The modules are epmt_query, epmt_outliers, epmt_stat and epmt_exp_explore; `epmt help "
	 "api` lists\ntheir functions. Everything behind `python` is Python's."},
	{"retire", "", "remove old jobs from the store", epmt_retire, NULL},
	{"run", "[--] COMMAND [ARGUMENT ...]", "run a command and record its processes", run_run,
	 "One argument is a line for the shell; of several, each is one argument of the command."},
	{"schema", "", "print the tables of the store", epmt_schema, NULL},
	{"shell", "[ARGUMENT ...]", "an interactive Python with EPMT's modules imported",
	 epmt_shell, "IPython where it is installed. eq, eod, es and exp are the modules."},
	{"source", "", "print what a shell evaluates to record", run_source, NULL},
	{"stage", "[DIRECTORY ...]", "pack a job and move it away", run_stage, NULL},
	{"start", "", "begin a job", run_start, NULL},
	{"stat", "<REQUEST.json", "statistics of numbers, for the Python modules", epmt_stat, NULL},
	{"stop", "", "end a job", run_stop, NULL},
	{"submit", FILES, "put jobs into the store", run_submit, NULL},
	{"unittest", "", "(not here: make check)", say_instead, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

/* The actions are plimsoll's, and so are the commands and options that their messages name. */
static const struct log_words words[] = {
	{"`plimsoll db migrate`", "`epmt migrate`"},
	{"`plimsoll db import`", "`epmt migrate URL`"},
	{"`plimsoll config`", "`epmt help`"},
	{"`plimsoll list`", "`epmt list`"},
	{"`plimsoll run`", "`epmt run`"},
	{"`plimsoll start`", "`epmt start`"},
	{"`plimsoll stop`", "`epmt stop`"},
	{"`plimsoll submit", "`epmt submit"},
	{"`plimsoll help ", "`epmt help "},
	{"set one with --older-than, --keep or --max-size",
	 "retire_jobs_ndays in settings.py sets one"},
	{"neither --db nor PLIMSOLL_DB nor HOME is set",
	 "neither db_params in settings.py nor EPMT_DB_URL nor HOME is set"},
	{"daemons that share a directory need different --pidfile", "`epmt daemon --stop` ends it"},
	{"use a newer plimsoll", "use a newer version"},
	{"--print writes the notebook", "`plimsoll notebook --print` writes the notebook"},
	{NULL, NULL},
};

static int run_epmt(struct context *ctx, int argc, char **argv)
{
	struct epmt e = {0};

	log_use_python_form("epmt_cmds", words);
	if (argc < 2) {
		epmt_print_usage(stderr);
		return EXIT_FAILED;
	}
	int r = epmt_parse(ctx, &e, argc, argv);
	if (r == 0 && e.version) {
		puts("EPMT " PL_VERSION " (plimsoll)");
		return EXIT_OK;
	}
	const struct epmt_command *c = e.command ? find_command(e.command) : NULL;
	if (r == 0 && e.command && !c)
		return no_command(e.command);
	if (r < 0)
		return EXIT_USAGE;
	if (c && e.help) {
		epmt_print_command(c, stdout);
		return EXIT_OK;
	}
	if (epmt_read_settings(ctx, &e) < 0)
		return EXIT_FAILED;
	return c ? c->run(ctx, &e) : run_help(ctx, &e);
}

/* ---- what else differs ----------------------------------------------------------------------- */

static void add_import(struct strbuf *line, const char *job, uint64_t processes, double rate,
		       bool dry)
{
	strbuf_addf(line, "%s - job: %s processes: %llu rate: %.1f\n",
		    dry ? "Dry run, nothing imported" : "Imported successfully", job,
		    (unsigned long long)processes, rate);
}

static void add_value(const struct value *v, struct strbuf *out)
{
	value_to_python(v, out, false);
}

void epmt_print_pair(int key_width, int value_width, const char *key, const char *value)
{
	bool wide = strlen(key) >= (size_t)key_width;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%-*s%s%-*s", key_width, key, wide ? " " : "", value_width, value);
	make_safe(&text);
	puts(text.buf);
}

/* EPMT pads the value too, and its users' scripts cut at those columns. */
static void print_pair(const char *key, const char *value)
{
	epmt_print_pair(24, 56, key, value);
}

const struct personality personality_epmt = {
	.name = "epmt",
	.run = run_epmt,
	.gives_no_hints = true,
	.layout = &job_layout_epmt,
	.shell_prefix = "epmt",
	.variable_prefix = "PAPIEX",
	.signal_is_status = true,
	.listens = true,
	.bad_value_fails = true,
	.paths_only = true,
	.strict_import = true,
	.resubmission_fails = true,
	.add_import = add_import,
	.add_value = add_value,
	.print_pair = print_pair,
};
