/* Calls with a time-out; see timed_call.h. */
#include "core/system/timed_call.h"

#include "core/clock.h"
#include "core/system/thread.h"
#include "core/util.h"

struct call {
	void (*function)(void *user);
	void *user;
};

static void *run(void *user)
{
	struct call *c = user;

	c->function(c->user);
	return NULL;
}

bool call_within(void (*function)(void *user), void *user, uint64_t ns)
{
	struct call *c = xmalloc(sizeof(*c));
	pthread_t thread;

	*c = (struct call){function, user};
	if (thread_start(&thread, 0, run, c) < 0) {
		/* no thread: then here, as long as it takes */
		function(user);
		free(c);
		return true;
	}
	const struct timespec until = clock_deadline(ns);
	if (pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &until) != 0) {
		pthread_detach(thread);
		return false; /* c stays with the thread */
	}
	free(c);
	return true;
}
