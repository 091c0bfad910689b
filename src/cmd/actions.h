/*
 * What the commands do, without their options: every name of the program comes here with a
 * filled structure. Each says what is wrong and returns the exit status.
 */
#ifndef PL_CMD_ACTIONS_H
#define PL_CMD_ACTIONS_H

#include "cmd/command.h"
#include "context/current_job.h"
#include "context/stored_job.h"
#include "run/run.h"

struct start_options {
	bool error;       /* a job that is started already is an error */
	const char *name; /* of the job; NULL: the batch system's */
	const char *dir;  /* the job directory; NULL: below the prefix */
	bool print;       /* the job id, on stdout */
};
int do_start(struct context *ctx, const struct start_options *o);

struct stop_options {
	bool error;
	int exitcode; /* -1: from the runs */
	const char *reason;
	const char *dir;
};
int do_stop(struct context *ctx, const struct stop_options *o);

enum shell { SHELL_AUTO, SHELL_BOURNE, SHELL_CSH, SHELL_FISH, SHELL_SLURM };
int do_source(struct context *ctx, enum shell shell, const char *dir);

struct stage_options {
	bool error, no_collate, no_archive;
	const char *dest; /* NULL: configured */
};
int do_stage(struct context *ctx, const struct stage_options *o, int argc, char **argv);

struct dump_options {
	const char *key;
	bool json;
};
int do_dump(struct context *ctx, const struct dump_options *o, int argc, char **argv);

/* For our output: a terminal gets no control characters, a pipe every byte. */
void make_safe(struct strbuf *text);

struct submit_options {
	bool error, dry, remove, move_away, drop, json;
	uint64_t workers;
};
/* No argument: the job that we are in, or the last one. */
int do_submit(struct context *ctx, const struct submit_options *o, int argc, char **argv);

int do_delete(struct context *ctx, int argc, char **argv);
int do_retire(struct context *ctx, bool dry);
/* One of the words of `db`; arg NULL when there is none. */
int do_db(struct context *ctx, const char *word, const char *arg);
int do_drop(struct context *ctx, struct store *s, bool force);

struct annotate_options {
	bool replace; /* the notes that were there are forgotten */
	bool clear;   /* the same, and there may be no new ones */
};
int do_annotate(struct context *ctx, const struct annotate_options *o, int argc, char **argv);

int do_check(struct context *ctx, bool json);
/* What nothing works without, for another name's own lines; says what is wrong. */
struct check_essentials {
	bool store, output, stage, run;
};
struct check_essentials check_essentials(struct context *ctx);

/* ---- shared by them ------------------------------------------------------------------------- */

/* Removes what is over the configured limits; their number or a negative errno, with a message. */
int64_t retire_configured(struct context *ctx, struct store *s, bool dry);

#endif
