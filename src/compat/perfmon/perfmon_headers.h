/* What the columns of perfmon's exports are called. */
#ifndef PL_COMPAT_PERFMON_PERFMON_HEADERS_H
#define PL_COMPAT_PERFMON_PERFMON_HEADERS_H

#include "compat/perfmon/perfmon_keys.h"

/* The header of a key; freed by the caller. group NULL: none. */
char *perfmon_header(enum perfmon_file file, const char *group, const char *key);
/* Where the column stands among others of its file; a large number for keys that are not ours. */
size_t perfmon_header_place(const char *group, const char *key);

#endif
