/* Shared by the files of the name `epmt`. */
#pragma once

#include "cmd/actions.h"

extern const struct job_layout job_layout_epmt;

/* What was on the command line. */
struct epmt {
	const char *command;
	bool help, version, automatic, dry, error, slurm, replace, no_collate, no_archive;
	bool remove, move_away, drop, force, vacuum, retire_jobs, post_process, skip_unproc;
	uint64_t workers, limit;
	const char *key, *output, *error_dir, *metric;
	char **words;
	int word_count;
};

struct epmt_command {
	const char *name, *arguments, *summary;
	int (*run)(struct context *ctx, const struct epmt *e);
	const char *more; /* for its own help; NULL: nothing */
};
/* Sorted; ends with one without name. */
extern const struct epmt_command epmt_commands[];

/* Parses the options; -EINVAL after an error was logged. */
int epmt_parse(struct context *ctx, struct epmt *e, int argc, char **argv);
void epmt_print_usage(FILE *f);
void epmt_print_command(const struct epmt_command *c, FILE *f);
/* The command line of `run` as EPMT's shell would take it. Freed by the caller with its strings. */
char **epmt_shell_words(int argc, char **argv);

/* settings.py and the environment, into the configuration. */
int epmt_read_settings(struct context *ctx, const struct epmt *e);
void epmt_print_settings(const struct context *ctx);
/* Chooses the store that settings.py and EPMT_DB_* name; refuses one that cannot be determined. */
void epmt_choose_store(struct context *ctx, const char *path, const struct value *literals,
		       const struct value *skipped);
/* "db_params:..." without the password. */
void epmt_print_store(const struct context *ctx);
/* EPMT's default store is in memory and lost with the process: warns that the user's own is used.
 */
void epmt_say_store(const struct context *ctx);

/* Without a batch id a command means the newest job of the session, or one after that where it
 * begins one and that is over. say: warn about each missing value. */
enum epmt_job { EPMT_THIS_JOB, EPMT_NEXT_JOB };
void epmt_find_job(struct context *ctx, enum epmt_job which, bool say);
/* Makes a separate job of runs before `start`: they are outside of the time of the job that is
 * started. */
void epmt_set_runs_apart(struct context *ctx);
/* Does the same for a run after `stop`: true if this run begins and ends its own job. */
bool epmt_run_apart(struct context *ctx);

/* A line of EPMT's dump: two columns, and a name that fills its own does not run into its value. */
void epmt_print_pair(int key_width, int value_width, const char *key, const char *value);
int epmt_submit(struct context *ctx, const struct epmt *e);
int epmt_check(struct context *ctx, const struct epmt *e);
int epmt_dump(struct context *ctx, const struct epmt *e);
int epmt_list(struct context *ctx, const struct epmt *e);
int epmt_explore(struct context *ctx, const struct epmt *e);
int epmt_delete(struct context *ctx, const struct epmt *e);
int epmt_retire(struct context *ctx, const struct epmt *e);
int epmt_dbcare(struct context *ctx, const struct epmt *e);
int epmt_drop(struct context *ctx, const struct epmt *e);
int epmt_dbsize(struct context *ctx, const struct epmt *e);
int epmt_schema(struct context *ctx, const struct epmt *e);
int epmt_migrate(struct context *ctx, const struct epmt *e);
int epmt_concat(struct context *ctx, const struct epmt *e);
int epmt_convert(struct context *ctx, const struct epmt *e);
int epmt_daemon(struct context *ctx, const struct epmt *e);
int epmt_stat(struct context *ctx, const struct epmt *e);
int epmt_python(struct context *ctx, const struct epmt *e);
int epmt_shell(struct context *ctx, const struct epmt *e);
int epmt_help_api(struct context *ctx, const struct epmt *e);
/* Sets PYTHONPATH and the store for a Python that imports EPMT's modules. */
int epmt_python_environment(struct context *ctx);
