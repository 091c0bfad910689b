/* Parsing and running of commands; see command.h. */
#include "cmd/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

#include "jobs/scheduler.h"

#define COMMAND(symbol) extern const struct command command_##symbol;
#include "cmd/commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(symbol) &command_##symbol,
#include "cmd/commands.def"
#undef COMMAND
	NULL,
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

int usage_error(const char *command, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	log_error("%s; see `plimsoll help%s%s`", text.buf, command ? " " : "",
		  command ? command : "");
	return EXIT_USAGE;
}

void warn_lines(const char *lines, struct value *list)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		log_warn("%.*s", (int)n, lines);
		if (list)
			value_append(list, value_strn(lines, n));
		lines += n + (lines[n] == '\n');
	}
}

/* ---- options -------------------------------------------------------------------------------- */

#define OPTIONS_MAX 40
#define HELP_ID 1000

struct parser {
	struct option longs[OPTIONS_MAX + 2];
	char shorts[3 * OPTIONS_MAX + 8];
};

static int arg_kind(const struct option_row *o)
{
	return !o->arg ? no_argument : o->arg[0] == '[' ? optional_argument : required_argument;
}

static void make_parser(const struct command *c, struct parser *p)
{
	size_t n = 0, s = 0;

	/* '+': an argument ends the options; ':': a missing value is ours to report */
	if (c->stops_at_words)
		p->shorts[s++] = '+';
	p->shorts[s++] = ':';
	p->shorts[s++] = 'h';
	for (const struct option_row *o = c->options; o && o->id && n < OPTIONS_MAX; o++) {
		p->longs[n++] = (struct option){o->name, arg_kind(o), NULL, o->id};
		if (!o->letter)
			continue;
		p->shorts[s++] = o->letter;
		for (int i = 0; i < arg_kind(o); i++)
			p->shorts[s++] = ':';
	}
	p->longs[n++] = (struct option){"help", no_argument, NULL, HELP_ID};
	p->longs[n] = (struct option){0};
	p->shorts[s] = 0;
}

static int option_id(const struct command *c, int got)
{
	if (got >= 256 || !c->options)
		return got;
	for (const struct option_row *o = c->options; o->id; o++)
		if (o->letter == (char)got)
			return o->id;
	return got;
}

static bool set_common(struct context *ctx, int id)
{
	if (id == OPTION_VERBOSE)
		ctx->verbosity++;
	else if (id == OPTION_QUIET)
		ctx->verbosity = -1;
	else
		return false;
	log_init(ctx->program, ctx->verbosity < 0    ? LOG_ERROR
			       : ctx->verbosity == 0 ? LOG_WARN
			       : ctx->verbosity == 1 ? LOG_INFO
						     : LOG_DEBUG);
	return true;
}

static int print_help(const struct command *c)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	command_help_text(c, &text);
	fwrite(text.buf, 1, text.len, stdout);
	return EXIT_OK;
}

/* Takes the options; the status when nothing is to be run, else -1. */
static int take_options(const struct command *c, struct context *ctx, int argc, char **argv)
{
	struct parser p;
	int got;

	make_parser(c, &p);
	optind = 0;
	opterr = 0;
	while ((got = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1) {
		int id = option_id(c, got);

		if (got == 'h' || id == HELP_ID)
			return print_help(c);
		if (got == '?')
			return optopt && optopt < 256
				       ? usage_error(c->name, "%s: there is no option -%c", c->name,
						     optopt)
				       : unknown_option(c, argv[optind - 1]);
		if (got == ':')
			return usage_error(c->name, "%s: option %s needs a value", c->name,
					   argv[optind - 1]);
		if (!set_common(ctx, id) && !(c->set && c->set(ctx, id, optarg)))
			return EXIT_USAGE;
	}
	return -1;
}

/* getopt() moves "--" before all arguments, so that those behind it are no more told apart. */
static int words_behind(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	return i < argc ? argc - i - 1 : 0;
}

int command_execute(const struct command *c, struct context *ctx, int argc, char **argv)
{
	_cleanup_free_ void *options = xcalloc(1, c->options_size);

	if (c->defaults)
		memcpy(options, c->defaults, c->options_size);
	ctx->options = options;
	ctx->behind = words_behind(argc, argv);
	int status = take_options(c, ctx, argc, argv);
	if (status == EXIT_USAGE && c->usage_status)
		return c->usage_status;
	if (status >= 0)
		return status;
	if (ctx->problems)
		warn_lines(ctx->problems, NULL);
	ctx->problems = NULL;
	return c->run(ctx, argc - optind, argv + optind);
}

/* ---- which job ------------------------------------------------------------------------------ */

static const char *lookup(const char *name)
{
	return getenv(name);
}

void job_forget_inherited(struct context *ctx)
{
	config_set(&ctx->config, SETTING_JOB, "", "default");
	config_set(&ctx->config, SETTING_JOBDIR, "", "default");
	unsetenv("PLIMSOLL_RUN");
}

void job_forget_outer(struct context *ctx)
{
	const char *left = getenv("PLIMSOLL_CONTEXT"), *job = config_get(&ctx->config, SETTING_JOB);
	size_t n = left ? strcspn(left, " ") : 0;

	if (!left || !left[n])
		return;
	_cleanup_free_ char *here = scheduler_context(lookup);
	if (strlen(job) != n || strncmp(job, left, n) != 0)
		config_set(&ctx->config, SETTING_JOBDIR, "", "default");
	else if (!scheduler_same_context(left + n + 1, here))
		job_forget_inherited(ctx);
}

/* Two clusters count their jobs alike: where a directory is another one's, ours has its name
 * behind the id. */
static char *of_this_cluster(struct context *ctx, const char *id)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	_cleanup_value_ struct value *meta = NULL;
	const char *cluster = getenv("SLURM_CLUSTER_NAME");

	if (cluster && *cluster &&
	    jobdir_open(&j, &ctx->config, job_layout(ctx), id, false, &why) == 0 &&
	    jobdir_read_meta(&j, &meta, NULL, &why) == 0) {
		const char *other = value_get_str(value_get(meta, "scheduler"), "cluster");

		if (!other)
			other = value_get_str(value_get(meta, "job_pl_env"), "SLURM_CLUSTER_NAME");
		if (other && strcmp(other, cluster) != 0)
			return xasprintf("%s@%s", id, cluster);
	}
	return xstrdup(id);
}

