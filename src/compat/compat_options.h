/*
 * Command lines of older programs that we are called by the name of: long options may be shortened,
 * dashes and underscores in their names are the same, flags stand alone or with true or false.
 */
#ifndef PL_COMPAT_COMPAT_OPTIONS_H
#define PL_COMPAT_COMPAT_OPTIONS_H

#include "core/strbuf.h"

enum old_takes {
	TAKES_NONE,
	TAKES_ONE,
	TAKES_MAYBE, /* one or none */
	TAKES_ANY,   /* all words up to the next option, or none */
	TAKES_MANY,  /* the same, at least one */
	TAKES_FLAG,  /* true or false behind it, or nothing */
	TAKES_COUNT, /* a number, or nothing: one more */
};

struct old_option {
	int id;
	char letter; /* 0: none */
	const char *name;
	enum old_takes takes;
	const char *value, *help;
};

struct old_program {
	const char *name;
	const struct old_option *rows;
	size_t count;
	/* Takes one value of an option, NULL where none was said; on: what a flag says. False with
	 * what is wrong told. */
	bool (*set)(void *user, const struct old_option *r, const char *value, bool on);
	/* In front of what is wrong; NULL: a word about --help behind it instead. */
	void (*usage)(struct strbuf *out);
};

/* Goes through the words until *done. False when something is wrong, which was told. */
bool old_parse(const struct old_program *p, void *user, char **argv, const bool *done);
/* What is wrong with the command line, in one line; false, for the caller to pass on. */
bool old_wrong(const struct old_program *p, const char *fmt, ...) PL_PRINTF(2, 3);
/* How the value of an option is written: " FILE", " [N]". */
void old_add_form(struct strbuf *out, const struct old_option *r);
/* The list of options to standard output, behind these words. */
void old_print_help(const struct old_program *p, const char *words);

#endif
