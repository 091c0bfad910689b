/*
 * plimsoll notebook: a ready notebook about a job, and Jupyter with it. The notebook is the user's
 * from then on: one that is there is never written over. It reads the store by
 * contrib/python/plimsoll.py.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cmd/actions.h"
#include "cmd/show/notebook.h"
#include "context/job_argument.h"
#include "core/files/fs.h"
#include "core/module.h"
#include "core/text/text.h"
#include "store/query.h"

#define PACKAGES "jupyter-notebook python3-pandas python3-matplotlib"

static const char notebook_text[] = {
#include "notebook.ipynb.h"
};

/* ---- the notebook --------------------------------------------------------------------------- */

/* A job id inside of a string of Python, which is inside of one of JSON. */
static void add_id(struct strbuf *out, const char *id)
{
	_cleanup_strbuf_ struct strbuf python = STRBUF_INIT;

	for (const char *p = id; *p; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			strbuf_addf(&python, "\\x%02x", (unsigned char)*p);
		else if (*p == '"' || *p == '\\')
			strbuf_addf(&python, "\\%c", *p);
		else
			strbuf_addch(&python, *p);
	}
	text_add_json(out, python.buf, python.len);
}

static void make_notebook(struct strbuf *out, const char *id)
{
	static const char place[] = "@JOB@";
	const char *at = strstr(notebook_text, place);

	strbuf_add(out, notebook_text, (size_t)(at - notebook_text));
	add_id(out, id ? id : "last");
	strbuf_addstr(out, at + strlen(place));
}

/* The file's name: of an id, which may be anything, only what is harmless in one. */
static char *notebook_name(const char *id)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	if (!id)
		return xstrdup("plimsoll.ipynb");
	strbuf_addstr(&name, "plimsoll-");
	for (const char *p = id; *p && name.len < 200; p++)
		strbuf_addch(&name, (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z') ||
						    (*p >= 'a' && *p <= 'z') || *p == '.' ||
						    *p == '-'
					    ? *p
					    : '_');
	strbuf_addstr(&name, ".ipynb");
	return strbuf_take(&name);
}

/* Writes it aside and gives it its name only where nothing has it yet. */
static int write_new(int dir, const char *name, const struct strbuf *text)
{
	_cleanup_free_ char *aside = xasprintf(".%s.%ld", name, (long)getpid());
	struct stat st;

	if (fstatat(dir, name, &st, 0) == 0)
		return -EEXIST;
	int r = fs_replace(dir, aside, text->buf, text->len, 0666);
	if (r == 0 && linkat(dir, aside, dir, name, 0) < 0)
		r = -errno;
	/* filesystems without links: nobody else writes this name but another of us */
	if (r == -EPERM || r == -EOPNOTSUPP || r == -ENOSYS)
		r = renameat(dir, aside, dir, name) < 0 ? -errno : 0;
	(void)unlinkat(dir, aside, 0);
	return r;
}

static int put_notebook(const struct notebook_options *o, const char *id, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const char *dir = o->dir ? o->dir : ".";
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		log_error("cannot open the directory '%s': %s; --dir names another", dir,
			  strerror(errno));
		return -errno;
	}
	make_notebook(&text, id);
	int r = write_new(fd, name, &text);
	if (r == -EEXIST) {
		log_info("'%s/%s' is there already and stays as it is", dir, name);
		return 0;
	}
	if (r < 0)
		log_error("cannot write '%s/%s': %s; --dir names another directory", dir, name,
			  strerror(-r));
	return r;
}

/* ---- which job ------------------------------------------------------------------------------ */

