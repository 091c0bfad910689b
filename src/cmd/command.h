/*
 * A command is one constant in one file, named in commands.def: its options are typed rows
 * (option.h), from which parsing, `plimsoll help`, shell completion and the manual pages are made.
 */
#ifndef PL_CMD_COMMAND_H
#define PL_CMD_COMMAND_H

#include "cmd/option.h"

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
/* Text of `plimsoll help COMMAND`, and the same as a manual page. */
void command_help_text(const struct command *c, struct strbuf *out);
void command_man_text(const struct command *c, struct strbuf *out);
/* The list of all commands. */
void program_help(struct strbuf *out);

#endif
