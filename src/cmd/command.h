/*
 * A command is one constant in one file, named in commands.def: its options are rows with their own
 * help, from which parsing, `plimsoll help`, shell completion and the manual pages are made.
 */
#ifndef PL_CMD_COMMAND_H
#define PL_CMD_COMMAND_H

#include "core/config.h"
#include "core/log.h"
#include "jobs/job_directory.h"

/* Exit statuses that scripts rely on. */
#define EXIT_OK 0
#define EXIT_FAILED 1
#define EXIT_USAGE 2

/* What the program is called as. */
enum personality {
	AS_PLIMSOLL,
	AS_EPMT,
	AS_PERFMON,
	AS_COLMET_NODE,
	AS_COLMET_NODE_CONFIG,
	AS_COLMET_COLLECTOR
};

struct context {
	enum personality as;
	const char *program; /* the name in messages */
	struct config config;
	const char *problems; /* of the configuration, not told yet: lines; NULL: none */
	int verbosity;        /* number of -v, less than 0 for -q */
	void *options;        /* of the command being run: what its set() fills */
	int behind; /* how many of its arguments came behind "--", and are another program's */
	int end_by; /* signal that the program shall end by, as its command did; 0: none */
};

struct option_row {
	int id;           /* never 0 */
	char letter;      /* 0: long form only */
	const char *name; /* long form, without dashes */
	const char *arg;  /* NULL: takes none; "NAME": takes one; "[NAME]": may take one */
	const char *help;
};

/* Rows that several commands share. */
#define OPTION_VERBOSE 1001
#define OPTION_QUIET 1002
#define OPTION_JSON 1003
#define ROW_VERBOSE                                                                   \
	{                                                                             \
		OPTION_VERBOSE, 'v', "verbose", NULL, "say more; twice for even more" \
	}
#define ROW_QUIET                                                          \
	{                                                                  \
		OPTION_QUIET, 'q', "quiet", NULL, "say nothing but errors" \
	}
#define ROW_JSON                                           \
	{                                                  \
		OPTION_JSON, 0, "json", NULL, "print JSON" \
	}
#define ROW_END                        \
	{                              \
		0, 0, NULL, NULL, NULL \
	}

struct command {
	const char *name;
	const char *summary;              /* one phrase, no full stop */
	const char *arguments;            /* what comes behind the options, for the usage line */
	const char *description;          /* paragraphs for help and manual */
	const char *examples;             /* lines "command\n  what it does\n" */
	const struct option_row *options; /* ends with ROW_END */
	bool stops_at_words;  /* options end at the first argument: the rest is a command */
	int usage_status;     /* of wrong options, where it is not EXIT_USAGE; 0: it is */
	const void *defaults; /* what ctx->options begins as, of options_size bytes */
	size_t options_size;
	/* Takes one option into ctx->options; false with a message said when the value is bad. */
	bool (*set)(struct context *ctx, int id, const char *value);
	/* argv[0] is the first argument. Returns the exit status. */
	int (*run)(struct context *ctx, int argc, char **argv);
};

/* Every command, sorted by name; ends with NULL. */
extern const struct command *const commands[];
const struct command *command_find(const char *name);
/* Says so, and which is meant or that a program wants `run`; the exit status. */
int unknown_command(const char *word);
int unknown_option(const struct command *c, const char *option);

/* Parses options and runs; the exit status. argv[0] is the command's name. */
int command_execute(const struct command *c, struct context *ctx, int argc, char **argv);
/* Says what is wrong with how a command was called, and how to learn more; returns EXIT_USAGE. */
int usage_error(const char *command, const char *fmt, ...) PL_PRINTF(2, 3);

/* Warns of each line of a text, and adds it to the list where there is one. */
void warn_lines(const char *lines, struct value *list);

/* Text of `plimsoll help COMMAND`, and the same as a manual page. */
void command_help_text(const struct command *c, struct strbuf *out);
void command_man_text(const struct command *c, struct strbuf *out);
/* The list of all commands. */
void program_help(struct strbuf *out);

/* ---- which job ------------------------------------------------------------------------------ */

/* Origin of the setting `job` where EPMT's session is the job. */
#define SESSION_JOB "session id"
/* How the job id was found. */
enum job_origin { JOB_NAMED, JOB_SCHEDULER, JOB_SESSION, JOB_NONE };

/* The id of the job that we are in: named, batch system's, this session's; NULL and JOB_NONE when
 * there is none. Freed by the caller. */
char *job_identify(struct context *ctx, enum job_origin *ret);
/* Forgets the job that `run` or `source` left in the environment where a batch system has begun
 * another one since, or where the user has named another. */
void job_forget_outer(struct context *ctx);
/* The same whatever it is: it is over. */
void job_forget_inherited(struct context *ctx);
/* Directory that `run` or `source` left in the environment; NULL when there is none or --job names
 * another job. */
const char *job_inherited_dir(const struct context *ctx);
/* Layout that this name of the program uses. */
enum job_layout job_layout(const struct context *ctx);
/* Opens the directory of the job that we are in, which must exist; says what is wrong. Outside of
 * any: the last one of this session, or, only to look at, of anybody. */
int job_open_current(struct context *ctx, struct jobdir *j, bool look);
/* Directory, archive or metadata file argument: true when it looks like a path. */
bool looks_like_path(const char *s);

extern char **environ;

#endif
