/*
 * Walks through one of perfmon's JSON files: an object with one object per host, which has arrays
 * of numbers, alone or in groups. Texts are skipped.
 */
#pragma once

#include "compat/perfmon/perfmon_keys.h"
#include "core/text/json_reader.h"

struct perfmon_walk {
	enum perfmon_file file;
	void *user;
	void (*begin)(void *user, const char *host);
	/* Where the values of an array go; NULL: skip it. group NULL: none. */
	void *(*column)(void *user, const char *group, const char *key);
	void (*value)(void *user, void *column, const struct json_reader *j, enum json_token token);
	int (*end)(void *user, const char *host);
	double *ret_period_s; /* set if the file has it; may be NULL */
};

/* -ENOENT, without a message, if there is no such file. */
int perfmon_walk(struct perfmon_walk *w, int dir, struct strbuf *why);
