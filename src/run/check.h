/*
 * Tests every capability by using it. A limited or failed check has a reason and, if there is one,
 * the command that fixes it.
 */
#pragma once

#include "context/context.h"

enum check_verdict { CHECK_PASS, CHECK_LIMITED, CHECK_FAIL };

struct check_result {
	char *name, *detail, *remedy; /* remedy may be NULL */
	enum check_verdict verdict;
};

struct check_results {
	struct check_result *items;
	size_t count, cap;
};

void check_all(struct context *ctx, struct check_results *f);
void check_release(struct check_results *f);

/* Checks only what recording and storing depend on, and reports errors. */
struct check_essentials {
	bool store, output, stage, run;
};
struct check_essentials check_essentials(struct context *ctx);
