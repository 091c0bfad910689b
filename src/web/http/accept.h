/* The types of answers, and which of them a client wants. */
#pragma once

#include "core/strbuf.h"

struct web_type {
	const char *name;   /* "text/csv" */
	const char *header; /* Content-Type */
	const char *table;  /* table format; NULL: JSON or CSV */
	bool rows;          /* only answers that are rows have it */
};
/* JSON first; ends with a NULL name. */
extern const struct web_type web_types[];
#define WEB_TYPE_JSON (&web_types[0])

/* The type that a header Accept prefers, of all or only of those that any answer has; without a
 * header JSON. NULL: it takes none of them. */
const struct web_type *accepted_type(const char *accept, bool rows);
/* "application/json, text/csv" */
void add_types(struct strbuf *out, bool rows);
