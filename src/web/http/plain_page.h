/* Pages for somebody without a session: plain HTML in the style of the others. */
#pragma once

#include "core/strbuf.h"

/* base: the base path, "" or "/x". Up to the end of the heading; plain_page_end() closes it. */
void plain_page_begin(struct strbuf *out, const char *base, const char *title);
void plain_page_end(struct strbuf *out);
