/*
 * The filter language: conditions on jobs and processes, as `plimsoll query` and every --where take
 * them (docs/query.md). A text is parsed into a tree of tests, whose keys are rows of
 * filter_keys.def, and compiled to SQL conditions with bound parameters. Options of commands add
 * tests to the same tree.
 */
#pragma once

#include "core/metrics/metric.h"
#include "core/value.h"
#include "store/sql.h"

/* Limits of one filter. */
#define FILTER_BYTES_MAX 65536
/* Depth, in places on the stack of SQLite's parser. It has 100, of which a condition takes up
 * to 40. */
#define FILTER_DEPTH_MAX 46
#define FILTER_DEPTH_NOT 3
#define FILTER_DEPTH_PARENTHESES 4
#define FILTER_DEPTH_RELATION 18
#define FILTER_TESTS_MAX 200
#define FILTER_VALUES_MAX 1000
#define FILTER_PATTERN_MAX 1000 /* bytes of one pattern */
#define FILTER_STARS_MAX 16     /* wildcards * in it */
/* Each word is a condition of its own. */
#define FILTER_WORDS_AT_ONCE 8
#define FILTER_WORD_VALUES_MAX 50

enum filter_scope { FILTER_JOBS, FILTER_PROCESSES };

enum filter_op {
	FILTER_KNOWN, /* the key alone: has a value */
	FILTER_IS,    /* one of the values */
	FILTER_IS_NOT,
	FILTER_LIKE, /* a pattern */
	FILTER_NOT_LIKE,
	FILTER_BELOW,
	FILTER_AT_MOST,
	FILTER_ABOVE,
	FILTER_AT_LEAST,
};

enum filter_type {
	/* that rows can be sorted by */
	FILTER_NUMBER,
	FILTER_DURATION,
	FILTER_SIZE,
	FILTER_TIME,
	FILTER_TEXT,
	FILTER_STRING, /* of a process, in the table of strings */
	/* others */
	FILTER_PERIOD, /* an instant, or FROM..TO */
	FILTER_EARLIEST,
	FILTER_LATEST,  /* a limit of a time, with = */
	FILTER_HOSTS,   /* of a job */
	FILTER_TAG,     /* the value of one tag */
	FILTER_TAG_SET, /* all tags */
	FILTER_NOTE,    /* the value of one annotation or analysis */
	FILTER_NOTES,   /* whether there are any */
	FILTER_WORDS,   /* beginnings of words of a job's name */
	FILTER_STATUS,  /* how a job ended, a word of filter_statuses */
};

struct filter_key {
	enum filter_scope scope;
	const char *name; /* ends in a dot where the name of a tag, metric ... follows */
	enum filter_type type;
	enum metric_unit unit; /* of the column */
	/* The value: @j is the job, @p the process, ? the name behind the dot. */
	const char *sql;
	const char *help;
};
/* Keys of the table; metrics are keys, too, see filter_key_at(). */
extern const struct filter_key filter_keys[];
extern const size_t filter_key_count;
/* "completed", "failed", "running", "unknown": by the exit status, and whether data still comes. */
enum filter_status { STATUS_COMPLETED, STATUS_FAILED, STATUS_RUNNING, STATUS_UNKNOWN, STATUSES };
extern const char *const filter_statuses[STATUSES];
/* All keys of a scope, metrics last: false after the last. For lists. */
bool filter_key_at(enum filter_scope scope, size_t i, struct filter_key *ret);
/* Words for lists: what a value is, "duration", "size" ..., and which operators it takes. */
const char *filter_type_name(enum filter_type type);
const char *filter_type_operators(enum filter_type type);

/* ---- the tree ------------------------------------------------------------------------------- */

struct filter_value {
	char *text;
	int64_t number, end; /* end: of a period */
	bool never;          /* between two numbers that the column can have */
};