/* The full id of a job that is named; NULL with a message. */
static char *full_id(struct context *ctx, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	int64_t job = 0;
	char *id = NULL;

	if (open_store(ctx, STORE_READ, &s) < 0)
		return NULL;
	int r = job_find(s, name, &job, &why);
	if (r == -ENOENT && job_argument_is_path(name))
		log_error("a notebook reads jobs of the store: `plimsoll submit %s` first, then "
			  "`plimsoll notebook last`",
			  name);
	else if (r < 0)
		log_error("%s", why.buf);
	if (r < 0)
		return NULL;
	_cleanup_stmt_ struct stmt *st = stmt_prepare(s, "SELECT jobid FROM job WHERE no = $1");
	if (st)
		stmt_int(st, 1, job);
	if (st && stmt_step(st) == 1)
		id = xstrdup(stmt_get_str(st, 0));
	else
		log_error("%s", store_error(s));
	return id;
}

/* ---- Jupyter -------------------------------------------------------------------------------- */

/* The first program of this name in PATH; freed by the caller. */
static char *program_in_path(const char *name)
{
	const char *path = getenv("PATH");

	for (path = path ? path : "/usr/bin:/bin"; *path;) {
		size_t n = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)n, path, name);
		struct stat st;

		/* an empty part is the current directory, where anybody's program may be */
		if (n && stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			return file;
		free(file);
		path += n + (path[n] == ':');
	}
	return NULL;
}

static char *find_jupyter(void)
{
	char *file = program_in_path("jupyter-notebook");

	return file ? file : program_in_path("jupyter-lab");
}

/* Runs a program to its end; its exit status, or -1 with a message. */
static int run_program(char *const argv[])
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		log_error("cannot run %s: %s", argv[0], strerror(errno));
		return -1;
	}
	return shell_status(status);
}

static int install_packages(void)
{
	_cleanup_free_ char *apt = program_in_path("apt-get"), *sudo = program_in_path("sudo");
	char *argv[] = {(char *)"sudo",
			(char *)"apt-get",
			(char *)"install",
			(char *)"-y",
			(char *)"--no-install-recommends",
			(char *)"jupyter-notebook",
			(char *)"python3-pandas",
			(char *)"python3-matplotlib",
			NULL};
	bool root = geteuid() == 0;

	if (!apt) {
		log_error("--install needs apt-get, which is not here; install Jupyter, pandas and "
			  "matplotlib by what this system has");
		return -ENOENT;
	}
	if (!root && !sudo) {
		log_error("--install needs root or sudo: apt-get install " PACKAGES);
		return -EPERM;
	}
	fprintf(stderr,
		"plimsoll: installing from the distribution: %sapt-get install -y "
		"--no-install-recommends " PACKAGES "\n",
		root ? "" : "sudo ");
	int status = run_program(argv + (root ? 1 : 0));
	if (status > 0)
		log_error("apt-get ended with status %d; nothing is started", status);
	return status ? -EIO : 0;
}

/* The store for a program that runs in another directory. */
static void pass_store(const char *db)
{
	static const char scheme[] = "sqlite:///";
	const char *path = str_prefix(db, scheme) ? db + strlen(scheme) : db;
	_cleanup_free_ char *here = NULL, *whole = NULL;

	if (path[0] != '/' && path[0] != ':' && !strstr(path, "://") &&
	    !str_prefix(path, "sqlite:"))
		here = getcwd(NULL, 0);
	if (here)
		whole = xasprintf("%s/%s", here, path);
	if (*db)
		setenv("PLIMSOLL_DB", whole ? whole : db, 1);
}

/* Where the module and the store are, for Python. */
static int prepare_environment(struct context *ctx)
{
	_cleanup_free_ char *root = install_root();
	_cleanup_free_ char *modules = xasprintf("%s/share/plimsoll/python", root);
	_cleanup_free_ char *file = xasprintf("%s/plimsoll.py", modules);
	const char *before = getenv("PYTHONPATH");

	if (access(file, R_OK) < 0) {
		log_error("cannot read '%s': %s; is the installation whole?", file,
			  strerror(errno));
		return -ENOENT;
	}
	_cleanup_free_ char *path =
		before && *before ? xasprintf("%s:%s", modules, before) : xstrdup(modules);
	setenv("PYTHONPATH", path, 1);
	pass_store(config_get(&ctx->config, SETTING_DB));
	return 0;
}

