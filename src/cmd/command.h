/*
 * A command is one constant in one file, listed in commands.def. Its options are typed rows
 * (option.h); parsing, `plimsoll help`, shell completion and the manual pages are made from it.
 */
#pragma once

#include <limits.h>

#include "cmd/option.h"

struct store;

/* In the environment of commands that answer for the web server: 1, or the name of the format that
 * --csv prints then (tables/table_formats.def). */
#define COMMAND_OF_SERVER "PLIMSOLL_OF_SERVER"

#define ANY_NUMBER INT_MAX

/* What follows the options. All zero: the command takes no arguments. */
struct operands {
	const char *name;  /* "JOB" */
	int min, max;      /* how many; ANY_NUMBER: no limit */
	const char *help;  /* a paragraph that says what they can be; NULL: the description does */
	const char *hint;  /* what to do instead, added to the error about a wrong number */
	const char *usage; /* for the usage line, if "[NAME...]" and its like do not do */
};

/* A word that the manual of a command explains, from one of its tables. */
struct help_term {
	const char *section; /* heading, in capitals */
	char name[64];
	char help[256];
};

struct command {
	const char *name;
	const char *summary; /* one phrase, no full stop */
	struct operands operands;
	const char *description;          /* paragraphs for help and manual */
	const char *examples;             /* lines "command\n  what it does\n" */
	const struct option_row *options; /* ends with ROW_END; see OPTIONS() */
	bool stops_at_words;  /* options end at the first argument: the rest is a command line */
	bool passes_on;       /* arguments after "--" are for another program, see context.behind */
	int usage_status;     /* exit status of wrong usage; 0: EXIT_USAGE */
	const void *defaults; /* initial value of ctx->options */
	size_t options_size;
	/* argv[0] is the first operand. Returns the exit status. */
	int (*run)(struct context *ctx, int argc, char **argv);
	/* Instead of run, for a command that shows one job, by default the last one stored. check
	 * is optional and runs before the store is opened. show returns an exit status, or a
	 * negative errno, which is then reported with the store's error message. */
	int (*check)(struct context *ctx);
	int (*show)(struct context *ctx, struct store *s, int64_t job);
	/* Terms for the manual page, section by section; false after the last. NULL: none. */
	bool (*term)(size_t i, struct help_term *ret);
	bool shows_paths; /* the job may also be a directory, archive or file */
	/* The same where the web server runs the command (COMMAND_OF_SERVER), for a job that runs;
	 * people are told to submit it. */
	bool shows_unstored;
};

/* The options of a command: the type of ctx->options, or of its default, and the rows. */
#define OPTIONS(type, rows) .options = (rows), .options_size = sizeof(type)

/* Operands of commands that show a job. */
#define HELP_JOB_ID                                                                              \
	"JOB is a job id (ID@START or ID@CLUSTER if several jobs share the id), an unambiguous " \
	"prefix of one, a job name, or `last`, the job stored last"
#define HELP_JOB HELP_JOB_ID "."
#define HELP_LAST_JOB HELP_JOB_ID " (default)."
#define HELP_PATH                                                                                  \
	"; or a directory, archive or file of a job, also one of another tool, which need not be " \
	"in the store."
#define HELP_JOB_OR_PATH HELP_JOB_ID " (default)" HELP_PATH

/* All commands, sorted by name; ends with NULL. */
extern const struct command *const commands[];
const struct command *command_find(const char *name);
/* Report the error, with a suggestion if there is one; return the exit status. */
int unknown_command(const char *word);
int unknown_option(const struct command *c, const char *option);

/* Parses options and runs the command; returns the exit status. argv[0] is the command's name. */
int command_execute(const struct command *c, struct context *ctx, int argc, char **argv);
/* Text of `plimsoll help COMMAND`, and the same as a manual page. */
void command_help_text(const struct command *c, struct strbuf *out);
void command_man_text(const struct command *c, struct strbuf *out);
/* The list of all commands. */
void program_help(struct strbuf *out);

/* Reports a failure of the store, or else of the system, unless r >= 0; returns the exit status. */
int report_store_error(const struct store *s, int r);
