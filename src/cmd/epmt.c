/*
 * Called as `epmt`: EPMT's options before or after the command, its settings.py and environment,
 * its directories, file names and messages. The work is done by the same actions as ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/epmt.h"
#include "cmd/notebook.h"
#include "cmd/personality.h"
#include "core/fs.h"
#include "core/module.h"
#include "formats/settings_py.h"

/* ---- settings ------------------------------------------------------------------------------- */

#define PAPIEX_OPTIONS_DEFAULT "PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV"

/* EPMT's names for settings of ours, with EPMT's defaults. */
static const struct {
	const char *name;
	enum setting_id id;
	const char *fallback;
} known[] = {
	{"epmt_output_prefix", SETTING_PREFIX, "/tmp/epmt/"},
	{"papiex_options", SETTING_EVENTS, PAPIEX_OPTIONS_DEFAULT},
	{"stage_command", SETTING_STAGE_COMMAND, "mv"},
	{"stage_command_dest", SETTING_STAGE_DEST, "./"},
	{"error_dest", SETTING_ERROR_DEST, "/tmp"},
};

/* Shown by help because EPMT's scripts look for them there; nothing here depends on them. */
static const struct {
	const char *name, *value;
} shown[] = {{"debug", "False"}, {"input_pattern", "*-papiex*.[ct]sv"}, {"logfile", "/dev/null"}};

/* Where a settings.py may be: never the current directory, which may be anybody's. */
static char *settings_path(void)
{
	const char *named = getenv("EPMT_SETTINGS"), *home = getenv("HOME");
	_cleanup_free_ char *root = install_root();
	char *candidates[] = {
		named && *named ? xstrdup(named) : NULL,
		home && home[0] == '/' ? xasprintf("%s/.config/epmt/settings.py", home) : NULL,
		xasprintf("%s/etc/epmt/settings.py", root),
		xstrdup("/etc/epmt/settings.py"),
	};
	char *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
		if (!found && candidates[i] && (i == 0 || access(candidates[i], R_OK) == 0))
			found = candidates[i];
		else
			free(candidates[i]);
	}
	return found;
}

/* "epmt_output_prefix" may also come as EPMT_OUTPUT_PREFIX. */
static const char *from_environment(const char *name)
{
	char variable[64] = "EPMT_";
	size_t n = 5;

	for (const char *p = str_prefix(name, "epmt_") ? name + 5 : name;
	     *p && n + 1 < sizeof(variable); p++)
		variable[n++] = (char)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p);
	return getenv(variable);
}

/* Adds the events of a pattern dict whose pattern matches the beginning of a text. */
static void add_matching(const struct value *patterns, const char *text, struct strbuf *options)
{
	for (size_t i = 0; i < value_pairs(patterns); i++) {
		const struct value *k = value_key(patterns, i), *v = value_at(patterns, i);
		regmatch_t m;
		regex_t re;

		if (k->kind != VALUE_STR || v->kind != VALUE_STR ||
		    regcomp(&re, k->str.data, REG_EXTENDED) != 0)
			continue;
		if (regexec(&re, text, 1, &m, 0) == 0 && m.rm_so == 0)
			strbuf_addf(options, "%s%s", options->len ? "," : "", v->str.data);
		regfree(&re);
	}
}

static void cpu_identity(struct strbuf *out)
{
	static const char *const names[] = {"cpu family", "model", "stepping"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	int r = fs_read(AT_FDCWD, "/proc/cpuinfo", 1 << 24, &text);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *key = xasprintf("\n%s\t", names[i]);
		const char *at = strstr(text.buf, key);
		const char *colon = at ? strchr(at, ':') : NULL;

		strbuf_addf(out, "%s%ld", i ? "/" : "", colon ? strtol(colon + 1, NULL, 10) : 0);
	}
}

static void merge_events(struct context *ctx, const struct value *literals)
{
	_cleanup_strbuf_ struct strbuf options = STRBUF_INIT, cpu = STRBUF_INIT;
	char host[65], boot[9];

	if (!value_get(literals, "papiex_options_byhost") &&
	    !value_get(literals, "papiex_options_bycpu"))
		return;
	strbuf_addstr(&options, config_get(&ctx->config, SETTING_EVENTS));
	this_host(host, sizeof(host), boot);
	cpu_identity(&cpu);
	add_matching(value_get(literals, "papiex_options_byhost"), host, &options);
	add_matching(value_get(literals, "papiex_options_bycpu"), cpu.buf, &options);
	config_set(&ctx->config, SETTING_EVENTS, options.buf, "settings.py");
}

