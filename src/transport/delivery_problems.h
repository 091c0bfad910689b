/*
 * Problems of delivery. Each kind is reported when it begins and when it is over, at most once a
 * minute, and can be queried meanwhile.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum delivery_problem {
	PROBLEM_KEY,     /* keys do not match */
	PROBLEM_NAME,    /* our key is not allowed for the name in our batches */
	PROBLEM_ROOM,    /* the collector's log is full */
	PROBLEM_AWAY,    /* the collector does not answer */
	PROBLEM_DISK,    /* the spool cannot be written or read */
	PROBLEM_DROPPED, /* batches dropped because the spool is full, since the start */
	PROBLEM_REFUSED, /* batches refused by the collector as invalid, since the start */
	PROBLEM_DAMAGED, /* damaged entries of the spool, since the start */
	PROBLEM_COUNT
};
#define PROBLEM_TEXT 256

struct delivery_problems {
	char text[PROBLEM_COUNT][PROBLEM_TEXT]; /* empty: none */
	uint64_t reported_ns[PROBLEM_COUNT];
	bool reported[PROBLEM_COUNT]; /* its begin */
	/* Called by the sender's thread; NULL: no reports. */
	void (*say)(void *user, bool over, const char *text);
	void *user;
};

/* The problem exists; keeps the newest message. */
void delivery_problem_is(struct delivery_problems *t, enum delivery_problem kind, uint64_t now,
			 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void delivery_problem_over(struct delivery_problems *t, enum delivery_problem kind);
