/*
 * plimsoll source: text that a shell evaluates to have everything recorded from there on. It must
 * survive `eval` of an unquoted command substitution, which turns every newline into a blank: so
 * every statement ends in a semicolon.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "core/files/fs.h"
#include "core/module.h"
#include "core/text/text.h"

/* Who evaluates our output called us. Where that is no shell that we know, a script may lie
 * between, and the user's own shell is the best guess. */
static enum shell detect_shell(void)
{
	static const char *const bourne[] = {"sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh"};
	_cleanup_free_ char *path = xasprintf("/proc/%d/comm", (int)getppid());
	_cleanup_strbuf_ struct strbuf caller = STRBUF_INIT;
	const char *shell = getenv("SHELL");

	if (fs_read(AT_FDCWD, path, 64, &caller) == 0)
		caller.buf[strcspn(caller.buf, "\n")] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(bourne); i++)
		if (!strcmp(caller.buf, bourne[i]))
			return SHELL_BOURNE;
	if (!shell || str_suffix(caller.buf, "csh") || !strcmp(caller.buf, "fish"))
		shell = caller.buf;
	return str_suffix(shell, "csh")    ? SHELL_CSH
	       : str_suffix(shell, "fish") ? SHELL_FISH
					   : SHELL_BOURNE;
}

/* "export NAME=value;" and its like. */
static void add_export(struct strbuf *out, enum shell shell, const char *name, const char *value)
{
	switch (shell) {
	case SHELL_CSH:
		strbuf_addf(out, "setenv %s ", name);
		text_add_csh(out, value);
		strbuf_addstr(out, ";\n");
		break;
	case SHELL_FISH:
		strbuf_addf(out, "set -gx %s ", name);
		text_add_fish(out, value);
		strbuf_addstr(out, ";\n");
		break;
	case SHELL_SLURM:
		/* a TaskProlog's output is taken literally: no quotes, no semicolon */
		strbuf_addf(out, "export %s=%s\n", name, value);
		break;
	case SHELL_AUTO:
	case SHELL_BOURNE:
		strbuf_addf(out, "export %s=", name);
		text_add_shell(out, value);
		strbuf_addstr(out, ";\n");
		break;
	}
}

static void add_unset(struct strbuf *out, enum shell shell, const char *name)
{
	strbuf_addf(out, "%s %s; ",
		    shell == SHELL_CSH    ? "unsetenv"
		    : shell == SHELL_FISH ? "set -e"
					  : "unset",
		    name);
}

/* "eval what the program says about LD_PRELOAD": the user may have changed it meanwhile. */
static void add_preload_call(struct strbuf *out, enum shell shell, bool on)
{
	_cleanup_free_ char *root = install_root(), *program = xasprintf("%s/bin/plimsoll", root);
	_cleanup_strbuf_ struct strbuf quoted = STRBUF_INIT;
	const char *word = on ? "on" : "off";

	if (shell == SHELL_CSH) {
		text_add_csh(&quoted, program);
		strbuf_addf(out, "eval `%s source --preload=%s csh`", quoted.buf, word);
	} else if (shell == SHELL_FISH) {
		text_add_fish(&quoted, program);
		strbuf_addf(out, "%s source --preload=%s fish | source", quoted.buf, word);
	} else {
		text_add_shell(&quoted, program);
		strbuf_addf(out, "eval \"$(%s source --preload=%s sh)\"", quoted.buf, word);
	}
}

/* Was it an earlier `source` of ours that set this? Then there is nothing of the user's to keep. */
static bool is_ours(const char *name)
{
	static const char *const names[] = {
		"PLIMSOLL_OUTPUT",  "PLIMSOLL_JOB",     "PLIMSOLL_JOBDIR", "PLIMSOLL_RUN",
		"PLIMSOLL_CONTEXT", "PLIMSOLL_SECCOMP", "PLIMSOLL_PIDNS"};

	for (size_t i = 0; i < ARRAY_SIZE(names) && getenv("PLIMSOLL_CONTEXT"); i++)
		if (!strcmp(names[i], name))
			return true;
	for (const struct exporter *const *e = exporters; *e; e++) {
		_cleanup_free_ char *prefix = xasprintf("%s_", (*e)->variable_prefix);
		_cleanup_free_ char *sourced = xasprintf("%sLD_PRELOAD", prefix);

		if (str_prefix(name, prefix) && getenv(sourced))
			return true;
	}
	return false;
}

