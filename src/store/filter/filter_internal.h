/* Shared by the files of the filter language. */
#pragma once

#include "store/filter/filter.h"

#define FILTER_SHOWN_MAX 40 /* bytes of a word in a message */

/* Finds a key; false: there is none. *ret_name: the name behind its dot, or of its metric; NULL:
 * none. */
bool filter_key_find(enum filter_scope scope, const char *word, struct filter_key *ret,
		     const char **ret_name);
/* Adds "unknown key ..." with a suggestion. */
void filter_key_unknown(enum filter_scope scope, const char *word, struct strbuf *why);

struct filter_node *filter_node_new(enum filter_kind kind);
void filter_node_free(struct filter_node *n);
static inline void filter_node_free_ptr(struct filter_node **n)
{
	filter_node_free(*n);
}
#define _cleanup_node_ _cleanup_(filter_node_free_ptr)
/* Takes child. */
void filter_node_add(struct filter_node *n, struct filter_node *child);

/* A test of a key. A key that processes do not have, but jobs, is one of their job: the result is
 * then a FILTER_JOB_OF with the test in *ret_test. NULL with a message: no such key. name: the name
 * behind the dot, if it is not in the word itself. */
struct filter_node *filter_test_new(enum filter_scope scope, const char *word, const char *name,
				    struct filter_node **ret_test, struct strbuf *why);
/* Sets the operator; -EINVAL with a message if the key does not take it. */
int filter_test_operator(struct filter_node *test, enum filter_op op, struct strbuf *why);
/* Adds a value, parsed by the type of the key. -EINVAL with a message. */
int filter_test_value(struct filter_node *test, const char *text, int64_t now_us,
		      struct strbuf *why);
/* What all values together must fulfil. */
int filter_test_check(const struct filter_node *test, struct strbuf *why);
