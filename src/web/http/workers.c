/* Threads for requests; see workers.h. */
#include "web/http/workers.h"

#include "core/system/thread.h"
#include "web/server.h"
#include "web/web_call.h"

static struct web_call *take(struct worker_queue *q)
{
	struct workers *p = q->workers;

	pthread_mutex_lock(&p->lock);
	while (!q->first && !p->stopping)
		pthread_cond_wait(&q->changed, &p->lock);
	struct web_call *c = p->stopping ? NULL : q->first;
	if (c) {
		q->first = c->next;
		q->count--;
	}
	pthread_mutex_unlock(&p->lock);
	return c;
}

static void *work(void *user)
{
	struct worker_queue *q = user;
	struct store *s = NULL;
	struct web_call *c;

	while ((c = take(q)))
		web_call_run(c, &s);
	store_close(s);
	return NULL;
}

int workers_start(struct workers *p, struct web_server *w)
{
	static const unsigned limits[WORKER_KINDS] = {WORKERS_STORE_QUEUE_MAX, WORKERS_QUEUE_MAX,
						      WORKERS_QUEUE_MAX};
	int r = 0;

	*p = (struct workers){.server = w, .lock = PTHREAD_MUTEX_INITIALIZER};
	for (size_t k = 0; k < WORKER_KINDS; k++) {
		struct worker_queue *q = &p->queues[k];

		q->workers = p;
		q->limit = limits[k];
		(void)pthread_cond_init(&q->changed, NULL);
		while (r == 0 && q->started < WORKERS_EACH) {
			r = thread_start(&q->threads[q->started], 0, work, q);
			q->started += r == 0;
		}
	}
	return r;
}

bool workers_submit(struct workers *p, enum worker_kind kind, struct web_call *c)
{
	struct worker_queue *q = &p->queues[kind];

	pthread_mutex_lock(&p->lock);
	bool ok = !p->stopping && q->count < q->limit;
	if (ok) {
		c->next = NULL;
		*(q->first ? &q->last->next : &q->first) = c;
		q->last = c;
		q->count++;
		pthread_cond_signal(&q->changed);
	}
	pthread_mutex_unlock(&p->lock);
	return ok;
}

void workers_stop(struct workers *p)
{
	pthread_mutex_lock(&p->lock);
	p->stopping = true;
	for (size_t k = 0; k < WORKER_KINDS; k++)
		pthread_cond_broadcast(&p->queues[k].changed);
	pthread_mutex_unlock(&p->lock);
	for (size_t k = 0; k < WORKER_KINDS; k++) {
		struct worker_queue *q = &p->queues[k];

		for (unsigned i = 0; i < q->started; i++)
			(void)pthread_join(q->threads[i], NULL);
		while (q->first) {
			struct web_call *c = q->first;

			q->first = c->next;
			web_call_refuse(c, "the server stops");
		}
	}
}
