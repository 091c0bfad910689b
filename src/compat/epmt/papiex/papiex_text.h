/* Texts in papiex's CSV and TSV files, as their reader takes them out of a line. */
#ifndef PL_COMPAT_EPMT_PAPIEX_PAPIEX_TEXT_H
#define PL_COMPAT_EPMT_PAPIEX_PAPIEX_TEXT_H

#include "core/strbuf.h"

/* Adds the text at p, up to the separator or end that is returned. CSV's escapes are undone. TSV
 * has bytes as they are: there a tab and the two characters that stand for it cannot be told apart.
 */
const char *papiex_take_text(struct strbuf *out, const char *p, const char *end, char separator);
/* The same for a text in quotes, as Python's csv module writes those with a tab or a quote in them:
 * two quotes stand for one. NULL when the closing one is missing or something follows it. */
const char *papiex_take_quoted(struct strbuf *out, const char *p, const char *end, char separator);

/* Adds a text as these files have it; defined with their writer. */
void papiex_add_text(struct strbuf *out, const char *s, size_t n, bool csv);

#endif
