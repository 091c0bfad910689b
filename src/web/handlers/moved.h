/* Addresses of other tools' pages, moved_pages.def. */
#pragma once

#include "web/http/target.h"

/* The page that has this content now, relative to the first page; NULL: none. Freed by the caller.
 */
char *moved_page(const struct target *t);
/* The path of the target, encoded, without a slash at its end. */
void target_add_path(const struct target *t, struct strbuf *out);
