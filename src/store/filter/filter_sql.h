/* Shared by filter_sql.c and filter_sql_processes.c. */
#pragma once

#include "core/value.h"
#include "jobs/tags.h"
#include "store/filter/filter_internal.h"

struct filter_sql {
	struct sql *q;
	struct filter *f; /* owns texts made of its values */
	const struct store_engine *engine;
	unsigned level; /* number behind the aliases */
	bool bound;     /* processes are those of the job $1 */
	bool rest;      /* tests that are marked as taken are left out */
};

/* Adds text in which @j and @p are the aliases of this level, {x} is bytes as text, and each ? a
 * value. */
void filter_put_values(struct filter_sql *c, const char *text, const struct db_value *v);
#define filter_put(c, text, ...) \
	filter_put_values(c, text, (const struct db_value[]){{STORE_NULL}, ##__VA_ARGS__} + 1)
/* Keeps a text as long as the filter; takes it. */
const char *filter_keep(struct filter_sql *c, struct strbuf *text);
/* A pattern of ours as one of the engine; and " GLOB ?" or " LIKE ?" with it. */
struct db_value filter_pattern(struct filter_sql *c, const char *pattern);
void filter_put_matches(struct filter_sql *c, const char *pattern);
/* " IN (?, ?)" of the values of a test. */
void filter_put_list(struct filter_sql *c, const struct filter_node *t, bool bytes);
/* The conditions inside of a relation, on aliases of the next level. */
void filter_put_within(struct filter_sql *c, const struct filter_node *n);

/* Texts and tags of processes, and relations of the process tree. */
void filter_put_string(struct filter_sql *c, const struct filter_node *t);
void filter_put_process_tag(struct filter_sql *c, const struct filter_node *t);
void filter_put_process_tags(struct filter_sql *c, const struct filter_node *t);
void filter_put_tree(struct filter_sql *c, const struct filter_node *n);

/* ---- jobs (filter_sql_jobs.c) --------------------------------------------------------------- */

void filter_put_words(struct filter_sql *c, const struct filter_node *t);
void filter_put_status(struct filter_sql *c, const struct filter_node *t);
