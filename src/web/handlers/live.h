/*
 * What happens to a job while it runs, as server-sent events: "job" when there is something new,
 * "end" when it has ended. One thread looks at the job directories and the store once a second, and
 * wakes the connections that have something to send.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "web/http/http_module.h"
#include "web/handlers/job_place.h"

#define LIVE_STREAMS_MAX 64

struct web_server;
struct live_stream;

struct live {
	struct web_server *server;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool started, stopping;
	struct live_stream *streams;
	size_t count;
};

int live_start(struct live *l, struct web_server *w);
/* Ends all streams. */
void live_stop(struct live *l);

/* A stream of a job; takes the place. NULL: there are too many. */
struct live_stream *live_open(struct live *l, struct job_place *p);
/* Sends it as the reply of this call. */
void live_attach(struct live_stream *s, struct http_call *call);
void live_close(struct live_stream *s); /* accepts NULL */
