/* What tests of the sink store share: the plan of what nodes send, and a store, on SQLite or where
 * $PL_STORE_URL says, that is empty. */
#pragma once

#include "sink_store_jobs.h"

static const struct harness_plan plan = {
	.nodes = 2, .entries = 8, .readings = 5, .jobs = 3, .processes = 2};

static inline char *path_in(const char *dir, const char *name)
{
	const char *url = getenv("PL_STORE_URL");

	return url && !strcmp(name, "store.db") ? xstrdup(url) : xasprintf("%s/%s", dir, name);
}

static inline int setup(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *url = getenv("PL_STORE_URL");
	struct store *s = NULL;

	if (url) {
		if (store_open(&s, url, STORE_WRITE, &why) < 0 || schema_drop(s) < 0)
			fail_msg("%s", why.len ? why.buf : store_error(s));
		store_close(s);
	}
	return scratch_setup(state);
}
