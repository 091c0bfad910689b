/*
 * Threads that answer requests which take time: some with a store of their own, some that wait for
 * commands or check passwords. Each kind has its queue, so that commands do not delay the job list.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#define WORKERS_EACH 4
#define WORKERS_QUEUE_MAX 32 /* commands, or passwords, that wait; more are refused */
#define WORKERS_STORE_QUEUE_MAX 1024

enum worker_kind { WORKER_STORE, WORKER_COMMAND, WORKER_LOGIN, WORKER_KINDS };

struct web_call;
struct web_server;

struct worker_queue {
	struct workers *workers;
	struct web_call *first, *last;
	unsigned count, limit;
	pthread_cond_t changed;
	pthread_t threads[WORKERS_EACH];
	unsigned started;
};

struct workers {
	struct web_server *server;
	pthread_mutex_t lock;
	bool stopping;
	struct worker_queue queues[WORKER_KINDS];
};

int workers_start(struct workers *p, struct web_server *w);
/* False: too many wait, or the server stops. */
bool workers_submit(struct workers *p, enum worker_kind kind, struct web_call *c);
/* Refuses what waits, and waits for what runs. */
void workers_stop(struct workers *p);
