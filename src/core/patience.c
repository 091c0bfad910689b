/* Calls with a time-out; see patience.h. */
#include "core/patience.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

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
	struct timespec until;
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
	clock_gettime(CLOCK_REALTIME, &until);
	uint64_t at = (uint64_t)until.tv_sec * 1000000000u + (uint64_t)until.tv_nsec + ns;
	until.tv_sec = (time_t)(at / 1000000000u);
	until.tv_nsec = (long)(at % 1000000000u);
	if (pthread_timedjoin_np(thread, NULL, &until) != 0) {
		pthread_detach(thread);
		return false; /* c stays with the thread */
	}
	free(c);
	return true;
}