static void unset_kept(struct strbuf *off, enum shell shell, const char *prefix)
{
	_cleanup_free_ char *old = xasprintf("%s_OLD_LD_PRELOAD", prefix);
	_cleanup_free_ char *list = xasprintf("%s_LD_PRELOAD", prefix);

	add_unset(off, shell, old);
	add_unset(off, shell, list);
}

/* Everything that is set here, and everything back to what it was. A shell may have evaluated our
 * lines and those of another name: either function takes back what both keep of LD_PRELOAD. */
static void add_bodies(struct strbuf *on, struct strbuf *off, enum shell shell, char *const *env)
{
	for (; *env; env++) {
		size_t n = strcspn(*env, "=");
		_cleanup_free_ char *key = xstrndup(*env, n);
		const char *old = is_ours(key) ? NULL : getenv(key);

		if (!strcmp(key, "LD_PRELOAD"))
			continue;
		add_export(on, shell, key, *env + n + 1);
		if (old)
			add_export(off, shell, key, old);
		else
			add_unset(off, shell, key);
	}
	unset_kept(off, shell, "PLIMSOLL");
	for (const struct exporter *const *e = exporters; *e; e++)
		unset_kept(off, shell, (*e)->variable_prefix);
	add_preload_call(on, shell, true);
	add_preload_call(off, shell, false);
	for (char *p = on->buf; (p = strstr(p, ";\n")); p++)
		p[1] = ' ';
	for (char *p = off->buf; (p = strstr(p, ";\n")); p++)
		p[1] = ' ';
}

/* Functions to switch recording off and on again, under the name that we are called by. */
static void add_functions(struct strbuf *out, enum shell shell, char *const *env, const char *n,
			  const char *v)
{
	_cleanup_strbuf_ struct strbuf on = STRBUF_INIT, off = STRBUF_INIT;

	add_bodies(&on, &off, shell, env);
	switch (shell) {
	case SHELL_CSH:
		strbuf_addf(out, "alias %s_instrument ", n);
		text_add_csh(out, on.buf);
		strbuf_addf(out, ";\nalias %s_uninstrument ", n);
		text_add_csh(out, off.buf);
		strbuf_addf(out,
			    ";\nalias %s_push_preload 'setenv %s_OLD_LD_PRELOAD \"\"; "
			    "if ( $?LD_PRELOAD ) eval setenv %s_OLD_LD_PRELOAD "
			    "\\\"\\$LD_PRELOAD\\\"; unsetenv LD_PRELOAD';\n",
			    n, v, v);
		strbuf_addf(out,
			    "alias %s_pop_preload 'if ( $?%s_OLD_LD_PRELOAD ) eval setenv "
			    "LD_PRELOAD \\\"\\$%s_OLD_LD_PRELOAD\\\"';\n",
			    n, v, v);
		break;
	case SHELL_FISH:
		strbuf_addf(out, "function %s_instrument; %s; end;\n", n, on.buf);
		strbuf_addf(out, "function %s_uninstrument; %s; end;\n", n, off.buf);
		strbuf_addf(out,
			    "function %s_push_preload; set -g %s_OLD_LD_PRELOAD $LD_PRELOAD; "
			    "set -e LD_PRELOAD; end;\n",
			    n, v);
		strbuf_addf(
			out,
			"function %s_pop_preload; set -q %s_OLD_LD_PRELOAD; and set -gx LD_PRELOAD "
			"$%s_OLD_LD_PRELOAD; end;\n",
			n, v, v);
		break;
	case SHELL_AUTO:
	case SHELL_BOURNE:
		strbuf_addf(out, "%s_instrument() { %s; };\n", n, on.buf);
		strbuf_addf(out, "%s_uninstrument() { %s; };\n", n, off.buf);
		strbuf_addf(out,
			    "%s_push_preload() { %s_OLD_LD_PRELOAD=\"${LD_PRELOAD-}\"; "
			    "unset LD_PRELOAD; };\n",
			    n, v);
		strbuf_addf(out,
			    "%s_pop_preload() { [ -z \"${%s_OLD_LD_PRELOAD+set}\" ] || "
			    "export LD_PRELOAD=\"$%s_OLD_LD_PRELOAD\"; };\n",
			    n, v, v);
		break;
	case SHELL_SLURM:
		break;
	}
}

