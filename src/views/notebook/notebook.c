/* See notebook.h. */
#include "views/notebook/notebook.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/files/fs.h"
#include "core/log.h"
#include "core/module.h"
#include "core/text/text.h"

static const char notebook_text[] = {
#include "notebook.ipynb.h"
};

/* ---- the notebook --------------------------------------------------------------------------- */

/* A job id in a string of Python within a string of JSON. */
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

void notebook_add(struct strbuf *out, const char *id)
{
	static const char place[] = "@JOB@";
	const char *at = strstr(notebook_text, place);

	strbuf_add(out, notebook_text, (size_t)(at - notebook_text));
	add_id(out, id ? id : "last");
	strbuf_addstr(out, at + strlen(place));
}

char *notebook_name(const char *id)
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

/* Writes a temporary file and gives it its name only if that is unused. */
static int write_new(int dir, const char *name, const struct strbuf *text)
{
	_cleanup_free_ char *aside = xasprintf(".%s.%ld", name, (long)getpid());
	struct stat st;

	if (fstatat(dir, name, &st, 0) == 0)
		return -EEXIST;
	int r = fs_replace(dir, aside, text->buf, text->len, 0666);
	if (r == 0)
		r = fs_move_once(dir, aside, dir, name);
	(void)unlinkat(dir, aside, 0);
	return r;
}

int notebook_put(const char *dir, const char *id, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		log_error("cannot open directory '%s': %s; select another with --dir", dir,
			  strerror(errno));
		return -errno;
	}
	notebook_add(&text, id);
	int r = write_new(fd, name, &text);
	if (r == -EEXIST) {
		log_info("keeping the existing '%s/%s'", dir, name);
		return 0;
	}
	if (r < 0)
		log_error("cannot write '%s/%s': %s; select another directory with --dir", dir,
			  name, strerror(-r));
	return r;
}

/* ---- Jupyter -------------------------------------------------------------------------------- */

/* Finds a program in PATH; the caller frees the path. */
static char *program_in_path(const char *name)
{
	const char *path = getenv("PATH");

	for (path = path ? path : "/usr/bin:/bin"; *path;) {
		size_t n = strcspn(path, ":");
		char *file = xasprintf("%.*s/%s", (int)n, path, name);
		struct stat st;

		/* skip empty parts: the current directory may contain anybody's program */
		if (n && stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			return file;
		free(file);
		path += n + (path[n] == ':');
	}
	return NULL;
}

char *jupyter_find(void)
{
	char *file = program_in_path("jupyter-notebook");

	return file ? file : program_in_path("jupyter-lab");
}

/* Runs a program; returns its exit status, or -1 after reporting an error. */
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

int jupyter_install(void)
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
		log_error(
			"--install needs apt-get; install Jupyter, pandas and matplotlib with the "
			"package manager of this system");
		return -ENOENT;
	}
	if (!root && !sudo) {
		log_error("--install needs root or sudo: apt-get install " JUPYTER_PACKAGES);
		return -EPERM;
	}
	fprintf(stderr,
		"plimsoll: installing from the distribution: %sapt-get install -y "
		"--no-install-recommends " JUPYTER_PACKAGES "\n",
		root ? "" : "sudo ");
	int status = run_program(argv + (root ? 1 : 0));
	if (status > 0)
		log_error("apt-get failed with status %d", status);
	return status ? -EIO : 0;
}

/* Sets PLIMSOLL_DB for a program that runs in another directory. */
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

int notebook_environment(const char *db)
{
	_cleanup_free_ char *root = install_root();
	_cleanup_free_ char *modules = xasprintf("%s/share/plimsoll/python", root);
	_cleanup_free_ char *file = xasprintf("%s/plimsoll.py", modules);
	const char *before = getenv("PYTHONPATH");

	if (access(file, R_OK) < 0) {
		log_error("cannot read '%s': %s; is the installation complete?", file,
			  strerror(errno));
		return -ENOENT;
	}
	_cleanup_free_ char *path =
		before && *before ? xasprintf("%s:%s", modules, before) : xstrdup(modules);
	setenv("PYTHONPATH", path, 1);
	pass_store(db);
	return 0;
}

int jupyter_exec(const char *jupyter, const char *dir, const char *name, int argc, char **args)
{
	_cleanup_free_ char **argv = xcalloc((size_t)argc + 3, sizeof(*argv));

	if (chdir(dir) < 0) {
		log_error("cannot change to directory '%s': %s", dir, strerror(errno));
		return -errno;
	}
	argv[0] = (char *)jupyter;
	argv[1] = (char *)name;
	for (int i = 0; i < argc; i++)
		argv[2 + i] = args[i];
	execv(jupyter, argv);
	log_error("cannot run '%s': %s", jupyter, strerror(errno));
	return -errno;
}
