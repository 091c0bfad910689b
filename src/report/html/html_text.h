/* Text for a page. Texts of users are shown, never interpreted: markup is escaped; control
 * characters, invalid bytes and marks that change the direction of text are written as codes. */
#pragma once

#include "core/strbuf.h"

/* For elements and for attributes in double quotes. */
void html_text(struct strbuf *out, const char *s, size_t n);
/* NULL adds nothing. */
void html_str(struct strbuf *out, const char *s);
/* At most about max bytes, then how many were left out. */
void html_cut(struct strbuf *out, const char *s, size_t n, size_t max);
/* The same of a text that ends in NUL, or NULL for none, between two pieces of HTML. */
void html_between(struct strbuf *out, const char *before, const char *s, size_t max,
		  const char *after);
/* A sentence about a job: begins with a capital, text between backticks is code. */
void html_sentence(struct strbuf *out, const char *s);
/* JSON for a script element: nothing in it ends the element or opens a comment. */
void html_json(struct strbuf *out, const char *json, size_t n);
