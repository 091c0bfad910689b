/* Calls with a time-out; see timed_call.h. */
#include "core/system/timed_call.h"

#include <pthread.h>
#include <signal.h>

#include "core/clock.h"
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
	sigset_t all, old;
	pthread_t thread;

	*c = (struct call){function, user};
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int e = pthread_create(&thread, NULL, run, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (e) {
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
