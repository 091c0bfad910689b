/* See shell_code.h. */
#include "run/shell_code.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "context/current_job.h"
#include "core/files/fs.h"
#include "core/module.h"
#include "core/text/text.h"
#include "run/run.h"

enum shell detect_shell(void)
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

/*
 * The code for each shell, with @ and a letter for a value: K key, Q quoted value, N prefix of
 * functions, V prefix of variables, O body of the function that switches recording on, F off.
 */
static const struct syntax {
	void (*quote)(struct strbuf *out, const char *s); /* NULL: values are taken literally */
	const char *set, *unset;
	const char *preload; /* evaluates what `source --preload=K` prints; Q is the program */
	const char *functions;
} syntaxes[] = {
	[SHELL_BOURNE] = {text_add_shell, "export @K=@Q;\n", "unset @K; ",
			  "eval \"$(@Q source --preload=@K sh)\"",
			  "@N_instrument() { @O; };\n"
			  "@N_uninstrument() { @F; };\n"
			  "@N_push_preload() { @V_OLD_LD_PRELOAD=\"${LD_PRELOAD-}\"; "
			  "unset LD_PRELOAD; };\n"
			  "@N_pop_preload() { [ -z \"${@V_OLD_LD_PRELOAD+set}\" ] || "
			  "export LD_PRELOAD=\"$@V_OLD_LD_PRELOAD\"; };\n"},
	[SHELL_CSH] =
		{text_add_csh, "setenv @K @Q;\n", "unsetenv @K; ",
		 "eval `@Q source --preload=@K csh`",
		 "alias @N_instrument @O;\n"
		 "alias @N_uninstrument @F;\n"
		 "alias @N_push_preload 'setenv @V_OLD_LD_PRELOAD \"\"; if ( $?LD_PRELOAD ) "
		 "eval setenv @V_OLD_LD_PRELOAD \\\"\\$LD_PRELOAD\\\"; unsetenv LD_PRELOAD';\n"
		 "alias @N_pop_preload 'if ( $?@V_OLD_LD_PRELOAD ) eval setenv LD_PRELOAD "
		 "\\\"\\$@V_OLD_LD_PRELOAD\\\"';\n"},
	[SHELL_FISH] = {text_add_fish, "set -gx @K @Q;\n", "set -e @K; ",
			"@Q source --preload=@K fish | source",
			"function @N_instrument; @O; end;\n"
			"function @N_uninstrument; @F; end;\n"
			"function @N_push_preload; set -g @V_OLD_LD_PRELOAD $LD_PRELOAD; "
			"set -e LD_PRELOAD; end;\n"
			"function @N_pop_preload; set -q @V_OLD_LD_PRELOAD; and set -gx LD_PRELOAD "
			"$@V_OLD_LD_PRELOAD; end;\n"},
	/* the output of a TaskProlog: no quotes, no semicolon */
	[SHELL_SLURM] = {.set = "export @K=@Q\n"},
};

/* Adds code; letters name the values. */
static void add_code(struct strbuf *out, enum shell shell, const char *code, const char *letters,
		     const char *const *values)
{
	for (const char *p = code; *p; p++) {
		const char *at = *p == '@' ? strchr(letters, *++p) : NULL;
		/* an alias of csh is one quoted word */
		bool quoted = at && (*at == 'Q' || (shell == SHELL_CSH && strchr("OF", *at)));

		if (!at)
			strbuf_addch(out, *p);
		else if (quoted && syntaxes[shell].quote)
			syntaxes[shell].quote(out, values[at - letters]);
		else
			strbuf_addstr(out, values[at - letters]);
	}
}

static void add_export(struct strbuf *out, enum shell shell, const char *name, const char *value)
{
	add_code(out, shell, syntaxes[shell].set, "KQ", (const char *[]){name, value});
}

static void add_unset(struct strbuf *out, enum shell shell, const char *name)
{
	add_code(out, shell, syntaxes[shell].unset, "K", &name);
}

/* The user may change LD_PRELOAD before the function runs, so that it asks the program then. */
static void add_preload_call(struct strbuf *out, enum shell shell, bool on)
{
	_cleanup_free_ char *root = install_root(), *program = xasprintf("%s/bin/plimsoll", root);

	add_code(out, shell, syntaxes[shell].preload, "KQ",
		 (const char *[]){on ? "on" : "off", program});
}

/* Did an earlier `source` set this variable? Then there is no value of the user's to restore. */
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

