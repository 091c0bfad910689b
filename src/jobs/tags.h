/*
 * Tags: "key:value;key:value". Blanks around keys and values are dropped, a bare word has the value
 * "1", a pair with two colons is refused, and so is one without a key.
 */
#ifndef PL_JOBS_TAGS_H
#define PL_JOBS_TAGS_H

#include "core/value.h"

/* A dict of the tags; pairs that were refused are named in *dropped when that is given. */
struct value *tags_parse(const char *text, struct strbuf *dropped);
/* The same where tags replace others: NULL when there is none or one was refused, with a sentence
 * in *why. Nothing that cannot be understood may take the place of what was there. */
struct value *tags_parse_all(const char *text, struct strbuf *why);
/* What KEY=VALUE, as annotations are written, is as a tag: KEY:VALUE; NULL where the word is none.
 * Freed by the caller. */
char *tags_meant(const char *word);

#endif
