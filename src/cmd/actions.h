/*
 * What the commands do, without their options: `plimsoll` and EPMT's name both come here with a
 * filled structure. Each says what is wrong and returns the exit status.
 */
#ifndef PL_CMD_ACTIONS_H
#define PL_CMD_ACTIONS_H

#include "cmd/command.h"

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

struct run_options {
	const char *dir;  /* the job directory; NULL: below the prefix */
	const char *name; /* of the job */
	const char *json; /* "-": stderr; NULL: none */
	bool auto_job;    /* start and stop belong to this run, and must succeed */
	bool error;       /* do not run what cannot be recorded */
	bool dry, wait, quiet;
	uint64_t wait_ns; /* 0: for ever */
};
int do_run(struct context *ctx, const struct run_options *o, int argc, char **argv);

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

int do_annotate(struct context *ctx, bool replace, int argc, char **argv);

int do_check(struct context *ctx, bool json);
/* EPMT's lines instead of ours. */
int do_check_epmt(struct context *ctx);

/* ---- shared by them ------------------------------------------------------------------------- */

/* The environment that makes programs record into a run: "NAME=value" for each variable, in order.
 * The caller frees the list and its strings. Lines about events that cannot be counted go to
 * *problems. */
char **recording_environment(struct context *ctx, const struct jobdir *j, const struct runfile *r,
			     struct strbuf *problems);
void free_strings(char **list);

/* papiex's files, where EPMT's name or PAPIEX_OUTPUT or PAPIEX_OPTIONS ask for them. */
int make_papiex_files(struct context *ctx, const struct jobdir *j);

/* Metadata for a job that begins now. name may be NULL. */
struct value *new_metadata(struct context *ctx, const struct jobdir *j, const char *name);
/* Opens the directory of the job that we are in, making it and an id where needed. */
int job_open_or_make(struct context *ctx, const char *dir, struct jobdir *j,
		     enum job_origin *origin);

#endif
