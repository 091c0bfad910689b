/*
 * Text on its way into a page. Bytes of users are shown, never obeyed: markup is escaped, control
 * characters, invalid bytes and marks that turn the direction of writing are named.
 */
#ifndef PL_REPORT_HTML_HTML_TEXT_H
#define PL_REPORT_HTML_HTML_TEXT_H

#include "core/strbuf.h"

/* For elements and for attributes in double quotes. */
void html_text(struct strbuf *out, const char *s, size_t n);
/* NULL adds nothing. */
void html_str(struct strbuf *out, const char *s);
/* At most about max bytes, then how many were left out. */
void html_cut(struct strbuf *out, const char *s, size_t n, size_t max);
/* A sentence of ours about a job: what is between backticks is code, and it
 * begins with a capital. */
void html_sentence(struct strbuf *out, const char *s);
/* JSON for a script element: nothing in it ends the element or opens a comment. */
void html_json(struct strbuf *out, const char *json, size_t n);

#endif