enum filter_kind {
	FILTER_ALL_OF,
	FILTER_ANY_OF,
	FILTER_NOT,
	FILTER_TEST,
	/* relations: another job or process, which matches the filter within */
	FILTER_JOB_OF,      /* process: its job */
	FILTER_HAS_PROCESS, /* job */
	FILTER_OVERLAPS,    /* job: ran at the same time */
	FILTER_PARENT,      /* process */
	FILTER_CHILD,
	FILTER_ANCESTOR,
	FILTER_DESCENDANT,
};

struct filter_node {
	enum filter_kind kind;
	struct filter_node **children;
	size_t count, cap;
	/* of a test */
	struct filter_key key; /* a copy: those of metrics are made when they are asked for */
	char *name;            /* behind the dot; NULL: none */
	enum filter_op op;
	struct filter_value *values;
	size_t value_count, value_cap;
	bool taken; /* for filter_add_rest(): the caller adds this condition itself */
};

struct filter {
	enum filter_scope scope;
	struct filter_node *root; /* FILTER_ALL_OF */
	size_t tests, values;
	int64_t now_us;         /* that relative times refer to */
	bool without_words;     /* the store is older than its table of words */
	struct filter_node *at; /* to which tests are added */
	/* made of values for SQL */
	char **texts;
	size_t text_count, text_cap;
};

/* A filter that everything matches. */
struct filter *filter_new(enum filter_scope scope);
void filter_free(struct filter *f);
static inline void filter_free_ptr(struct filter **f)
{
	filter_free(*f);
}
#define _cleanup_filter_ _cleanup_(filter_free_ptr)
/* Everything matches it; also true of NULL. */
bool filter_is_empty(const struct filter *f);

/* Adds the conditions of a text. -EINVAL with "col N: ..." in *why; f is unchanged then. */
int filter_parse(struct filter *f, const char *text, struct strbuf *why);
/* Adds one test: its key as in the language, its values as texts. -EINVAL with the reason. */
int filter_require(struct filter *f, const char *key, enum filter_op op, const char *const *values,
		   size_t count, struct strbuf *why);
/* The same with a value in the unit of the column; the key must exist. */
void filter_require_number(struct filter *f, const char *key, enum filter_op op, int64_t value);
/* Adds the period or the moment, if both are the same, in us. */
void filter_require_period(struct filter *f, int64_t from_us, int64_t to_us);
/* Adds a node that the next tests go into until filter_end(), which takes the result:
 * FILTER_ANY_OF, FILTER_ALL_OF, or FILTER_NOT, which negates all of them together. */
struct filter_node *filter_begin(struct filter *f, enum filter_kind kind);
void filter_end(struct filter *f, struct filter_node *outer);

/* ---- SQL ------------------------------------------------------------------------------------ */

/* Values are borrowed from the filter, which must live as long as statements with them. All add one
 * condition in parentheses. */

/* On rows of "job j". */
void filter_add_jobs(struct sql *q, struct filter *f, const struct store_engine *e);
/* The same without tests that are marked as taken. */
void filter_add_rest(struct sql *q, struct filter *f, const struct store_engine *e);
/* Calls for each test of a job that everything that matches must pass: those that are combined by
 * `and` only. */
void filter_each_required(struct filter *f, void (*call)(void *user, struct filter_node *test),
			  void *user);
/* On rows of "process p" of one job, whose number the caller made the first parameter, $1; bind it
 * again for another job. On the view processes: id IN (SELECT p.id FROM process p WHERE ...). */
void filter_add_processes(struct sql *q, struct filter *f, const struct store_engine *e);
/* On rows of "job j": those that a filter of processes names by conditions on their job. Others
 * have no processes that match. */
void filter_add_jobs_of(struct sql *q, struct filter *f, const struct store_engine *e);
/* Can rows be sorted by this key? Behind a "-": in descending order. *ret_text (may be NULL): its
 * value is a text, not an integer. */
bool filter_order_known(enum filter_scope scope, const char *order, bool *ret_text);
/* Adds the value of such a key, for ORDER BY or as a column. */
void filter_add_order(struct sql *q, struct filter *f, const struct store_engine *e,
		      const char *key);
