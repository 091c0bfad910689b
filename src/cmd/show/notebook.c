/* plimsoll notebook: opens a notebook about a job in Jupyter. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "context/job_argument.h"
#include "store/query.h"
#include "views/notebook/notebook.h"

/* The full id of a job; NULL after reporting an error. */
static char *full_id(struct context *ctx, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	int64_t job = 0;

	if (open_store(ctx, STORE_READ, &s) < 0)
		return NULL;
	int r = job_find(s, name, &job, &why);
	char *id = r < 0 ? NULL : job_id_of(s, job);
	if (r == -ENOENT && job_argument_is_path(name))
		log_error("a notebook reads jobs of the store: run `plimsoll submit %s`, then "
			  "`plimsoll notebook last`",
			  name);
	else if (!id)
		log_error("%s", r < 0 ? why.buf : store_error(s));
	return id;
}

static int print_notebook(const char *id)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	notebook_add(&text, id);
	if (fwrite(text.buf, 1, text.len, stdout) == text.len && fflush(stdout) == 0)
		return EXIT_OK;
	log_error("cannot write the notebook: %s", strerror(errno));
	return EXIT_FAILED;
}

int do_notebook(struct context *ctx, const struct notebook_options *o)
{
	_cleanup_free_ char *id = NULL, *name = NULL, *jupyter = NULL;
	const char *dir = o->dir ? o->dir : ".";

	if (o->job && !(id = full_id(ctx, o->job)))
		return EXIT_FAILED;
	if (o->print)
		return print_notebook(id);
	if (o->install && jupyter_install() < 0)
		return EXIT_FAILED;
	jupyter = jupyter_find();
	if (!jupyter)
		return fail_with(
			EXIT_FAILED,
			"Jupyter is not in PATH; install " JUPYTER_PACKAGES
			", or run `plimsoll notebook --install`; --print writes the notebook for "
			"other programs");
	name = notebook_name(id);
	if (notebook_environment(config_get(&ctx->config, SETTING_DB)) == 0 &&
	    notebook_put(dir, id, name) == 0)
		(void)jupyter_exec(jupyter, dir, name, o->argc, o->argv);
	return EXIT_FAILED;
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct notebook_options *o = ctx->options;

	o->argc = ctx->behind;
	o->argv = argv + argc - ctx->behind;
	o->job = argc > o->argc ? argv[0] : NULL;
	return do_notebook(ctx, o);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'd', "dir", "DIR",
	 "directory of the notebook, in which Jupyter runs; default: the current one",
	 AT(struct notebook_options, dir)},
	{OPT_FLAG, 0, "install", NULL,
	 "first install " JUPYTER_PACKAGES " with apt-get, as root or with sudo",
	 AT(struct notebook_options, install)},
	{OPT_FLAG, 0, "print", NULL, "write the notebook to standard output, start nothing",
	 AT(struct notebook_options, print)},
	ROWS_STORE,
};

const struct command command_notebook = {
	.name = "notebook",
	.summary = "open a job in a Jupyter notebook",
	.operands = {"JOB", 0, 1, HELP_JOB, .usage = "[JOB] [-- JUPYTER-ARGUMENT...]",
		     .hint = "arguments for Jupyter must follow --"},
	.description =
		"Creates a notebook that loads a job in three lines and plots its programs, its "
		"concurrency and its series, and starts Jupyter with it. Without JOB, the notebook "
		"shows the job stored last at the time it is run. The file is plimsoll-JOB.ipynb or "
		"plimsoll.ipynb; an existing file is kept.\n\n"
		"The notebook reads the store with the Python module plimsoll.py in "
		"share/plimsoll/python, which returns jobs, processes and samples as pandas DataFrames "
		"and can be used in any script. Its directory is added to PYTHONPATH, and PLIMSOLL_DB "
		"is set to the store. Arguments after -- are passed to Jupyter.",
	.examples = "  plimsoll notebook\n"
		    "  plimsoll notebook 685000 --dir ~/notebooks -- --no-browser --port 9000\n"
		    "  plimsoll notebook 685000 --print >685000.ipynb\n",
	OPTIONS(struct notebook_options, rows),
	.passes_on = true,
	.run = run,
};
