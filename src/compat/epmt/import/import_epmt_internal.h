/* Shared by the files that import an EPMT database; see import_epmt.c. */
#pragma once

#include "store/import/databases.h"

/* A column of JSON as a value; an empty dict if it is empty or invalid. An invalid text is kept
 * under the key in unread, if that is not NULL. */
struct value *epmt_json(struct stmt *st, int column, const char *key, struct value *unread);
/* Adds a column of text to the dict, unless it is null. */
void epmt_text(struct value *dict, const char *key, struct stmt *st, int column);
/* "2019-06-15 07:52:04.073965" as if it were UTC, in microseconds. */
bool epmt_time(const char *text, int64_t *ret);

/* Imports the models that the store does not have yet; returns their number. */
int epmt_copy_models(struct store *from, struct store *to, size_t *ret, struct strbuf *why);
