/*
 * What jobs and processes may be chosen by, one row of a table for each key: its type, its meaning,
 * how a value is read and which condition it becomes. Keywords, as a Python script gives them, and
 * the options of `list` fill the same structure.
 */
#ifndef PL_STORE_FILTER_H
#define PL_STORE_FILTER_H

#include "core/value.h"
#include "store/sql.h"

/* A statement has at most 64 parameters. */
#define FILTER_WORDS_MAX 16
#define NO_LIMIT UINT64_MAX

enum exit_filter { EXIT_ANY, EXIT_WELL, EXIT_BADLY, EXIT_WITH };
enum filter_format { FORMAT_DEFAULT, FORMAT_TERSE, FORMAT_DICT, FORMAT_PANDAS };

struct words {
	const char *word[FILTER_WORDS_MAX];
	size_t count;
};

struct job_filter {
	int64_t no; /* this one; 0: any */
	char *const *ids;
	size_t id_count;
	const char *id, *name; /* patterns */
	const char *user;
	struct words hosts; /* any of them */
	struct words tags;  /* all of them */
	bool has_when, has_before, has_after;
	int64_t when, before, after; /* us */
	int64_t when_end;            /* of the interval that begins at `when`, 0: a moment */
	enum exit_filter exit;
	int64_t exitcode;
	const char *order; /* one of job_orders, "-" in front: descending */
	uint64_t limit, offset;
	/* what keywords say beyond that; freed by filter_release() */
	struct value *tag_sets;    /* list of dicts: all pairs of one of them; NULL: any */
	bool exact_tags;           /* and no other tags */
	struct value *annotations; /* key -> list of the JSON texts that match; NULL: any */
	struct value *analyses;    /* the same */
	struct value *exclude;     /* list of keys that are left out of tags; NULL: none */
	bool fold, separate_sums;
	enum filter_format format;
	struct value *texts; /* of the words above that were cut out of others */
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

/* Functions of Python that they are keywords of. */
#define FILTER_KEYWORD_JOBS 1u
#define FILTER_KEYWORD_PROCESSES 2u
#define FILTER_KEYWORD_PROC_TAGS 4u

struct filter_key {
	const char *key;
	unsigned scope; /* 0: only options of ours */
	enum filter_type type;
	const char *meaning;
	/* Reads a value; NULL where it comes otherwise. */
	int (*take)(struct job_filter *f, const char *value, struct strbuf *why);
	/* Adds " AND ..." for what the filter has; NULL: it is no condition of rows. Rows are those
	 * of "job j", or of the view "processes j". */
	void (*add)(struct sql *q, const struct job_filter *f, bool processes);
};
/* Ends with a row without key. */
extern const struct filter_key filter_keys[];

/* "key=value" for one of the scopes. -ENOENT: no such key, -EINVAL: a bad value, with a sentence.
 * The value must stay where it is. */
int filter_take(struct job_filter *f, unsigned scope, const char *key, const char *value,
		struct strbuf *why);
/* The conditions of all rows. */
void filter_add(struct sql *q, const struct job_filter *f, bool processes);
/* Does a text of tags "k:v;k:v" have what tag_sets and exact_tags ask for? */
bool filter_matches_tags(const struct job_filter *f, const char *tags);

#endif