static void unset_saved(struct strbuf *off, enum shell shell, const char *prefix)
{
	_cleanup_free_ char *old = xasprintf("%s_OLD_LD_PRELOAD", prefix);
	_cleanup_free_ char *list = xasprintf("%s_LD_PRELOAD", prefix);

	add_unset(off, shell, old);
	add_unset(off, shell, list);
}

/* Sets all variables, and restores them. A shell may have evaluated the code of several
 * personalities: each function removes what all of them saved of LD_PRELOAD. */
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
	unset_saved(off, shell, "PLIMSOLL");
	for (const struct exporter *const *e = exporters; *e; e++)
		unset_saved(off, shell, (*e)->variable_prefix);
	add_preload_call(on, shell, true);
	add_preload_call(off, shell, false);
	for (struct strbuf *both[] = {on, off, NULL}, **b = both; *b; b++)
		for (char *p = (*b)->buf; (p = strstr(p, ";\n")); p++)
			p[1] = ' ';
}

/* Functions that switch recording on and off, with the prefix of the personality. */
static void add_functions(struct strbuf *out, enum shell shell, char *const *env, const char *n,
			  const char *v)
{
	_cleanup_strbuf_ struct strbuf on = STRBUF_INIT, off = STRBUF_INIT;

	add_bodies(&on, &off, shell, env);
	add_code(out, shell, syntaxes[shell].functions, "NVOF",
		 (const char *[]){n, v, on.buf, off.buf});
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
	/* csh cannot use an alias on the line that defines it */
	if (shell == SHELL_CSH)
		add_export(out, shell, "LD_PRELOAD", preload);
	else
		strbuf_addf(out, "%s_instrument;\n", name);
}

int print_preload(enum shell shell, bool on)
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

/* Begins a job if there is none; returns 1 if it did. */
static int begin_job(struct context *ctx, struct job_directory *j, enum job_origin origin)
{
	_cleanup_value_ struct value *meta = NULL;

	if (!j->layout->run_is_job || job_directory_has_meta(j))
		return 0;
	meta = new_metadata(ctx, j, NULL);
	int r = job_directory_create_meta(j, meta);
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

/* Tells a person how to go on; or, if the output is only shown and not evaluated, that a job was
 * begun all the same. */
static void print_hint(const struct context *ctx, enum shell shell, const struct job_directory *j,
		       bool began)
{
	bool shown = isatty(STDOUT_FILENO);

	if (ctx->personality->gives_no_hints || ctx->verbosity < 0 ||
	    (!shown && !isatty(STDERR_FILENO)))
		return;
	if (!shown && shell != SHELL_SLURM)
		fprintf(stderr,
			"plimsoll: job %s: everything that this shell starts is recorded; to end and "
			"store it: plimsoll_uninstrument; plimsoll stop; plimsoll submit\n",
			j->id);
	if (!shown)
		return;
	_cleanup_free_ char *begun =
		began ? xasprintf("; job %s was begun in '%s', and everything that this session "
				  "runs belongs to it until `plimsoll stop`",
				  j->id, j->path)
		      : xstrdup("");
	log_warn("this output is for %s%s",
		 shell == SHELL_CSH     ? "a shell to evaluate: eval `plimsoll source csh`"
		 : shell == SHELL_FISH  ? "a shell to evaluate: plimsoll source fish | source"
		 : shell == SHELL_SLURM ? "a TaskProlog of Slurm to print"
					: "a shell to evaluate: eval \"$(plimsoll source sh)\"",
		 begun);
}

int do_source(struct context *ctx, enum shell shell, const char *dir)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, problems = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	struct run_file file = RUN_FILE_INIT;
	enum job_origin origin;

	if (shell == SHELL_AUTO)
		shell = detect_shell();
	if (job_open_or_make(ctx, dir, &j, &origin) < 0)
		return EXIT_FAILED;
	int began = begin_job(ctx, &j, origin);
	if (began < 0)
		return EXIT_FAILED;
	if (run_file_make(&file, &j, NULL, ".rec", &why) < 0) {
		log_error("%s", why.buf);
		run_file_release(&file);
		return EXIT_FAILED;
	}
	char **env = recording_environment(ctx, &j, &file, &problems);
	warn_lines(problems.buf, NULL);
	add_all(ctx, &out, shell, env);
	fwrite(out.buf, 1, out.len, stdout);
	fflush(stdout);
	print_hint(ctx, shell, &j, began);
	free_strings(env);
	run_file_release(&file);
	return EXIT_OK;
}
