/* Events of running jobs; see live.h. */
#include "web/handlers/live.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/system/thread.h"
#include "jobs/job_directory.h"
#include "views/jobs/job_list.h"
#include "web/server.h"

#define ASK_EACH 10                     /* looks */
#define BEAT_NS ((uint64_t)15000000000) /* a sign of life, by which a lost client is noticed */

struct live_stream {
	struct live *live;
	struct live_stream *next;
	struct job_place place;
	struct http_call *call; /* NULL: not attached yet */
	struct job_directory_weight weight;
	uint64_t version, sent, last_ns;
	unsigned looks;
	struct strbuf out;
	bool idle;  /* the connection waits to be woken */
	bool ended; /* nothing follows */
};

/* ---- looking ----------------------------------------------------------------------------------
 */

/* Is the job open in the store, which a collector fills? */
static bool is_open(struct store *s, int64_t no)
{
	_cleanup_joblist_ struct joblist l = JOBLIST_INIT;

	l.bare = true;
	return s && joblist_load_numbers(&l, s, &no, 1) >= 0 && l.count && l.rows[0].open;
}

/* True: something is new. */
static bool look_at_directory(struct live_stream *s, bool *ret_running)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;

	*ret_running = false;
	if (job_directory_open_path(&j, s->live->server->config, s->place.operand, NULL, false,
				    &ignored) < 0)
		return true;
	struct job_directory_weight now = job_directory_weigh(&j);
	bool differs = job_directory_weight_differs(&s->weight, &now);
	s->weight = now;
	*ret_running = job_directory_running(&j, false, NULL) > 0;
	return differs;
}

static bool look_at_store(struct live_stream *s, struct store *store, bool *ret_running)
{
	uint64_t version = 0;

	(void)web_store_version(s->live->server, &version);
	bool differs = version != s->version;
	s->version = version;
	/* that nothing comes any more is no change */
	*ret_running = (!differs && ++s->looks % ASK_EACH) || is_open(store, s->place.no);
	return differs;
}

static void look(struct live_stream *s, struct store *store, uint64_t now)
{
	bool running, first = !s->sent;
	bool differs = s->place.no < 0 ? look_at_directory(s, &running)
				       : look_at_store(s, store, &running);

	if (differs || first) {
		strbuf_addf(&s->out, "event: job\nid: %llu\ndata: {\"running\":%s}\n\n",
			    (unsigned long long)++s->sent, running ? "true" : "false");
		s->last_ns = now;
	} else if (now - s->last_ns >= BEAT_NS) {
		strbuf_addstr(&s->out, ": alive\n\n");
		s->last_ns = now;
	}
	if (!running) {
		strbuf_addstr(&s->out, "event: end\ndata: {}\n\n");
		s->ended = true;
	}
}

static void wake(struct live_stream *s)
{
	if (!s->idle || (!s->out.len && !s->ended))
		return;
	s->idle = false;
	s->live->server->functions->wake(s->call);
}

/* Only while somebody watches a stored job. */
static void keep_store(struct live *l, struct store **store)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	bool needed = false;

	for (struct live_stream *s = l->streams; s; s = s->next)
		needed = needed || s->place.no >= 0;
	if (*store && (!needed || store_moved(*store))) {
		store_close(*store);
		*store = NULL;
	}
	if (needed && !*store && web_open_store(l->server, store, &ignored) < 0)
		*store = NULL;
}

static void wait_a_second(struct live *l)
{
	struct timespec t;

	if (l->stopping)
		return;
	if (!l->streams) {
		pthread_cond_wait(&l->changed, &l->lock);
		return;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_sec += 1;
	(void)pthread_cond_timedwait(&l->changed, &l->lock, &t);
}

static void *watch(void *user)
{
	struct live *l = user;
	struct store *store = NULL;

	pthread_mutex_lock(&l->lock);
	while (!l->stopping) {
		keep_store(l, &store);
		for (struct live_stream *s = l->streams; s; s = s->next)
			if (!s->ended && !s->out.len)
				look(s, store, clock_boottime_ns());
		for (struct live_stream *s = l->streams; s; s = s->next)
			wake(s);
		wait_a_second(l);
	}
	pthread_mutex_unlock(&l->lock);
	store_close(store);
	return NULL;
}

int live_start(struct live *l, struct web_server *w)
{
	*l = (struct live){.server = w, .lock = PTHREAD_MUTEX_INITIALIZER};
	thread_cond_init(&l->changed);
	int r = thread_start(&l->thread, 0, watch, l);
	l->started = r == 0;
	return r;
}

void live_stop(struct live *l)
{
	if (!l->started)
		return;
	pthread_mutex_lock(&l->lock);
	l->stopping = true;
	for (struct live_stream *s = l->streams; s; s = s->next) {
		s->ended = true;
		wake(s);
	}
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	(void)pthread_join(l->thread, NULL);
	l->started = false;
}

/* ---- streams ----------------------------------------------------------------------------------
 */

struct live_stream *live_open(struct live *l, struct job_place *p)
{
	struct live_stream *s = NULL;

	pthread_mutex_lock(&l->lock);
	if (!l->stopping && l->count < LIVE_STREAMS_MAX) {
		s = xcalloc(1, sizeof(*s));
		s->live = l;
		s->place = *p;
		*p = (struct job_place)JOB_PLACE_INIT;
		s->out = (struct strbuf)STRBUF_INIT;
		s->last_ns = clock_boottime_ns();
		s->next = l->streams;
		l->streams = s;
		l->count++;
	}
	pthread_mutex_unlock(&l->lock);
	return s;
}

/* Called by a thread of HTTP. */
static ssize_t read_events(void *user, char *buf, size_t size)
{
	struct live_stream *s = user;
	struct live *l = s->live;
	ssize_t r = 0;

	pthread_mutex_lock(&l->lock);
	if (s->out.len) {
		size_t n = s->out.len < size ? s->out.len : size;

		memcpy(buf, s->out.buf, n);
		memmove(s->out.buf, s->out.buf + n, s->out.len - n);
		strbuf_cut(&s->out, s->out.len - n);
		r = (ssize_t)n;
	} else if (s->ended || l->stopping) {
		r = -1;
	} else {
		s->idle = true;
	}
	pthread_mutex_unlock(&l->lock);
	return r;
}

void live_attach(struct live_stream *s, struct http_call *call)
{
	s->call = call;
	call->reply.read = read_events;
	call->reply.user = s;
	pthread_mutex_lock(&s->live->lock);
	pthread_cond_broadcast(&s->live->changed);
	pthread_mutex_unlock(&s->live->lock);
}

void live_close(struct live_stream *s)
{
	if (!s)
		return;
	struct live *l = s->live;

	pthread_mutex_lock(&l->lock);
	for (struct live_stream **p = &l->streams; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			l->count--;
			break;
		}
	pthread_mutex_unlock(&l->lock);
	job_place_release(&s->place);
	strbuf_release(&s->out);
	free(s);
}
