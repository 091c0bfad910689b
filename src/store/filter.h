/*
 * Keys that select jobs and processes. One table row per key: its type, its meaning, how a value is
 * parsed and which SQL condition it becomes. Keywords of Python scripts and the options of `list`
 * fill the same structure.
 */
#pragma once

#include "core/value.h"
#include "store/sql.h"

/* A statement has at most 64 parameters. */
#define FILTER_WORDS_MAX 16
#define NO_LIMIT UINT64_MAX

enum exit_filter { EXIT_ANY, EXIT_WELL, EXIT_BADLY, EXIT_WITH };
enum filter_format { FORMAT_DEFAULT, FORMAT_TERSE, FORMAT_DICT, FORMAT_PANDAS };

struct word_list {
	const char *word[FILTER_WORDS_MAX];
	size_t count;
};

struct job_filter {
	int64_t no; /* the number of a job; 0: any */
	char *const *ids;
	size_t id_count;
	const char *id, *name; /* patterns */
	const char *user;
	struct word_list hosts; /* any of them */
	struct word_list tags;  /* all of them */
	bool has_when, has_before, has_after;
	int64_t when, before, after; /* us */
	int64_t when_end;            /* end of the interval that begins at `when`, 0: a moment */
	enum exit_filter exit;
	int64_t exitcode;
	const char *order; /* one of job_orders, "-" in front: descending */
	uint64_t limit, offset;
	/* only from keywords; freed by filter_release() */
	struct value *tag_sets;    /* list of dicts: matches all pairs of one of them; NULL: any */
	bool exact_tags;           /* and no other tags */
	struct value *annotations; /* key -> list of the JSON texts that match; NULL: any */
	struct value *analyses;    /* the same */
	struct value *exclude;     /* list of keys to leave out of tags; NULL: none */
	bool fold, separate_sums;
	enum filter_format format;
	struct value *texts; /* owns words above that are parts of other texts */
};
void filter_release(struct job_filter *f);

enum filter_type {
	FILTER_NUMBER,
	FILTER_TEXT,
	FILTER_LIST,
	FILTER_TIME,
	FILTER_TAGS,
	FILTER_PAIRS,
	FILTER_BOOL,
	FILTER_CHOICE
};

/* Which functions in Python have the keyword. */
#define FILTER_KEYWORD_JOBS 1u
#define FILTER_KEYWORD_PROCESSES 2u
#define FILTER_KEYWORD_PROC_TAGS 4u

struct filter_key {
	const char *key;
	unsigned scope; /* 0: only an option of ours */
	enum filter_type type;
	const char *meaning;
	/* Parses a value; NULL: options set it directly. */
	int (*take)(struct job_filter *f, const char *value, struct strbuf *why);
	/* Adds " AND ..." for rows of "job j", or of the view "processes j"; NULL: not a condition.
	 */
	void (*add)(struct sql *q, const struct job_filter *f, bool processes);
};
/* Ends with a row without a key. */
extern const struct filter_key filter_keys[];

/* Takes key=value for one of the scopes. -ENOENT: no such key, -EINVAL: invalid value, with a
 * message. The value must live as long as the filter. */
int filter_take(struct job_filter *f, unsigned scope, const char *key, const char *value,
		struct strbuf *why);
/* Adds the conditions of all keys. */
void filter_add(struct sql *q, const struct job_filter *f, bool processes);
/* Do tags "k:v;k:v" match tag_sets and exact_tags? */
bool filter_matches_tags(const struct job_filter *f, const char *tags);