static void add_all(struct context *ctx, struct strbuf *out, enum shell shell, char *const *env)
{
	const char *name = ctx->personality->shell_prefix;
	const char *variable = ctx->personality->variable_prefix;
	const char *old = getenv("LD_PRELOAD"), *preload = "";

	for (char *const *e = env; *e; e++) {
		size_t n = strcspn(*e, "=");
		_cleanup_free_ char *key = xstrndup(*e, n);

		if (!strcmp(key, "LD_PRELOAD") && shell != SHELL_SLURM)
			preload = *e + n + 1;
		else
			add_export(out, shell, key, *e + n + 1);
	}
	if (shell == SHELL_SLURM)
		return;
	_cleanup_free_ char *before = xasprintf("%s_OLD_LD_PRELOAD", variable);
	_cleanup_free_ char *after = xasprintf("%s_LD_PRELOAD", variable);
	add_export(out, shell, before, old ? old : "");
	add_export(out, shell, after, preload);
	add_functions(out, shell, env, name, variable);
	/* csh does not know an alias on the line that defines it */
	if (shell == SHELL_CSH)
		add_export(out, shell, "LD_PRELOAD", preload);
	else
		strbuf_addf(out, "%s_instrument;\n", name);
}

/* One statement: LD_PRELOAD with our library, or without it. */
static int print_preload(enum shell shell, bool on)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_free_ char *library = preload_library(), *list = preload_list(library, on);

	if (*list)
		add_export(&out, shell, "LD_PRELOAD", list);
	else if (getenv("LD_PRELOAD"))
		add_unset(&out, shell, "LD_PRELOAD");
	fwrite(out.buf, 1, out.len, stdout);
	return EXIT_OK;
}

/* A shell that records needs a job: where nobody has begun one, this does. 1: it did. */
static int begin_job(struct context *ctx, struct jobdir *j, enum job_origin origin)
{
	_cleanup_value_ struct value *meta = NULL;

	if (!j->layout->run_is_job || jobdir_has_meta(j))
		return 0;
	meta = new_metadata(ctx, j, NULL);
	int r = jobdir_create_meta(j, meta);
	if (r == -EEXIST)
		return 0;
	if (r < 0) {
		log_error("cannot write the metadata of job %s in '%s': %s", j->id, j->path,
			  strerror(-r));
		return r;
	}
	warn_of_own_disk(j);
	if (origin == JOB_NONE)
		(void)current_job_set(&ctx->config, j->id, true);
	(void)last_job_set(&ctx->config, j->path);
	log_info("job %s started in '%s'; `plimsoll stop` ends it", j->id, j->path);
	return 1;
}

/* To a person: text that is shown was not evaluated, and a job is begun all the same; where it is
 * evaluated, how it goes on. */
static void tell(const struct context *ctx, enum shell shell, const struct jobdir *j, bool began)
{
	bool shown = isatty(STDOUT_FILENO);

	if (ctx->personality->gives_no_hints || ctx->verbosity < 0 ||
	    (!shown && !isatty(STDERR_FILENO)))
		return;
	if (!shown && shell != SHELL_SLURM)
		fprintf(stderr,
			"plimsoll: job %s: what this shell starts is recorded; to end and store it: "
			"plimsoll_uninstrument; plimsoll stop; plimsoll submit\n",
			j->id);
	if (!shown)
		return;
	_cleanup_free_ char *begun =
		began ? xasprintf("; job %s was begun in '%s', and what this session runs is part "
				  "of it until `plimsoll stop`",
				  j->id, j->path)
		      : xstrdup("");
	log_warn("this is for %s%s",
		 shell == SHELL_CSH     ? "a shell to evaluate: eval `plimsoll source csh`"
		 : shell == SHELL_FISH  ? "a shell to evaluate: plimsoll source fish | source"
		 : shell == SHELL_SLURM ? "a TaskProlog of Slurm to print"
					: "a shell to evaluate: eval \"$(plimsoll source sh)\"",
		 begun);
}

