/*
 * Called as `epmt`: settings.py and the EPMT_* variables. Every key of EPMT's settings is a row of
 * one of two tables here: keys that work, and keys without effect, with what to use instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"
#include "compat/epmt/settings_py.h"
#include "core/files/fs.h"
#include "core/module.h"

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

/* Looks for settings.py; never in the current directory, which other users may write to. */
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

/* ---- keys that work beside those ------------------------------------------------------------ */

static void apply_jobid_env_list(struct context *ctx, const struct value *v)
{
	if (*config_get(&ctx->config, SETTING_JOB))
		return;
	for (size_t i = 0; v->kind == VALUE_LIST && i < v->list.count; i++) {
		const struct value *name = v->list.items[i];
		const char *id = name->kind == VALUE_STR ? getenv(name->str.data) : NULL;

		if (id && *id) {
			_cleanup_free_ char *origin = xasprintf("environment %s", name->str.data);

			config_set(&ctx->config, SETTING_JOB, id, origin);
			return;
		}
	}
}

static void apply_job_tags_env(struct context *ctx, const struct value *v)
{
	const char *tags = v->kind == VALUE_STR ? getenv(v->str.data) : NULL;

	if (tags)
		config_set(&ctx->config, SETTING_JOB_TAGS, tags, "environment, by job_tags_env");
}

static void apply_failed_dir(struct context *ctx, const struct value *v)
{
	if (v->kind == VALUE_STR && v->str.size)
		config_set(&ctx->config, SETTING_FAILED_DIR, v->str.data, "settings.py");
}

static void apply_retire(struct context *ctx, const struct value *v)
{
	char days[32];

	if (v->kind != VALUE_INT || v->integer <= 0 ||
	    *config_get(&ctx->config, SETTING_RETIRE_AGE))
		return;
	snprintf(days, sizeof(days), "%lldd", (long long)v->integer);
	config_set(&ctx->config, SETTING_RETIRE_AGE, days, "settings.py");
}

static void apply_verbose(struct context *ctx, const struct value *v)
{
	int more = v->kind == VALUE_BOOL                                       ? 2 * v->boolean
		   : v->kind == VALUE_INT && v->integer > 0 && v->integer < 10 ? (int)v->integer
									       : 0;

	if (more <= ctx->verbosity)
		return;
	ctx->verbosity = more;
	log_init("epmt", more > 1 ? LOG_DEBUG : LOG_INFO);
}

/* Away from a terminal, messages are kept in the file, too. */
static void apply_logfile(struct context *ctx, const struct value *v)
{
	(void)ctx;
	if (v->kind != VALUE_STR || !v->str.size || isatty(STDERR_FILENO))
		return;
	int fd = open(v->str.data, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		log_warn("cannot write to the logfile '%s': %s", v->str.data, strerror(errno));
	else
		log_copy_to(fd);
}

static const struct {
	const char *name;
	void (*apply)(struct context *ctx, const struct value *v);
} applied[] = {
	{"debug", apply_verbose},
	{"ingest_failed_dir", apply_failed_dir},
	{"job_tags_env", apply_job_tags_env},
	{"jobid_env_list", apply_jobid_env_list},
	{"logfile", apply_logfile},
	{"retire_jobs_ndays", apply_retire},
	{"verbose", apply_verbose},
};

/* Read elsewhere. */
static const char *const elsewhere[] = {"db_params", "env_blacklist", "papiex_options_bycpu",
					"papiex_options_byhost"};

/* ---- keys that do not ----------------------------------------------------------------------- */

/* ours: how Python prints a value that is what happens anyway; "": any value is. */
static const struct {
	const char *name, *ours, *instead;
} without_effect[] = {
	{"bulk_insert", "", NULL},
	{"epmt_settings_kind", "", NULL},
	{"ingest_remove_on_success", "True", "`daemon --keep`"},
	{"input_pattern", "*-papiex*.[ct]sv",
	 "nothing: files are recognised by their names, HOST-papiex*.csv and .tsv"},
	{"input_pattern", "*-papiex-[0-9]*-[0-9]*.csv", NULL},
	{"install_prefix", NULL, "nothing: the library beside this program is preloaded"},
	{"lazy_compute_process_tree", "", NULL},
	{"max_log_statement_length", "", NULL},
	{"orm", "sqlalchemy", "db_params: the store is our own"},
	{"outlier_features", NULL, "`plimsoll outliers --features`"},
	{"outlier_features_blacklist", NULL, "`plimsoll outliers --features`"},
	{"outlier_thresholds", NULL, "`plimsoll outliers --thresholds`"},
	{"per_process_fields", "", NULL},
	{"post_process_job_on_ingest", "", NULL},
	{"profile", "False", "`perf record`"},
	{"retire_jobs_per_delete_max", "", NULL},
	{"retire_models_ndays", "0", "`plimsoll model retire --older-than`"},
	{"skip_for_thread_sums", "", NULL},
	{"univariate_classifiers", NULL, "`plimsoll outliers --methods`"},
};

/* Is the value in the file what this version does anyway? */
static bool is_harmless(const char *name, const struct value *v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (v)
		value_to_python(v, &text, false);
	for (size_t i = 0; i < ARRAY_SIZE(without_effect); i++)
		if (!strcmp(without_effect[i].name, name) && without_effect[i].ours &&
		    (!*without_effect[i].ours || (v && !strcmp(without_effect[i].ours, text.buf))))
			return true;
	return false;
}

/* One line for all of them, where somebody may read it: on a terminal, or once a job. */
static void warn_without_effect(const struct epmt *e, const char *path,
				const struct value *literals, const struct value *skipped)
{
	static const char *const once[] = {"check", "help", "start", "submit"};
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
	bool say = isatty(STDERR_FILENO);

	for (size_t i = 0; e->command && i < ARRAY_SIZE(once); i++)
		say |= !strcmp(e->command, once[i]);
	for (size_t i = 0; say && i < ARRAY_SIZE(without_effect); i++) {
		const char *name = without_effect[i].name;
		const struct value *v = value_get(literals, name);

		if (!without_effect[i].instead || (!v && !value_get(skipped, name)) ||
		    is_harmless(name, v))
			continue;
		strbuf_addf(&line, "%s%s (use %s)", line.len ? ", " : "", name,
			    without_effect[i].instead);
	}
	if (line.len)
		log_warn("%s: without effect here: %s", path, line.buf);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void set_known(struct context *ctx, const char *path, const struct value *literals,
		      const struct value *skipped)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		const char *env = from_environment(known[i].name);
		const char *file = value_get_str(literals, known[i].name);
		const struct value *line = value_get(skipped, known[i].name);

		if (line && !env)
			log_warn("%s:%d: %s cannot be known without executing the file; the "
				 "default '%s' is used",
				 path, (int)line->integer, known[i].name, known[i].fallback);
		config_set(&ctx->config, known[i].id,
			   env    ? env
			   : file ? file
				  : known[i].fallback,
			   env    ? "environment"
			   : file ? "settings.py"
				  : "default of epmt");
	}
}

