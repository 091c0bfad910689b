/*
 * papiex's per-process CSV files of one host put together into one, as EPMT's stage does: all in
 * the order of their names, comment lines first, one header, then all rows. A file whose header
 * differs or whose rows do not fit it is bad.
 */
#pragma once

#include "core/strbuf.h"

struct collation {
	struct strbuf comments, header, rows;
};
#define COLLATION_INIT                                                              \
	{                                                                           \
		.comments = STRBUF_INIT, .header = STRBUF_INIT, .rows = STRBUF_INIT \
	}
void collation_release(struct collation *c);

/* Adds one file's text; nothing of it is kept when it is bad. 0 or -EBADMSG with the line and what
 * is wrong with it. */
int collation_add(struct collation *c, const char *text, size_t n, struct strbuf *why);
void collation_write(const struct collation *c, struct strbuf *out);

/* Host of a papiex file: its name up to "papiex", less "-collated-" and a hyphen at the end. */
char *papiex_host_of(const char *file_name);
