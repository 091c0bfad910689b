/*
 * Divides a limited resource among hosts: the names in a sink, the entities of a job. Each host has
 * a limit, so that one host cannot use up what others need. Further requests are refused, counted,
 * and logged once per host.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/util.h"

struct quota_share {
	char *host;
	size_t used;
	bool said;
};

struct quota {
	const char *what; /* for the log: "clickhouse: names of tables" */
	size_t max, each; /* limit of all hosts, and of one */
	size_t used;
	uint64_t refused;
	bool said;                /* logged that nothing is left */
	struct quota_share *list; /* sorted by host */
	size_t count, cap;
};

/* A quarter of all is the share of one host. */
#define QUOTA(text, most)                                         \
	{                                                         \
		.what = (text), .max = (most), .each = (most) / 4 \
	}

/* Takes one for this host; false: the limit is reached. */
bool quota_take(struct quota *s, const char *host);
void quota_release(struct quota *s);
