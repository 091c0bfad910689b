/*
 * Shows a job on this host while it runs. One thread finds the processes, reads the sources and
 * draws. Sources that may block are read only if they are named.
 */
#pragma once

#include "context/context.h"

#define TOP_SOURCES_MAX 32

struct top_options {
	bool json, once, all_users;
	const char *root, *job, *cgroup;
	const char *names[TOP_SOURCES_MAX]; /* sources, NAME or NAME=OPTION */
	size_t name_count;
	int pid; /* 0: none */
	uint64_t interval_ns;
};

/* Can all named sources be shown? Reports the first that cannot. */
bool top_check_sources(const struct top_options *o);
/* Shows a job, or a command (NULL: none), which it runs. Reports errors; returns the exit status.
 */
int do_top(struct context *ctx, struct top_options *o, char **command);
