/* Words that are nearly others, for "did you mean". */
#ifndef PL_CORE_TEXT_SIMILAR_H
#define PL_CORE_TEXT_SIMILAR_H

#include "core/strbuf.h"

#define NEAR_BYTES_MAX 64 /* compared; what is behind does not count */

/* How many letters must change to make one word of another, whatever their case. */
unsigned word_distance(const char *a, const char *b);

/* Adds up to max of some metrics ("process.rss"), commas between them: those that a word means, as
 * "memory" does, or those that are spelt nearly like it. */
void near_metrics(const char *const *names, size_t count, const char *word, size_t max,
		  struct strbuf *out);

#endif