static void apply_others(struct context *ctx, const char *path, const struct value *literals,
			 const struct value *skipped)
{
	for (size_t i = 0; i < ARRAY_SIZE(applied); i++) {
		const struct value *v = value_get(literals, applied[i].name);
		const struct value *line = value_get(skipped, applied[i].name);

		if (line)
			log_warn("%s:%d: %s cannot be known without executing the file", path,
				 (int)line->integer, applied[i].name);
		if (v)
			applied[i].apply(ctx, v);
	}
	const struct value *any = value_get(skipped, SETTINGS_ANY);
	if (any)
		log_warn("%s:%d: settings that this line may bring are not known here: nothing is "
			 "executed; write them into this file",
			 path, (int)any->integer);
	for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++) {
		const struct value *line = value_get(skipped, elsewhere[i]);

		if (line && strcmp(elsewhere[i], "db_params") != 0)
			log_warn("%s:%d: %s cannot be known without executing the file", path,
				 (int)line->integer, elsewhere[i]);
	}
}

int epmt_read_settings(struct context *ctx, const struct epmt *e)
{
	_cleanup_free_ char *path = settings_path();
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_value_ struct value *literals = NULL, *skipped = NULL;

	int r = path ? fs_read(AT_FDCWD, path, SETTINGS_FILE_MAX, &text) : 0;
	if (r == 0)
		r = settings_py_read(text.buf, text.len, &literals, &skipped, &why);
	if (r < 0)
		return fail_with(r, "cannot read settings '%s': %s", path,
				 why.len ? why.buf : strerror(-r));
	set_known(ctx, path, literals, skipped);
	epmt_choose_store(ctx, path, literals, skipped);
	merge_events(ctx, literals);
	apply_blacklist(ctx, literals);
	if (getenv("EPMT_JOB_TAGS"))
		config_set(&ctx->config, SETTING_JOB_TAGS, getenv("EPMT_JOB_TAGS"),
			   "environment EPMT_JOB_TAGS");
	apply_others(ctx, path, literals, skipped);
	warn_without_effect(e, path, literals, skipped);
	return 0;
}

/* Shown by help because EPMT's scripts look for them there. */
void epmt_print_settings(const struct context *ctx)
{
	static const char *const variables[] = {
		"PAPIEX_OSS_PATH", "PAPIEX_OUTPUT",  "EPMT_DB_PROVIDER", "EPMT_DB_USER",
		"EPMT_DB_HOST",    "EPMT_DB_DBNAME", "EPMT_DB_FILENAME"};
	_cleanup_free_ char *root = install_root();

	puts("\nsettings.py (overridden by below env. vars):");
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		printf("%s:%s\n", known[i].name, config_get(&ctx->config, known[i].id));
	printf("install_prefix:%s/\n", root);
	puts("debug:False\ninput_pattern:*-papiex*.[ct]sv\nlogfile:/dev/null");
	printf("ingest_failed_dir:%s\n", config_get(&ctx->config, SETTING_FAILED_DIR));
	printf("retire_jobs_ndays:%s\n", config_get(&ctx->config, SETTING_RETIRE_AGE));
	epmt_print_store(ctx);
	puts("\nenvironment variables (overrides settings.py):");
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (getenv(variables[i]))
			printf("%s:%s\n", variables[i], getenv(variables[i]));
}
