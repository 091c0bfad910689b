/*
 * Python pickles, protocols 0 to 5, of plain data, in which EPMT keeps the metadata of jobs:
 * numbers, texts, containers, and the three classes datetime, timezone and timedelta. Nothing is
 * ever imported or executed; anything else in a file is refused with its name and place.
 */
#pragma once

#include "core/value.h"

/* 0 and the value, or -EBADMSG (damaged), -EPERM (names something other than data), -E2BIG. */
int pickle_read(const void *data, size_t n, struct value **ret, struct strbuf *why);

/* Protocol 3, which every Python 3 reads. */
void pickle_write(const struct value *v, struct strbuf *out);
