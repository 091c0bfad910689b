/* Similar words, for "did you mean". */
#pragma once

#include "core/strbuf.h"

#define NEAR_BYTES_MAX 64 /* only these are compared */

/* Edit distance of two words, ignoring case. */
unsigned word_distance(const char *a, const char *b);

/* Adds up to max metrics ("process.rss"), separated by commas: those that a word such as "memory"
 * means, or those with similar names. */
void near_metrics(const char *const *names, size_t count, const char *word, size_t max,
		  struct strbuf *out);
