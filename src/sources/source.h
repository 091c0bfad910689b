/*
 * A source of data is one constant in one file, named in sources.def. This is its contract: what it
 * is called, and whether it can be used here. Code that reads /proc or /sys takes the root of the
 * tree from the context, so that tests run on recorded trees.
 */
#ifndef PL_SOURCES_SOURCE_H
#define PL_SOURCES_SOURCE_H

#include "core/strbuf.h"

struct source_context {
	const char *root; /* in front of /proc and /sys; "" on a live machine */
};

/* What a probe found, for a person. */
struct source_report {
	struct strbuf detail; /* what it gives here, or why it does not */
	const char *remedy;   /* the command that would mend it; NULL when there is none */
};
#define SOURCE_REPORT_INIT            \
	{                             \
		.detail = STRBUF_INIT \
	}

struct source {
	const char *name;
	const char *help; /* one phrase, no full stop */
	/*
	 * 0: usable. Negative errno: not, or not in full; the report says what is missing and what
	 * would mend it. Leaves nothing open behind it.
	 */
	int (*probe)(const struct source_context *ctx, struct source_report *report);
};

/* Every source, sorted by name; ends with NULL. */
extern const struct source *const sources[];

#endif
