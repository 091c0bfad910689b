/*
 * Tags: "key:value;key:value". Blanks around keys and values are removed; a key without a value has
 * the value "1"; a pair with two colons or without a key is invalid.
 */
#pragma once

#include "core/value.h"

/* A dict of the tags; *dropped (may be NULL) gets the invalid pairs. */
struct value *tags_parse(const char *text, struct strbuf *dropped);
/* The same for tags that replace others: NULL, with the reason in *why, if there is none or one is
 * invalid. */
struct value *tags_parse_all(const char *text, struct strbuf *why);
/* Turns KEY=VALUE, the form of annotations, into the tag KEY:VALUE; NULL: it has another form.
 * Freed by the caller. */
char *tags_suggestion(const char *word);
/* Does a dict of tags have all pairs of the other? VALUE_NONE in place of a value: any value. */
bool tags_contain(const struct value *tags, const struct value *wanted);
