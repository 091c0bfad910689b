/* The keywords of EPMT's query functions (`epmt list KEY=VALUE`) as conditions of our filters. */
#pragma once

#include "analysis/operations.h"
#include "core/value.h"
#include "store/query.h"

enum epmt_format { FORMAT_DEFAULT, FORMAT_TERSE, FORMAT_DICT, FORMAT_PANDAS, FORMAT_JSON };

/* Which functions have a keyword. */
#define EPMT_JOBS 1u
#define EPMT_PROCESSES 2u
#define EPMT_PROC_TAGS 4u
#define EPMT_OPERATIONS 8u
#define EPMT_THREADS 16u
#define EPMT_MODELS 32u

struct epmt_filter {
	unsigned scope;
	struct filter *where; /* made by epmt_filter_end() */
	char *expression;     /* more conditions, in our language; NULL: none */
	char *order;          /* a key; "-" in front: descending; NULL: by start */
	uint64_t limit, offset;
	enum epmt_format format;
	bool fold, separate_sums, exact_tags;
	bool by_tag;                         /* the same operation of all jobs as one */
	enum operation_duration op_duration; /* of operations */
	bool has_when, has_before, has_after;
	int64_t when, when_end, before, after; /* us; when to when_end */
	struct value *hosts;                   /* list of texts; NULL: any */
	struct value *tag_sets;    /* list of dicts: matches all pairs of one of them; NULL: any */
	struct value *annotations; /* key -> list of texts that match; NULL: any */
	struct value *analyses;    /* the same */
	struct value *exclude;     /* list of keys to leave out of tags; NULL: none */
};
void epmt_filter_init(struct epmt_filter *f, unsigned scope);
void epmt_filter_release(struct epmt_filter *f);

/* Takes key=value. -ENOENT: no such key, -EINVAL: invalid value, with a message. */
int epmt_filter_take(struct epmt_filter *f, const char *key, const char *value, struct strbuf *why);
/* Sets the time by which something else ran. */
void epmt_filter_when(struct epmt_filter *f, int64_t from_us, int64_t to_us);
/* Makes the conditions of all keywords. */
int epmt_filter_end(struct epmt_filter *f, struct strbuf *why);
/* Do tags "k:v;k:v" match tag_sets and exact_tags? */
bool epmt_filter_matches_tags(const struct epmt_filter *f, const char *tags);