static void apply_blacklist(struct context *ctx, const struct value *literals)
{
	const struct value *list = value_get(literals, "env_blacklist");
	_cleanup_strbuf_ struct strbuf drop = STRBUF_INIT;

	if (!list || list->kind != VALUE_LIST)
		return;
	strbuf_addstr(&drop, "_*");
	for (size_t i = 0; i < list->list.count; i++)
		if (list->list.items[i]->kind == VALUE_STR)
			strbuf_addf(&drop, ":%s", list->list.items[i]->str.data);
	config_set(&ctx->config, SETTING_ENV_DROP, drop.buf, "settings.py");
}

static int read_settings(struct context *ctx)
{
	_cleanup_free_ char *path = settings_path();
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_value_ struct value *literals = NULL, *skipped = NULL;

	int r = path ? fs_read(AT_FDCWD, path, SETTINGS_FILE_MAX, &text) : 0;
	if (r == 0)
		r = settings_py_read(text.buf, text.len, &literals, &skipped, &why);
	if (r < 0) {
		log_error("cannot read settings '%s': %s", path, why.len ? why.buf : strerror(-r));
		return r;
	}
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const char *env = from_environment(known[i].name);
		const char *file = value_get_str(literals, known[i].name);
		const struct value *line = value_get(skipped, known[i].name);

		if (line)
			log_warn(
				"%s:%d: %s is no literal and is not executed; the default '%s' is used",
				path, (int)line->integer, known[i].name, known[i].fallback);
		config_set(&ctx->config, known[i].id,
			   env    ? env
			   : file ? file
				  : known[i].fallback,
			   env    ? "environment"
			   : file ? "settings.py"
				  : "default of epmt");
	}
	epmt_choose_store(ctx, literals);
	merge_events(ctx, literals);
	apply_blacklist(ctx, literals);
	if (getenv("EPMT_JOB_TAGS"))
		config_set(&ctx->config, SETTING_JOB_TAGS, getenv("EPMT_JOB_TAGS"),
			   "environment EPMT_JOB_TAGS");
	return 0;
}

/* ---- help ----------------------------------------------------------------------------------- */

static void print_settings(const struct context *ctx)
{
	static const char *const variables[] = {
		"PAPIEX_OSS_PATH", "PAPIEX_OUTPUT",  "EPMT_DB_PROVIDER", "EPMT_DB_USER",
		"EPMT_DB_HOST",    "EPMT_DB_DBNAME", "EPMT_DB_FILENAME"};
	_cleanup_free_ char *root = install_root();

	puts("\nsettings.py (overridden by below env. vars):");
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		printf("%s:%s\n", known[i].name, config_get(&ctx->config, known[i].id));
	printf("install_prefix:%s/\n", root);
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		printf("%s:%s\n", shown[i].name, shown[i].value);
	puts("\nenvironment variables (overrides settings.py):");
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (getenv(variables[i]))
			printf("%s:%s\n", variables[i], getenv(variables[i]));
}

static void print_usage(FILE *f)
{
	fputs("usage: epmt [-h] [-V] [-v ...] [-n] [-a] [-j JOBID] COMMAND [options] [arguments]\n\n"
	      "commands:\n"
	      "  start [-e]                       begin a job\n"
	      "  run [-a] [-n] [--] COMMAND ...   run a command and record its processes\n"
	      "  stop [-e]                        end a job\n"
	      "  source [-s]                      print what a shell evaluates to record\n"
	      "  stage [-e] [DIR...]              pack a job and move it away\n"
	      "  dump [-k KEY] [DIR|TGZ|FILE...]  print the metadata of a job\n"
	      "  annotate [--replace] [DIR|TGZ] KEY=VALUE...\n"
	      "  submit [-e] [-n] [-r] [-m] [--drop] [-p [N]] [DIR|TGZ...]   put jobs into the store\n"
	      "  list [jobs|procs|thread_metrics|job_proc_tags|unprocessed_jobs] [KEY=VALUE...]\n"
	      "  delete JOBID...                  remove jobs from the store\n"
	      "  retire [-n], dbcare, drop [-f], dbsize, schema, migrate\n"
	      "  daemon [-s|-D|-S] [-i [DIR]] [-r] [-k] [--retire]   jobs that arrive, into the store\n"
	      "  convert SRC.tgz [DEST.tgz]       CSV to TSV inside an archive\n"
	      "  notebook [-- ARGUMENT...]        Jupyter with a notebook about the last job\n"
	      "  check                            try what is needed\n"
	      "  help                             this, with all settings\n",
	      f);
}

/* ---- options -------------------------------------------------------------------------------- */

static bool takes_value(const char *arg)
{
	return !strcmp(arg, "-k") || !strcmp(arg, "--key") || !strcmp(arg, "-j") ||
	       !strcmp(arg, "--jobid");
}

