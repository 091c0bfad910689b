/*
 * The context of a command: settings, options and exit.
 */
#pragma once

#include "context/personality.h"
#include "core/config.h"
#include "core/log.h"
#include "core/value.h"

/* Exit statuses that scripts rely on. */
#define EXIT_OK 0
#define EXIT_FAILED 1
#define EXIT_USAGE 2

struct context {
	const struct personality *personality; /* by the name of the program */
	const char *program;                   /* the name in messages */
	struct config config;
	const char *problems; /* of the configuration, not yet printed: lines; NULL: none */
	int verbosity;        /* number of -v, less than 0 for -q */
	void *options;        /* of the command, filled by its option rows */
	uint64_t given;       /* bit n: option row n was given */
	int behind;           /* number of arguments after "--", which are another program's */
	int end_by;           /* signal to end by, as the command did; 0: none */
};

/* Prints an error, and is the result: return fail_with(EXIT_FAILED, "cannot open '%s'", path); */
#define fail_with(result, ...) (log_error(__VA_ARGS__), (result))
/* Prints a usage error with a reference to the help; returns EXIT_USAGE. */
int usage_error(const char *command, const char *fmt, ...) PL_PRINTF(2, 3);

/* Prints each line as a warning, and adds it to the list, if not NULL. */
void warn_lines(const char *lines, struct value *list);

extern char **environ;
