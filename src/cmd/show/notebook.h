/* Jupyter with a notebook about a job. */
#ifndef PL_CMD_SHOW_NOTEBOOK_H
#define PL_CMD_SHOW_NOTEBOOK_H

#include "cmd/command.h"

struct notebook_options {
	const char *job; /* NULL: the last one, whenever the notebook is run */
	const char *dir; /* NULL: the current one */
	bool install, print;
	int argc; /* Jupyter's */
	char **argv;
};
/* Becomes Jupyter; returns the exit status where it does not. */
int do_notebook(struct context *ctx, const struct notebook_options *o);

#endif
