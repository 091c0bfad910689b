/*
 * What the commands do, without their options: `plimsoll` and EPMT's name both come here with a
 * filled structure. Each says what is wrong and returns the exit status.
 */
#ifndef PL_CMD_ACTIONS_H
#define PL_CMD_ACTIONS_H

#include "cmd/command.h"
#include "store/store.h"

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
	bool no_submit;     /* leave the job's directory, and nothing in the store */
	bool submit;        /* put it into the store where that is left to others */
	uint64_t wait_ns;   /* 0: for ever */
	uint64_t sample_ns; /* curves beside the records, this far apart; 0: none */
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

/* For our output: a terminal gets no control characters, a pipe every byte. */
void make_safe(struct strbuf *text);
/* A line of EPMT's dump: two columns, and a name that fills its own does not run into its value. */
void epmt_print_pair(int key_width, int value_width, const char *key, const char *value);

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
/* EPMT's lines instead of ours. */
int do_check_epmt(struct context *ctx);

/* ---- shared by them ------------------------------------------------------------------------- */

/* The environment that makes programs record into a run: "NAME=value" for each variable, in order.
 * The caller frees the list and its strings. Lines about events that cannot be counted go to
 * *problems. */
char **recording_environment(struct context *ctx, const struct jobdir *j, const struct runfile *r,
			     struct strbuf *problems);
void free_strings(char **list);
/* Our library first, or not at all, then what LD_PRELOAD has besides; freed by the caller. */
char *preload_list(const char *library, bool with);

/* Origin and scheme of a setting `db` that is no store but the reason why there is none. */
#define STORE_REFUSED "refused"
/* Opens the configured store, says what is wrong; 0 or a negative errno. */
int open_store(struct context *ctx, enum store_access access, struct store **ret);
/* The same; the caller says what is wrong. */
int try_store(struct context *ctx, enum store_access access, struct store **ret,
	      struct strbuf *why);
struct input_options;
struct input_result;
/* input_submit() into the configured store. Where its file was moved, removed or exchanged
 * meanwhile what has its name then is opened, and the input goes there; *s may be NULL after an
 * error. */
int submit_input(struct context *ctx, struct store **s, const char *path,
		 const struct input_options *how, struct input_result *ret, struct strbuf *why);
/* Says why there is nothing to show of the processes of a job, if nothing is known of each; was
 * that so? */
bool tell_unrecorded(struct store *s, int64_t job);
/* Number of the job that an id, the beginning of only one, a name or "last" means, or -1 with a
 * message said. */
int64_t find_stored_job(struct store *s, const char *name);
struct words;
/* What the first tag of a filter means that is written as KEY=VALUE; NULL: none is. Freed by the
 * caller. */
char *filter_tag_meant(const struct words *tags);
/* Masks what looks like a secret in tags or annotations that somebody gives, and says so. */
void mask_notes(struct value *notes, const char *what);
/* Removes what is over the configured limits; their number or a negative errno, with a message. */
int64_t retire_configured(struct context *ctx, struct store *s, bool dry);
/* Makes `--db` known to it: a row for option tables and what takes it. */
#define OPTION_DB 1004
#define ROW_DB                                                   \
	{                                                        \
		OPTION_DB, 0, "db", "STORE",                     \
			"the store: a path or postgresql://... " \
			"instead of the configured one"          \
	}

/* papiex's files, where EPMT's name or PAPIEX_OUTPUT or PAPIEX_OPTIONS ask for them. */
int make_papiex_files(struct context *ctx, const struct jobdir *j);

/* Metadata for a job that begins now. name may be NULL. */
/* The name that the batch system has for this job; NULL: none. */
const char *batch_job_name(void);
struct value *new_metadata(struct context *ctx, const struct jobdir *j, const char *name);
/* Joins a job that is there: job tags that are configured are added to its own, and a name (of an
 * option; NULL: none) that is not the job's is told. */
void job_join(struct context *ctx, const struct jobdir *j, const char *name);
/* Says it once where a job of several hosts is kept on the disk of each. */
void warn_of_own_disk(const struct jobdir *j);
/* Opens the directory of the job that we are in, making it and an id where needed. */
int job_open_or_make(struct context *ctx, const char *dir, struct jobdir *j,
		     enum job_origin *origin);

#endif
