/*
 * Options of a command as rows. A row says what the option is called, what it takes and where its
 * value goes. Parsing, range checks, error messages, help, manual pages and shell completion come
 * from the row.
 */
#pragma once

#include <stddef.h>

#include "context/context.h"

enum option_type {
	OPT_FLAG,     /* takes no value; sets a bool */
	OPT_FIXED,    /* takes no value; stores .text in a const char *, else .number */
	OPT_TEXT,     /* const char *; .text is the value if it is omitted */
	OPT_SETTING,  /* a row of core/settings.def; .text if the option takes no value */
	OPT_DURATION, /* "5s": 64 bits, in nanoseconds or units of .unit_ns */
	OPT_SIZE,     /* "500M": 64 bits, bytes */
	OPT_COUNT,    /* a non-negative integer: an int or 64 bits */
	OPT_TIME,     /* a point in time, "-2h", "now": 64 bits, microseconds since 1970 */
	OPT_CHOICE,   /* one of the words: stores its number, or the word in a const char * */
	OPT_LIST,     /* can be repeated: an array of const char *, see LIST() */
	OPT_CALL,     /* .call computes the value */
};

struct option_word {
	const char *word; /* NULL: end of the list */
	int number;
};

struct option_row {
	enum option_type type;
	char letter;      /* 0: long form only */
	const char *name; /* long form, without dashes */
	const char *arg;  /* NULL: takes no value; "NAME": takes one; "[NAME]": optional value */
	const char *help;
	size_t place, size;               /* a member of the command's options, see AT() */
	size_t beside;                    /* offset + 1 of a second member; 0: none */
	uint64_t min, max;                /* of durations (ns) and counts; max 0: unlimited */
	uint64_t unit_ns;                 /* unit in which a duration is stored; 0: 1 ns */
	const struct option_word *words;  /* of a choice */
	const char *(*word_at)(size_t i); /* or its words from another table; NULL: end */
	int number;
	const char *text;
	char separator; /* between the words in one value of a list; 0: one word per value */
	/* options_use_settings() takes the value from this setting unless the option is given; a
	 * row without a place sets it. */
	enum setting_id setting; /* 0, which no option sets: none */
	void (*put)(struct config *c, enum setting_id id, const char *value, const char *origin);
	const char *takes; /* describes valid values in error messages; NULL: the type does */
	/* False if the value is invalid, with the reason in *why, or else .takes is printed. */
	bool (*call)(struct context *ctx, const char *value, struct strbuf *why);
};

/* The member that receives the option's value. */
#define AT(type, member) .place = offsetof(type, member), .size = sizeof(((type *)0)->member)
/* A bool that becomes true if the option is given. */
#define GIVEN(type, member) .beside = offsetof(type, member) + 1
/* An array of words and the size_t that counts them. */
#define LIST(type, array, count) AT(type, array), .beside = offsetof(type, count) + 1
#define RANGE(from, to) .min = (from), .max = (to)
#define ROW(...)            \
	{                   \
		__VA_ARGS__ \
	}
#define WORDS(...) .words = (const struct option_word[])ROW(__VA_ARGS__, ROW(NULL, 0))

#define MS 1000000ull
#define SECONDS 1000000000ull

/* Rows that several commands share; type is the structure of the command's options. */
bool option_verbose(struct context *ctx, const char *value, struct strbuf *why);
bool option_quiet(struct context *ctx, const char *value, struct strbuf *why);
#define ROW_VERBOSE                                                                   \
	ROW(OPT_CALL, 'v', "verbose", NULL, "print more messages; -vv for even more", \
	    .call = option_verbose)
#define ROW_QUIET ROW(OPT_CALL, 'q', "quiet", NULL, "print errors only", .call = option_quiet)
#define ROW_JSON(type) ROW(OPT_FLAG, 0, "json", NULL, "print JSON", AT(type, json))
#define ROW_CSV(type) ROW(OPT_FLAG, 0, "csv", NULL, "print CSV", AT(type, csv))
/* A filter of jobs, see context/job_selection.h. */
#define ROW_WHERE(type)                       \
	ROW(OPT_TEXT, 'w', "where", "FILTER", \
	    "jobs that match this filter; plimsoll-query(1) explains filters", AT(type, where))
/* Both, of a member `form` that is an enum proc_form. */
#define ROWS_FORM(type)                                                                  \
	ROW(OPT_FIXED, 0, "csv", NULL, "print CSV", AT(type, form), .number = PROC_CSV), \
		ROW(OPT_FIXED, 0, "json", NULL, "print JSON", AT(type, form), .number = PROC_JSON)
/* Of a structure with a struct proc_histogram. */
#define ROW_COUNT_BY(type)                                                                    \
	ROW(OPT_TEXT, 0, "count-by", "KEY",                                                   \
	    "count the processes by this key, such as exename, path, host or exitcode",       \
	    AT(type, histogram.key)),                                                         \
		ROW(OPT_TEXT, 0, "sum", "METRIC", "with --count-by: add up this metric, too", \
		    AT(type, histogram.sum))
#define ROW_DB                                                                      \
	ROW(OPT_SETTING, 0, "db", "STORE",                                          \
	    "job store, a path or postgresql://..., instead of the configured one", \
	    .setting = SETTING_DB)
/* The last rows of a command, and of one that uses the store. */
#define ROWS_COMMON ROW_VERBOSE, ROW_QUIET, ROW_END
#define ROWS_STORE ROW_DB, ROWS_COMMON
#define ROW_END ROW(.name = NULL)

/* Stores a value in ctx->options. what names its origin in messages, "--interval" or a setting.
 * value may be NULL. False if it is invalid, after reporting it. */
bool option_take(const struct option_row *o, const char *command, const char *what,
		 struct context *ctx, const char *value);
/* Applies the settings of all rows that were not given as options. False after reporting an error.
 */
bool options_use_settings(const struct option_row *rows, const char *command, struct context *ctx);

/* Does a setting say yes? */
bool option_is_yes(const char *value);

/* Word i that the option takes; NULL after the last, or if the row lists none. */
const char *option_word(const struct option_row *o, size_t i);
/* Adds the valid words or range, for help: "full, basic or off"; nothing if any value is valid. */
void option_add_limits(const struct option_row *o, struct strbuf *out);
/* Describes valid values for messages: "a duration of 10ms or more such as ..."; nothing if any
 * text is valid. */
void option_add_takes(const struct option_row *o, struct strbuf *out);