static bool take_flag(struct context *ctx, struct epmt *e, const char *arg)
{
	const struct {
		const char *letter, *name;
		bool *to;
	} flags[] = {
		{"-h", "--help", &e->help},
		{"-V", "--version", &e->version},
		{"-a", "--auto", &e->automatic},
		{"-n", "--dry-run", &e->dry},
		{"-e", "--error", &e->error},
		{"-s", "--slurm", &e->slurm},
		{NULL, "--replace", &e->replace},
		{NULL, "--no-collate", &e->no_collate},
		{NULL, "--no-compress-and-tar", &e->no_archive},
		{"-r", "--remove", &e->remove},
		{"-m", "--move-away", &e->move_away},
		{NULL, "--drop", &e->drop},
		{"-f", "--force", &e->force},
		{NULL, "--vacuum-tables", &e->vacuum},
	};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if ((flags[i].letter && !strcmp(arg, flags[i].letter)) ||
		    !strcmp(arg, flags[i].name)) {
			*flags[i].to = true;
			return true;
		}
	if (!strcmp(arg, "--verbose") || !strcmp(arg, "-d") ||
	    (str_prefix(arg, "-v") && strspn(arg + 1, "v") == strlen(arg + 1))) {
		ctx->verbosity += arg[1] == 'v' ? (int)strlen(arg + 1) : 1;
		log_init("epmt", ctx->verbosity > 1 ? LOG_DEBUG : LOG_INFO);
		return true;
	}
	return false;
}

static void take_value(struct context *ctx, struct epmt *e, const char *arg, const char *value)
{
	if (arg[1] == 'k' || !strcmp(arg, "--key"))
		e->key = value;
	else
		config_set(&ctx->config, SETTING_JOB, value, "flag -j");
}

/* "-p" or "-p 4": workers; without a number one for each CPU. */
static bool take_workers(struct epmt *e, char *const *next)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	e->workers = cpus > 0 ? (uint64_t)cpus : 1;
	return *next && parse_u64(*next, &e->workers) == 0;
}

/* Options stand anywhere; those behind the command of `run` are the command's own. */
static int parse(struct context *ctx, struct epmt *e, int argc, char **argv)
{
	e->words = argv; /* words overwrite what was read before them */
	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i];
		bool running = e->command && !strcmp(e->command, "run");
		bool notebook = e->command && !strcmp(e->command, "notebook");

		if (e->command && !strcmp(e->command, "daemon")) {
			e->words = argv + i; /* its letters mean other things than ours */
			e->word_count = argc - i;
			return 0;
		}
		if ((running && (!strcmp(arg, "--") || arg[0] != '-')) ||
		    (notebook && !strcmp(arg, "--"))) {
			e->words = argv + i + !strcmp(arg, "--");
			e->word_count = argc - i - !strcmp(arg, "--");
			return 0;
		}
		if (arg[0] != '-' || !arg[1]) {
			if (!e->command)
				e->command = arg;
			else
				e->words[e->word_count++] = argv[i];
		} else if (!strcmp(arg, "--")) {
			continue;
		} else if (takes_value(arg)) {
			if (i + 1 >= argc) {
				log_error("option %s needs a value", arg);
				return -EINVAL;
			}
			take_value(ctx, e, arg, argv[++i]);
		} else if (!strcmp(arg, "-p")) {
			i += take_workers(e, argv + i + 1);
		} else if ((arg[1] == 'j' || arg[1] == 'k') && arg[1] != '-') {
			take_value(ctx, e, (char[]){'-', arg[1], 0}, arg + 2);
		} else if (!take_flag(ctx, e, arg)) {
			log_error("there is no option %s; `epmt help` lists them", arg);
			return -EINVAL;
		}
	}
	return 0;
}

/* ---- jobs without a batch system ------------------------------------------------------------ */

static bool is_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v;
}

/* Without a batch id the session is the job; each missing fact is told once. */
static void fall_back(struct context *ctx, bool say)
{
	_cleanup_free_ char *id = job_identify(ctx, NULL);
	char session[32];

	if (id)
		return;
	snprintf(session, sizeof(session), "%d", (int)getsid(0));
	config_set(&ctx->config, SETTING_JOB, session, "session id");
	if (!say)
		return;
	log_warn("JOB_ID unset: Using session id %s as JOB_ID", session);
	if (!is_set("JOB_NAME"))
		log_warn("JOB_NAME unset: Using job id %s as JOB_NAME", session);
	if (!is_set("JOB_SCRIPTNAME"))
		log_warn("JOB_SCRIPTNAME unset: Using process name %s as JOB_SCRIPTNAME", session);
	if (!is_set("JOB_USER")) {
		const char *user = getenv("USER");

		log_warn("JOB_USER unset: Using username %s as JOB_USER", user ? user : "unknown");
	}
}

