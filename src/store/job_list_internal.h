/* Shared by the files of the job list. */
#pragma once

#include "store/job_list.h"
#include "store/job_words.h"
#include "store/sql.h"

/* A list up to this length is read whole where need be. */
#define LIST_SHORT 20000
#define TERMS_MAX 12
/* So many words with a common beginning are read in turn. */
#define WORDS_IN_TURN 16
/* Texts are compared by so many characters, which fit into a cursor. */
#define LIST_TEXT_MAX "400"

/* Where a list of jobs in the order of their start comes from. */
enum list_source {
	LIST_ALL,
	LIST_USER,
	LIST_FAILED,
	LIST_WITHOUT_STATUS,
	LIST_RUNNING, /* not in order; short */
	LIST_HOST,
	LIST_TAG,
	LIST_WORDS,
};

/* A condition of which the store has a list. */
struct list_term {
	enum list_source source;
	struct filter_node *test;
	const char *key, *value; /* of the tag; user, host or tag */
	char word[JOB_WORD_BYTES + 1], behind[JOB_WORD_BYTES + sizeof(JOB_WORD_LAST)];
	char (*words)[JOB_WORD_BYTES + 1]; /* that begin with it; NULL: too many */
	size_t word_count;
	int64_t count; /* of jobs, at most list_short + 1 */
};

struct list_plan {
	struct store *s;
	struct filter *where;
	struct filter *own; /* if there is no filter */
	struct list_term terms[TERMS_MAX];
	size_t term_count;
	int64_t from_us, to_us; /* of the start, inclusive */
	int64_t list_short;
	bool bounded;         /* the start is known */
	bool rest;            /* there are conditions without a list */
	bool indexed;         /* the store has the lists */
	bool by_start;        /* jobs are wanted in the order of their start */
	bool summed;          /* all jobs are wanted, for sums */
	struct list_term all; /* every job */
	const struct list_term *shortest;
};

/* Finds what the filter and the store have in common, and counts. by_start: jobs are wanted in the
 * order of their start, or by an index that has it. */
int list_plan_begin(struct list_plan *p, struct store *s, struct filter *where, bool by_start,
		    int64_t list_short);
void list_plan_end(struct list_plan *p);
#define _cleanup_plan_ _cleanup_(list_plan_end)

/* Is the list in the order of the start? */
static inline bool list_ordered(const struct list_term *t)
{
	return t->source != LIST_RUNNING && (t->source != LIST_WORDS || t->word_count == 1);
}
/* Are its rows those of the table job itself, with the alias j? Others have the alias d. */
static inline bool list_of_jobs(const struct list_term *t)
{
	return t->source < LIST_HOST;
}

/* ---- SQL (job_list_sql.c) -------------------------------------------------------------------- */

/* " FROM ... WHERE ..." over one list; word: which of the words, or all for one beyond them.
 * with_job: the row of the job is needed, too. */
void list_add_source(struct sql *q, const struct list_plan *p, const struct list_term *t,
		     size_t word, bool with_job);
/* " AND start ... " as the filter wants it; known: only those with a start. */
void list_add_bounds(struct sql *q, const struct list_plan *p, const struct list_term *t);
/* All conditions except those of a list, and of the start. */
void list_add_conditions(struct sql *q, const struct list_plan *p, const struct list_term *t);
/* The columns with the start and the number of a row. */
const char *list_start(const struct list_term *t);
const char *list_number(const struct list_term *t);
/* Do the conditions besides this list need the row of the job? */
bool list_needs_job(const struct list_plan *p, const struct list_term *t);

/* ---- cursors (job_list_cursor.c) --------------------------------------------------------------
 */

struct list_cursor {
	bool unknown; /* the value is not known */
	bool is_text;
	int64_t number, job;
	char *text;
};
void list_cursor_release(struct list_cursor *c);
/* A number that tells lists apart. */
uint32_t list_mark(struct filter *where, const char *order);
char *list_cursor_write(const struct list_cursor *c, uint32_t mark);
/* -EINVAL: it is none, or one of another list. */
int list_cursor_read(struct list_cursor *ret, const char *text, uint32_t mark);
