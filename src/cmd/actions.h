/*
 * The actions of commands, without option parsing, which all personalities share. Each reports
 * errors and returns the exit status.
 */
#pragma once

#include "cmd/command.h"
#include "context/annotate.h"
#include "context/current_job.h"
#include "context/stored_job.h"
#include "inbox/submit.h"
#include "run/check.h"
#include "run/run.h"
#include "run/shell_code.h"
#include "run/stage.h"

struct start_options {
	bool error;       /* fail if the job was already started */
	const char *name; /* of the job; NULL: from the batch system */
	const char *dir;  /* job directory; NULL: below the prefix */
	bool print;       /* print the job id */
};
int do_start(struct context *ctx, const struct start_options *o);

struct stop_options {
	bool error;
	int exitcode; /* -1: from the runs */
	const char *reason;
	const char *dir;
};
int do_stop(struct context *ctx, const struct stop_options *o);

struct dump_options {
	const char *key;
	bool json;
};
int do_dump(struct context *ctx, const struct dump_options *o, int argc, char **argv);

/* Replaces control characters if standard output is a terminal. */
void make_safe(struct strbuf *text);

struct notebook_options {
	const char *job; /* NULL: the last one at the time the notebook is run */
	const char *dir; /* NULL: the current directory */
	bool install, print;
	int argc; /* arguments for Jupyter */
	char **argv;
};
/* Becomes Jupyter; returns the exit status otherwise. */
int do_notebook(struct context *ctx, const struct notebook_options *o);

struct analyze_options {
	const char *where;
	bool all_new, again, json, csv;
};
/* The jobs that the words name, that match the filter, or else all new ones. */
int do_analyze(struct context *ctx, const struct analyze_options *o, int argc, char **argv);

int do_delete(struct context *ctx, int argc, char **argv);
int do_retire(struct context *ctx, bool dry);
/* Runs an action of `db`; arg may be NULL. */
int do_db(struct context *ctx, const char *word, const char *arg);
int do_drop(struct context *ctx, struct store *s, bool force);
