/*
 * What stands in the way of delivery: each kind is said once when it begins and once when it is
 * over, and can be asked for meanwhile. One that comes and goes is said once a minute.
 */
#ifndef PL_TRANSPORT_DELIVERY_PROBLEMS_H
#define PL_TRANSPORT_DELIVERY_PROBLEMS_H

#include <stdbool.h>
#include <stdint.h>

enum delivery_problem {
	TROUBLE_KEY,     /* keys do not fit */
	TROUBLE_NAME,    /* our key is not for the name that batches have */
	TROUBLE_ROOM,    /* the collector's log takes no more */
	TROUBLE_AWAY,    /* nobody answers */
	TROUBLE_DISK,    /* the spool takes no more, or cannot be read */
	TROUBLE_DROPPED, /* for want of room, since the start */
	TROUBLE_REFUSED, /* by the collector, for what they are, since the start */
	TROUBLE_DAMAGED, /* entries of the spool, since the start */
	TROUBLE_COUNT
};
#define TROUBLE_TEXT 256

struct delivery_problems {
	char text[TROUBLE_COUNT][TROUBLE_TEXT]; /* empty: there is none */
	uint64_t said_ns[TROUBLE_COUNT];
	bool told[TROUBLE_COUNT]; /* that it began */
	/* From the thread that delivers; NULL: nobody is told. */
	void (*say)(void *user, bool over, const char *text);
	void *user;
};

/* There is such a trouble, from now on or still; the newest words are kept. */
void delivery_problem_is(struct delivery_problems *t, enum delivery_problem kind, uint64_t now,
			 const char *fmt, ...) __attribute__((format(printf, 4, 5)));
void delivery_problem_over(struct delivery_problems *t, enum delivery_problem kind);

#endif