char *job_identify(struct context *ctx, enum job_origin *ret)
{
	const char *id = config_get(&ctx->config, SETTING_JOB);
	const struct scheduler *s;
	enum job_origin origin = JOB_NAMED;
	char *found = NULL;

	if (*id) {
		found = xstrdup(id);
	} else if ((s = scheduler_find(lookup, &id))) {
		origin = JOB_SCHEDULER;
		_cleanup_free_ char *own = scheduler_job_id(s, lookup, id);
		found = of_this_cluster(ctx, own);
	} else if (ctx->as == AS_PLIMSOLL && (found = current_job_get(&ctx->config))) {
		origin = JOB_SESSION;
	} else {
		origin = JOB_NONE;
	}
	if (ret)
		*ret = origin;
	return found;
}

const char *job_inherited_dir(const struct context *ctx)
{
	const char *dir = config_get(&ctx->config, SETTING_JOBDIR);
	bool named = str_prefix(ctx->config.origin[SETTING_JOB], "flag");

	return *dir && !named && ctx->as == AS_PLIMSOLL ? dir : NULL;
}

enum job_layout job_layout(const struct context *ctx)
{
	return ctx->as == AS_EPMT ? LAYOUT_EPMT : LAYOUT_NATIVE;
}

/* Without an id: to look at, the last one of all; to do something with, the last one of this
 * session, and nobody else's. */
static int open_last(struct context *ctx, struct jobdir *j, bool look, struct strbuf *why)
{
	bool may = ctx->as == AS_PLIMSOLL;
	_cleanup_free_ char *own = may ? session_job_get(&ctx->config) : NULL;
	_cleanup_free_ char *last = may ? last_job_get(&ctx->config) : NULL;

	const char *meant = own ? own : look ? last : NULL;
	int r = meant ? jobdir_open_path(j, &ctx->config, meant, NULL, false, why) : -ENOENT;
	if (meant && r != -ENOENT)
		return r;
	strbuf_reset(why);
	if (meant)
		strbuf_addf(
			why,
			"there is no current job: the last one%s was staged or removed, '%s' is "
			"gone; name the job, its directory or its archive (`plimsoll list` shows "
			"those in the store)",
			own ? " of this session" : "", meant);
	else if (last)
		strbuf_addf(why,
			    "this session has run no job; name the one that is meant: the last of "
			    "other sessions is '%s'",
			    last);
	else
		strbuf_addstr(why,
			      "there is no job here: no batch system's job id, no `start` in this "
			      "session, no earlier `run`; name its directory or set PLIMSOLL_JOB");
	return -ENOENT;
}

int job_open_current(struct context *ctx, struct jobdir *j, bool look)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	enum job_origin origin;
	_cleanup_free_ char *id = job_identify(ctx, &origin);
	const char *dir = job_inherited_dir(ctx);
	int r;

	if (dir) {
		r = jobdir_open_path(j, &ctx->config, dir, id, false, &why);
	} else if (!id) {
		r = open_last(ctx, j, look, &why);
	} else {
		r = jobdir_open(j, &ctx->config, job_layout(ctx), id, false, &why);
	}
	if (r == -ENOENT && id)
		log_error("job %s has no directory: `%s start` or `%s run` makes it, unless it was "
			  "staged or removed",
			  id, ctx->program, ctx->program);
	else if (r < 0)
		log_error("%s", why.buf);
	return r;
}

bool looks_like_path(const char *s)
{
	return strchr(s, '/') != NULL || !strcmp(s, ".") || !strcmp(s, "..");
}