int do_source(struct context *ctx, enum shell shell, const char *dir)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, problems = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	struct runfile file = RUNFILE_INIT;
	enum job_origin origin;

	if (shell == SHELL_AUTO)
		shell = detect_shell();
	if (job_open_or_make(ctx, dir, &j, &origin) < 0)
		return EXIT_FAILED;
	int began = begin_job(ctx, &j, origin);
	if (began < 0)
		return EXIT_FAILED;
	if (runfile_create(&file, &j, &why) < 0) {
		log_error("%s", why.buf);
		runfile_release(&file);
		return EXIT_FAILED;
	}
	char **env = recording_environment(ctx, &j, &file, &problems);
	for (char *p = problems.buf, *end; *p; p = end + 1) {
		end = p + strcspn(p, "\n");
		log_warn("%.*s", (int)(end - p), p);
		if (!*end)
			break;
	}
	add_all(ctx, &out, shell, env);
	fwrite(out.buf, 1, out.len, stdout);
	fflush(stdout);
	tell(ctx, shell, &j, began);
	free_strings(env);
	runfile_release(&file);
	return EXIT_OK;
}

/* ---- command -------------------------------------------------------------------------------- */

struct source_options {
	enum shell shell;
	const char *dir;
	enum { PRELOAD_ALL, PRELOAD_ON, PRELOAD_OFF } preload; /* on or off: only LD_PRELOAD */
};

static const struct option_word shells[] = {
	{"sh", SHELL_BOURNE},   {"bash", SHELL_BOURNE},
	{"dash", SHELL_BOURNE}, {"ksh", SHELL_BOURNE},
	{"zsh", SHELL_BOURNE},  {"csh", SHELL_CSH},
	{"tcsh", SHELL_CSH},    {"fish", SHELL_FISH},
	{"slurm", SHELL_SLURM}, {NULL, 0},
};

static const struct option_row rows[] = {
	{OPT_CHOICE, 0, "shell", "SHELL",
	 "the shell; told by who calls, or by $SHELL, when not given",
	 AT(struct source_options, shell), .words = shells},
	{OPT_FIXED, 's', "slurm", NULL, "lines for the output of a Slurm TaskProlog",
	 AT(struct source_options, shell), .number = SHELL_SLURM},
	{OPT_CHOICE, 0, "preload", "on|off",
	 "only LD_PRELOAD, with our library or without it: what the functions use",
	 AT(struct source_options, preload), WORDS({"on", PRELOAD_ON}, {"off", PRELOAD_OFF})},
	{OPT_TEXT, 'o', "output", "DIR", "the job's directory, instead of the current job's",
	 AT(struct source_options, dir)},
	{OPT_SETTING, 'j', "job", "ID", "job id, instead of the batch system's",
	 .setting = SETTING_JOB},
	{OPT_SETTING, 't', "tags", "TAGS", "tags of the processes, key:value;key:value",
	 .setting = SETTING_TAGS},
	{OPT_SETTING, 'E', "events", "LIST", "events to count in every thread, comma separated",
	 .setting = SETTING_EVENTS},
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

static int run(struct context *ctx, int argc, char **argv)
{
	const struct source_options *o = ctx->options;

	if (argc > 1)
		return usage_error("source", "source takes the name of one shell");
	if (argc == 1 && !option_take(&rows[0], "source", "SHELL", ctx, argv[0]))
		return EXIT_USAGE;
	if (o->preload)
		return print_preload(o->shell == SHELL_AUTO ? detect_shell() : o->shell,
				     o->preload == PRELOAD_ON);
	return do_source(ctx, o->shell, o->dir);
}

const struct command command_source = {
	.name = "source",
	.summary = "print what a shell evaluates to have its commands recorded",
	.arguments = "[SHELL]",
	.description =
		"Prints assignments and four functions: plimsoll_instrument, plimsoll_uninstrument, "
		"plimsoll_push_preload and plimsoll_pop_preload, then switches recording on. Everything "
		"that the shell starts afterwards is recorded into the current job; where there is none, one is "
		"begun, under the name of the script that calls this or else of the shell: also where the output is only looked at, "
		"which a line says on a terminal. plimsoll_uninstrument ends recording: it takes back everything that was set and leaves "
		"what else LD_PRELOAD has. `plimsoll stop` ends the job, `plimsoll submit` stores it.\n\n"
		"With --slurm the lines are those that a TaskProlog prints to set the task's environment.",
	.examples =
		"  eval \"$(plimsoll source)\"; ./model; plimsoll_uninstrument; plimsoll stop; plimsoll submit\n"
		"  eval `plimsoll source csh`          csh and tcsh\n"
		"  plimsoll source fish | source       fish\n",
	.options = rows,
	.options_size = sizeof(struct source_options),
	.run = run,
};
