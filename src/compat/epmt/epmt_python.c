/*
 * Called as `epmt python`, `epmt shell` and `epmt help api`: the system's Python, with EPMT's
 * modules (share/plimsoll/epmt) and ours in its path, and the store in its environment.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"
#include "core/module.h"
#include "views/notebook/notebook.h"

/* Debian's, which has pandas from Debian's packages; in a virtual environment, that one's. */
static const char *interpreter(void)
{
	const char *chosen = getenv("VIRTUAL_ENV");

	return (chosen && *chosen) || access("/usr/bin/python3", X_OK) < 0 ? "python3"
									   : "/usr/bin/python3";
}

int epmt_python_environment(struct context *ctx)
{
	_cleanup_free_ char *root = install_root();
	_cleanup_free_ char *modules = xasprintf("%s/share/plimsoll/epmt", root);
	_cleanup_free_ char *file = xasprintf("%s/epmt/epmt_query.py", modules);

	if (access(file, R_OK) < 0)
		return fail_with(-ENOENT, "cannot read '%s': %s; is the installation complete?",
				 file, strerror(errno));
	int r = notebook_environment(config_get(&ctx->config, SETTING_DB));
	if (r < 0)
		return r;
	_cleanup_free_ char *path = xasprintf("%s:%s", modules, getenv("PYTHONPATH"));
	setenv("PYTHONPATH", path, 1);
	return 0;
}

/* Replaces this program by Python with these words and those of the command line. */
static int execute(struct context *ctx, const char *const *front, const struct epmt *e, int skip)
{
	_cleanup_free_ char **argv = xcalloc((size_t)e->word_count + 8, sizeof(*argv));
	size_t n = 0;

	if (epmt_python_environment(ctx) < 0)
		return EXIT_FAILED;
	argv[n++] = (char *)interpreter();
	while (*front)
		argv[n++] = (char *)*front++;
	for (int i = skip; i < e->word_count; i++)
		argv[n++] = e->words[i];
	execvp(argv[0], argv);
	return fail_with(EXIT_FAILED, "cannot run %s: %s; install python3", argv[0],
			 strerror(errno));
}

int epmt_python(struct context *ctx, const struct epmt *e)
{
	static const char *const none[] = {NULL};

	epmt_say_store(ctx);
	return execute(ctx, none, e, 0);
}

int epmt_shell(struct context *ctx, const struct epmt *e)
{
	static const char *const front[] = {"-m", "epmt.shell", NULL};

	epmt_say_store(ctx);
	return execute(ctx, front, e, 0);
}

int epmt_help_api(struct context *ctx, const struct epmt *e)
{
	static const char *const front[] = {"-m", "epmt.help_api", NULL};

	return execute(ctx, front, e, 1);
}
