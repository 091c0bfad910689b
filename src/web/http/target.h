/*
 * The target of a request, "/base/api/v1/jobs/4711?columns=a": split and decoded strictly, since it
 * comes from anybody. What is not plain (bad escapes, control characters, invalid UTF-8, slashes in
 * a segment, "." and "..") is refused.
 */
#pragma once

#include <stdbool.h>

#include "core/strbuf.h"

#define TARGET_MAX ((size_t)16384)
#define TARGET_SEGMENTS_MAX 8
#define TARGET_PAIRS_MAX 64

struct target_pair {
	const char *name;
	const char *value; /* NULL: without "=" */
};

struct target {
	char *text; /* where the others point to */
	const char *segments[TARGET_SEGMENTS_MAX];
	size_t segment_count;
	struct target_pair pairs[TARGET_PAIRS_MAX];
	size_t pair_count;
	bool slash; /* the path ends in one */
};

/* 0, or -EINVAL with the reason in *why. base: a prefix of the path that is cut off, "" or "/x";
 * -ENOENT: the path is not below it. */
int target_parse(struct target *t, const char *text, const char *base, struct strbuf *why);
void target_release(struct target *t);
#define _cleanup_target_ _cleanup_(target_release)

/* The first value of a name; "" without a value; NULL: absent. */
const char *target_value(const struct target *t, const char *name);
/* Adds a text as one part of a path. */
void target_add_encoded(const char *s, struct strbuf *out);
