/*
 * The words by which lists find jobs: those of the name and of the id, in lower case. A word is a
 * run of letters, digits and other bytes beyond ASCII; everything else separates words.
 */
#pragma once

#include "store/store.h"

#define JOB_WORD_BYTES 40 /* of a word; the rest is cut off */
#define JOB_WORDS_MAX 24  /* of a job; further ones are not found */

/* Behind a prefix: sorts after all words that begin with it. */
#define JOB_WORD_LAST "\xf4\x8f\xbf\xbf"

struct job_words {
	char word[JOB_WORDS_MAX][JOB_WORD_BYTES + 1];
	size_t count;
};

/* Adds the words of a text that are not there yet; NULL: none. */
void job_words_add(struct job_words *w, const char *text);

/* Columns of job_word, for a bulk writer, and the rows of a job. start_us 0: unknown. */
#define JOB_WORD_COLUMNS "job,word,start_us"
int job_words_put(struct bulk *b, int64_t job, const char *jobid, const char *jobname,
		  int64_t start_us);
/* The same for one job. */
int job_words_write(struct store *s, int64_t job, const char *jobid, const char *jobname,
		    int64_t start_us);
