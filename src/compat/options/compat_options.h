/*
 * Command lines in the style of other tools, from rows that say what an option takes and where its
 * value goes. Long names may be shortened, dashes and underscores in them are the same, and flags
 * stand alone or with true or false.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/strbuf.h"

enum old_takes {
	TAKES_NONE,
	TAKES_ONE,
	TAKES_MAYBE, /* one or none */
	TAKES_ANY,   /* all words up to the next option, or none */
	TAKES_MANY,  /* the same, at least one */
	TAKES_FLAG,  /* true or false, or nothing: true */
	TAKES_COUNT, /* a number, or nothing: one more */
};

struct old_option {
	char letter; /* 0: none */
	const char *name;
	enum old_takes takes;
	const char *value, *help;
	/* Offset + 1 of a bool, a const char * or an int64_t in the structure of the values; 0:
	 * none. An empty text that could be left out becomes NULL. */
	size_t flag, text, number;
	int64_t min, max; /* of a number that the value must be; max 0: it need not be one */
	enum { SHOWS_NOTHING, SHOWS_HELP, SHOWS_VERSION } shows; /* and the program ends */
	/* Takes one value, NULL where it was left out. False after old_wrong(). */
	bool (*take)(void *user, const struct old_option *r, const char *value);
};

#define FLAG_AT(type, member) .flag = offsetof(type, member) + 1
#define TEXT_AT(type, member) .text = offsetof(type, member) + 1
#define NUMBER_AT(type, member, from, to) \
	.number = offsetof(type, member) + 1, .min = (from), .max = (to)
#define ROW_HELP                                                                         \
	{                                                                                \
		'h', "help", TAKES_NONE, NULL, "show this and exit", .shows = SHOWS_HELP \
	}
#define ROW_VERSION                                                          \
	{                                                                    \
		0, "version", TAKES_NONE, NULL, "show the version and exit", \
			.shows = SHOWS_VERSION                               \
	}

struct old_program {
	const char *name;
	const struct old_option *rows;
	size_t count;
	const char *about; /* in --help, above the options */
	/* Printed before --help and errors; NULL: errors mention --help instead. */
	void (*usage)(struct strbuf *out);
};

/* Takes the options. -1: the program runs; else its exit status, after help, version or an error.
 */
int old_parse(const struct old_program *p, void *user, char **argv);
/* Prints what is wrong with the command line, in one line; false, for the caller to pass on. */
bool old_wrong(const struct old_program *p, const char *fmt, ...) PL_PRINTF(2, 3);
/* Adds how the value of an option is written: " FILE", " [N]". */
void old_add_form(struct strbuf *out, const struct old_option *r);
