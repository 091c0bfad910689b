/* Parts of reading an EPMT database; see import_epmt.c. */
#pragma once

#include "store/import/databases.h"

/* A column of JSON as a value; an empty dict where it has nothing, or nothing of use: such a text
 * is kept under the key in unread, where that is not NULL. */
struct value *epmt_json(struct stmt *st, int column, const char *key, struct value *unread);
/* A column of text as a pair of the dict; nothing where it is null. */
void epmt_text(struct value *dict, const char *key, struct stmt *st, int column);
/* "2019-06-15 07:52:04.073965" as if it were UTC, in microseconds. */
bool epmt_time(const char *text, int64_t *ret);

/* The models that are not there yet; how many those were. */
int epmt_copy_models(struct store *from, struct store *to, size_t *ret, struct strbuf *why);
