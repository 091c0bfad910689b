/*
 * Options of a command as rows: each says what it is called, what it takes and where the value
 * goes. Parsing, range checks, error messages, help, manual pages and shell completion come from
 * the row.
 */
#ifndef PL_CMD_OPTION_H
#define PL_CMD_OPTION_H

#include <stddef.h>

#include "context/context.h"

enum option_type {
	OPT_FLAG,     /* takes no value; the place is a bool and becomes true */
	OPT_FIXED,    /* takes no value; puts .text into a const char *, else .number */
	OPT_TEXT,     /* const char *; .text where the value may be left out */
	OPT_SETTING,  /* a row of core/settings.def; .text where the option takes no value */
	OPT_DURATION, /* "5s": 64 bits, nanoseconds or what .unit_ns says */
	OPT_SIZE,     /* "500M": 64 bits, bytes */
	OPT_COUNT,    /* a whole number of 0 or more: an int or 64 bits */
	OPT_TIME,     /* a time of day, "-2h", "now": 64 bits, microseconds since 1970 */
	OPT_CHOICE,   /* one of the words: its number, or the word where the place is a text */
	OPT_LIST,     /* may be given several times: an array of const char *, see LIST() */
	OPT_CALL,     /* a value that has to be computed: .call takes it */
};

struct option_word {
	const char *word; /* NULL: the end of the words */
	int number;
};

struct option_row {
	enum option_type type;
	char letter;      /* 0: long form only */
	const char *name; /* long form, without dashes */
	const char *arg;  /* NULL: takes none; "NAME": takes one; "[NAME]": may take one */
	const char *help;
	size_t place, size;               /* of a member of the command's options, see AT() */
	size_t beside;                    /* offset + 1 of a second member; 0: none */
	uint64_t min, max;                /* of durations (ns) and counts; max 0: any */
	uint64_t unit_ns;                 /* of a duration that is stored; 0: 1 */
	const struct option_word *words;  /* of a choice */
	const char *(*word_at)(size_t i); /* the same from another table; NULL: no more */
	int number;
	const char *text;
	char separator; /* of the words in one value of a list; 0: it is one word */
	/* Also taken from this setting by options_use_settings(), or, without a place, put there.
	 */
	enum setting_id setting; /* 0, which no option sets: none */
	void (*put)(struct config *c, enum setting_id id, const char *value, const char *origin);
	const char *takes; /* what the error message says that it takes, where the type does not */
	/* False when the value is bad: with a sentence in *why, or else .takes is said. */
	bool (*call)(struct context *ctx, const char *value, struct strbuf *why);
};

/* The place of an option's value. */
#define AT(type, member) .place = offsetof(type, member), .size = sizeof(((type *)0)->member)
/* A bool that tells whether the option was given. */
#define GIVEN(type, member) .beside = offsetof(type, member) + 1
/* An array of words and the size_t that counts them. */
#define LIST(type, array, count) AT(type, array), .beside = offsetof(type, count) + 1
#define RANGE(from, to) .min = (from), .max = (to)
#define WORDS(...)                            \
	.words = (const struct option_word[]) \
	{                                     \
		__VA_ARGS__,                  \
		{                             \
			NULL, 0               \
		}                             \
	}

#define MS 1000000ull
#define SECONDS 1000000000ull

/* Rows that several commands share; type is the structure of the command's options. */
bool option_verbose(struct context *ctx, const char *value, struct strbuf *why);
bool option_quiet(struct context *ctx, const char *value, struct strbuf *why);
#define ROW_VERBOSE                                                              \
	{                                                                        \
		OPT_CALL, 'v', "verbose", NULL, "say more; twice for even more", \
			.call = option_verbose                                   \
	}
#define ROW_QUIET                                                                            \
	{                                                                                    \
		OPT_CALL, 'q', "quiet", NULL, "say nothing but errors", .call = option_quiet \
	}
#define ROW_JSON(type)                                                  \
	{                                                               \
		OPT_FLAG, 0, "json", NULL, "print JSON", AT(type, json) \
	}
#define ROW_DB                                                                                 \
	{                                                                                      \
		OPT_SETTING, 0, "db", "STORE",                                                 \
			"the store: a path or postgresql://... instead of the configured one", \
			.setting = SETTING_DB                                                  \
	}
#define ROW_END              \
	{                    \
		.name = NULL \
	}

/* Takes a value that was given as `what`, "--interval" or the name of a setting, into ctx->options.
 * NULL is no value. False with a message said when it is bad. */
bool option_take(const struct option_row *o, const char *command, const char *what,
		 struct context *ctx, const char *value);
/* The settings of those rows that were not given as options. False with a message said. */
bool options_use_settings(const struct option_row *rows, const char *command, struct context *ctx);

/* Is it a setting's word for true? */
bool option_is_yes(const char *value);

/* A word that the option takes, NULL behind the last one; none where the row does not list them. */
const char *option_word(const struct option_row *o, size_t i);
/* The words or the range that the row allows, for help: "full, basic or off"; "" for any value. */
void option_add_limits(const struct option_row *o, struct strbuf *out);
/* What the option takes, for messages: "a duration of 10ms or more such as ..."; "" for any text.
 */
void option_add_takes(const struct option_row *o, struct strbuf *out);

#endif
