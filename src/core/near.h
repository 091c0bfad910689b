/* Words that are nearly others, for "did you mean". */
#ifndef PL_CORE_NEAR_H
#define PL_CORE_NEAR_H

#define NEAR_BYTES_MAX 64 /* compared; what is behind does not count */

/* How many letters must change to make one word of another, whatever their case. */
unsigned word_distance(const char *a, const char *b);

#endif
