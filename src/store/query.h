/* Questions to a store: which jobs are meant, and how people write times and patterns. */
#ifndef PL_STORE_QUERY_H
#define PL_STORE_QUERY_H

#include "store/filter.h"
#include "store/sql.h"

/* ---- what people write ---------------------------------------------------------------------- */

/*
 * "YYYY-MM-DD[ HH:MM[:SS[.f]]]" with T or a blank between, and Z or +HH:MM behind; "MM/DD/YYYY
 * [HH:MM[:SS]]"; seconds since 1970; "now"; "-3d", "-2h" before now. Local time where
 * no zone is given. Microseconds out, or -EINVAL.
 */
int parse_time_us(const char *s, int64_t now_us, int64_t *ret);
/* Does text match a pattern of * and ?; a backslash takes the next character as it is. */
bool pattern_matches(const char *pattern, const char *text);
/* Splits "KEY:VALUE"; the length of KEY, *ret_value NULL where there is no colon. */
size_t tag_split(const char *tag, const char **ret_value);

/* ---- which jobs ----------------------------------------------------------------------------- */

/* The names that order may have, separated by commas. */
extern const char job_orders[];
bool job_order_known(const char *order);

/* The jobs that a filter lets through, row after row. */
struct job_query {
	struct stmt *st;
	const struct job_filter *filter;
	uint64_t skip, left; /* where patterns and ids are compared here, the store cannot count */
	const char **ids;    /* sorted; NULL: any */
	struct strbuf like[2];
};
/* columns: of "job j", the first two are j.jobid, j.jobname. The statement is the query's. */
int job_query_begin(struct job_query *jq, struct store *s, const char *columns,
		    const struct job_filter *f);
/* 1: a row in jq->st; 0: no more. */
int job_query_next(struct job_query *jq);
void job_query_end(struct job_query *jq);

/* The number of a job by its id, its name, its array task ("4_1"), the only id that begins so,
 * "last" for the one that was stored last, or a directory or archive of it. -ENOENT and -EEXIST
 * (several, with the newest of them) with a sentence in *why. */
int job_find(struct store *s, const char *name, int64_t *ret, struct strbuf *why);
/* The same by its whole id alone. Of several that have it one is named as ID@START, where the
 * beginning of the time will do, or ID@CLUSTER. -EEXIST with a sentence, -ENOENT without. */
int job_find_id(struct store *s, const char *name, int64_t *ret, struct strbuf *why);
/* Where "ID@..." means none of those that have the id: says which there are. */
bool job_tell_namesakes(struct store *s, const char *name, struct strbuf *why);
/* The id of a job, and where others have it what tells them apart. */
int job_label(struct store *s, int64_t job, const char *jobid, struct strbuf *out);
/* As job_find() for what removes a job: an id is whole. */
int job_find_whole(struct store *s, const char *name, int64_t *ret, struct strbuf *why);
/* The id of a job; NULL when it is gone. Freed by the caller. */
char *job_id_of(struct store *s, int64_t job);

struct job_ids {
	char **v;
	size_t count, cap;
};
/* Ids of all jobs that the words mean: that of the id, else those of the name, else as job_find()
 * has it. -ENOENT with a sentence about the first word that means none; the others are there. */
int job_ids_find(struct job_ids *l, struct store *s, char *const *words, size_t count,
		 struct strbuf *why);
void job_ids_release(struct job_ids *l);
/* The first of the ids that is not in the store, NULL when all are; *ret_error on failure. */
const char *job_missing(struct store *s, char *const *ids, size_t count, int *ret_error);

#endif