static int start(const char *jupyter, const struct notebook_options *o, const char *name)
{
	_cleanup_free_ char **argv = xcalloc((size_t)o->argc + 3, sizeof(*argv));

	if (o->dir && chdir(o->dir) < 0) {
		log_error("cannot go to '%s': %s", o->dir, strerror(errno));
		return EXIT_FAILED;
	}
	argv[0] = (char *)jupyter;
	argv[1] = (char *)name;
	for (int i = 0; i < o->argc; i++)
		argv[2 + i] = o->argv[i];
	execv(jupyter, argv);
	log_error("cannot run '%s': %s", jupyter, strerror(errno));
	return EXIT_FAILED;
}

int do_notebook(struct context *ctx, const struct notebook_options *o)
{
	_cleanup_free_ char *id = NULL, *name = NULL, *jupyter = NULL;

	if (o->job && !(id = full_id(ctx, o->job)))
		return EXIT_FAILED;
	if (o->print) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		make_notebook(&text, id);
		if (fwrite(text.buf, 1, text.len, stdout) == text.len && fflush(stdout) == 0)
			return EXIT_OK;
		log_error("cannot write the notebook: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (o->install && install_packages() < 0)
		return EXIT_FAILED;
	jupyter = find_jupyter();
	if (!jupyter) {
		log_error("there is no Jupyter in PATH: install " PACKAGES
			  ", or let `plimsoll notebook --install` do it; --print writes the "
			  "notebook for other programs");
		return EXIT_FAILED;
	}
	name = notebook_name(id);
	if (prepare_environment(ctx) < 0 || put_notebook(o, id, name) < 0)
		return EXIT_FAILED;
	return start(jupyter, o, name);
}

/* ---- command -------------------------------------------------------------------------------- */

static int run(struct context *ctx, int argc, char **argv)
{
	struct notebook_options *o = ctx->options;

	o->argc = ctx->behind;
	o->argv = argv + argc - ctx->behind;
	if (argc - o->argc > 1)
		return usage_error("notebook", "notebook takes one job; what is for Jupyter comes "
					       "behind --");
	o->job = argc > o->argc ? argv[0] : NULL;
	return do_notebook(ctx, o);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'd', "dir", "DIR",
	 "where the notebook is, and Jupyter runs; else the current directory",
	 AT(struct notebook_options, dir)},
	{OPT_FLAG, 0, "install", NULL,
	 "install " PACKAGES " from the distribution first, by apt-get, as root or with sudo",
	 AT(struct notebook_options, install)},
	{OPT_FLAG, 0, "print", NULL, "write the notebook to stdout and start nothing",
	 AT(struct notebook_options, print)},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_notebook = {
	.name = "notebook",
	.summary = "look at a job in a Jupyter notebook",
	.arguments = "[JOB] [-- JUPYTER-ARGUMENT...]",
	.description =
		"Makes a notebook that loads a job in three lines and draws its programs, its concurrency and its "
		"curves, and starts Jupyter with it. Without JOB it is about the job that was stored last, "
		"whenever it is run. The file is plimsoll-JOB.ipynb, or plimsoll.ipynb; one that is there already "
		"stays as it is.\n\n"
		"The notebook reads the store by the Python module plimsoll.py in share/plimsoll/python, which "
		"gives jobs, processes and samples as pandas DataFrames and is of use in any script; PYTHONPATH "
		"gets its directory, and PLIMSOLL_DB the store.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last. Arguments behind -- are Jupyter's.",
	.examples = "  plimsoll notebook\n"
		    "  plimsoll notebook 685000 --dir ~/notebooks -- --no-browser --port 9000\n"
		    "  plimsoll notebook 685000 --print >685000.ipynb\n",
	.options = rows,
	.options_size = sizeof(struct notebook_options),
	.run = run,
};
