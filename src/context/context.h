/*
 * What every command and every long-running program is handed: the settings in force, how it was
 * called, and how it ends.
 */
#ifndef PL_CONTEXT_CONTEXT_H
#define PL_CONTEXT_CONTEXT_H

#include "context/personality.h"
#include "core/config.h"
#include "core/log.h"
#include "core/value.h"

/* Exit statuses that scripts rely on. */
#define EXIT_OK 0
#define EXIT_FAILED 1
#define EXIT_USAGE 2

struct context {
	const struct personality *personality; /* what the program is called as */
	const char *program;                   /* the name in messages */
	struct config config;
	const char *problems; /* of the configuration, not told yet: lines; NULL: none */
	int verbosity;        /* number of -v, less than 0 for -q */
	void *options;        /* of the command being run: what its option rows fill */
	uint64_t given;       /* bit n: row n of its options was given */
	int behind; /* how many of its arguments came behind "--", and are another program's */
	int end_by; /* signal that the program shall end by, as its command did; 0: none */
};

/* Says what is wrong with how a command was called, and how to learn more; returns EXIT_USAGE. */
int usage_error(const char *command, const char *fmt, ...) PL_PRINTF(2, 3);

/* Warns of each line of a text, and adds it to the list where there is one. */
void warn_lines(const char *lines, struct value *list);

extern char **environ;

#endif
