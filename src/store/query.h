/* Finding jobs in a store, and parsing times and patterns. */
#pragma once

#include "store/filter/filter.h"
#include "store/sql.h"

#define NO_LIMIT UINT64_MAX

/* ---- times and patterns ---------------------------------------------------------------------- */

/*
 * "YYYY-MM-DD[ HH:MM[:SS[.f]]]", also with T in place of the blank and Z or +HH:MM at the end;
 * "MM/DD/YYYY [HH:MM[:SS]]"; seconds since 1970; "now"; "-3d", "-2h" before now. Local time without
 * a zone. Result in microseconds, or -EINVAL.
 */
int parse_time_us(const char *s, int64_t now_us, int64_t *ret);
/* Does text match a pattern with * and ?; a backslash quotes the next character. */
bool pattern_matches(const char *pattern, const char *text);
/* Splits "KEY:VALUE"; the length of KEY; *ret_value is NULL without a colon. */
size_t tag_split(const char *tag, const char **ret_value);

/* ---- selecting jobs -------------------------------------------------------------------------- */

/* Names of some columns to sort by, for messages; any key of a filter will do. */
extern const char job_orders[];

struct job_filter {
	int64_t no; /* the number of a job; 0: any */
	char *const *ids;
	size_t id_count;
	struct filter *where; /* of jobs; NULL: all */
	const char *order;    /* a key, "-" in front: descending; NULL: by start */
	uint64_t limit, offset;
};

/* Words of an option that can be repeated. */
#define FILTER_WORDS_MAX 16
struct word_list {
	const char *word[FILTER_WORDS_MAX];
	size_t count;
};
/* Requires each of the tags "KEY" or "KEY:VALUE". */
int filter_require_tags(struct filter *f, const struct word_list *tags, struct strbuf *why);
/* Requires a text to match a pattern, or to be equal to one without wildcards. NULL: nothing. */
int filter_require_pattern(struct filter *f, const char *key, const char *pattern,
			   struct strbuf *why);

/* Iterates over the jobs that match a filter. */
struct job_query {
	struct stmt *st;
	const struct job_filter *filter;
	struct filter *own;  /* if it has none */
	uint64_t skip, left; /* used if rows are filtered here, not by SQL */
	const char **ids;    /* sorted; NULL: any */
};
/* columns: of "job j"; the first must be j.jobid. */
int job_query_begin(struct job_query *jq, struct store *s, const char *columns,
		    const struct job_filter *f);
/* 1: a row in jq->st; 0: no more rows. */
int job_query_next(struct job_query *jq);
void job_query_end(struct job_query *jq);

/* The number of a job by its id, its name, its array task ("4_1"), a unique prefix of its id,
 * "last" for the one stored last, or its directory or archive. -ENOENT, or -EEXIST if there are
 * several, explained in *why with the newest of them. */
int job_find(struct store *s, const char *name, int64_t *ret, struct strbuf *why);
/* The same by its complete id only. One of several with the same id is ID@START, where a prefix of
 * the time is enough, or ID@CLUSTER. -EEXIST is explained in *why, -ENOENT is not. */
int job_find_id(struct store *s, const char *name, int64_t *ret, struct strbuf *why);
/* If "ID@..." matches none of the jobs with that id: lists them. */
bool job_tell_namesakes(struct store *s, const char *name, struct strbuf *why);
/* The id of a job, with a suffix if others have the same id. */
int job_label(struct store *s, int64_t job, const char *jobid, struct strbuf *out);
/* As job_find(), for removing jobs: takes no prefix of an id. */
int job_find_whole(struct store *s, const char *name, int64_t *ret, struct strbuf *why);
/* The id of a job; NULL if it no longer exists. Freed by the caller. */
char *job_id_of(struct store *s, int64_t job);

struct job_ids {
	char **v;
	size_t count, cap;
};
/* Ids of all jobs that the words mean: by id, else by name, else as job_find(). -ENOENT explains
 * the first word without a job; the ids of the others are returned. */
int job_ids_find(struct job_ids *l, struct store *s, char *const *words, size_t count,
		 struct strbuf *why);
void job_ids_release(struct job_ids *l);
/* The first id that is not in the store, NULL if all are; *ret_error: set on failure. */
const char *job_missing(struct store *s, char *const *ids, size_t count, int *ret_error);