/* ---- commands ------------------------------------------------------------------------------- */

static int run_start(struct context *ctx, const struct epmt *e)
{
	struct start_options o = {.error = e->error};

	fall_back(ctx, true);
	return do_start(ctx, &o);
}

static int run_stop(struct context *ctx, const struct epmt *e)
{
	struct stop_options o = {.error = e->error, .exitcode = -1};

	fall_back(ctx, false);
	return do_stop(ctx, &o);
}

static int run_run(struct context *ctx, const struct epmt *e)
{
	struct run_options o = {.auto_job = e->automatic, .dry = e->dry, .quiet = true};

	fall_back(ctx, e->automatic);
	if (!e->word_count) {
		log_error("run needs a command");
		return EXIT_FAILED;
	}
	return do_run(ctx, &o, e->word_count, e->words);
}

static int run_source(struct context *ctx, const struct epmt *e)
{
	fall_back(ctx, false);
	return do_source(ctx, e->slurm ? SHELL_SLURM : SHELL_AUTO, NULL);
}

static int run_stage(struct context *ctx, const struct epmt *e)
{
	struct stage_options o = {
		.error = e->error, .no_collate = e->no_collate, .no_archive = e->no_archive};

	fall_back(ctx, false);
	return do_stage(ctx, &o, e->word_count, e->words);
}

static int run_dump(struct context *ctx, const struct epmt *e)
{
	fall_back(ctx, false);
	return epmt_dump(ctx, e);
}

static int run_annotate(struct context *ctx, const struct epmt *e)
{
	struct annotate_options o = {.replace = e->replace};

	fall_back(ctx, false);
	return do_annotate(ctx, &o, e->word_count, e->words);
}

static int run_check(struct context *ctx, const struct epmt *e)
{
	(void)e;
	return do_check_epmt(ctx);
}

/* All words are Jupyter's. */
static int run_notebook(struct context *ctx, const struct epmt *e)
{
	struct notebook_options o = {.argc = e->word_count, .argv = e->words};

	epmt_say_store(ctx);
	return do_notebook(ctx, &o);
}

static int run_help(struct context *ctx, const struct epmt *e)
{
	(void)e;
	print_usage(stdout);
	print_settings(ctx);
	return EXIT_OK;
}

/* Commands that need EPMT's Python, and what there is instead. */
static int say_instead(struct context *ctx, const struct epmt *e)
{
	static const struct {
		const char *name, *instead;
	} rows[] = {
		{"gui", "there is no graphical interface yet; `plimsoll list`, `show` and `tree` "
			"show jobs"},
		{"integration", "`make check` in the source tree runs the tests"},
		{"python", "there is no Python inside; scripts of any Python import plimsoll.py "
			   "from share/plimsoll/python"},
		{"shell", "there is no Python inside; `plimsoll sql` answers questions"},
		{"unittest", "`make check` in the source tree runs the tests"},
	};

	(void)ctx;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, e->command))
			log_error("%s: %s", e->command, rows[i].instead);
	return EXIT_FAILED;
}

int run_epmt(struct context *ctx, int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(struct context *ctx, const struct epmt *e);
	} table[] = {
		{"annotate", run_annotate}, {"check", run_check},      {"convert", epmt_convert},
		{"daemon", epmt_daemon},    {"dbcare", epmt_dbcare},   {"dbsize", epmt_dbsize},
		{"delete", epmt_delete},    {"drop", epmt_drop},       {"dump", run_dump},
		{"gui", say_instead},       {"help", run_help},        {"integration", say_instead},
		{"list", epmt_list},        {"migrate", epmt_migrate}, {"notebook", run_notebook},
		{"python", say_instead},    {"retire", epmt_retire},   {"run", run_run},
		{"schema", epmt_schema},    {"shell", say_instead},    {"source", run_source},
		{"stage", run_stage},       {"start", run_start},      {"stop", run_stop},
		{"submit", epmt_submit},    {"unittest", say_instead},
	};
	struct epmt e = {0};

	log_use_epmt_form();
	if (argc < 2) {
		print_usage(stderr);
		return EXIT_FAILED;
	}
	if (read_settings(ctx) < 0 || parse(ctx, &e, argc, argv) < 0)
		return EXIT_FAILED;
	if (e.version) {
		puts("EPMT " PL_VERSION " (plimsoll)");
		return EXIT_OK;
	}
	if (e.help || !e.command)
		return e.help ? run_help(ctx, &e) : (print_usage(stderr), EXIT_FAILED);
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		if (!strcmp(table[i].name, e.command))
			return table[i].run(ctx, &e);
	log_error("there is no command '%s'; `epmt help` lists them", e.command);
	return EXIT_FAILED;
}
