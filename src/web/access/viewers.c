/* The users of the server; see viewers.h. */
#include "web/access/viewers.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/log.h"
#include "core/system/thread.h"
#include "web/server.h"

#define PERIOD_S 2
#define WAIT_MS 5000

/* ---- the log ----------------------------------------------------------------------------------
 */

static int note(struct web_server *w, const char *user, const char *address, const char *what,
		const char *detail, struct strbuf *why)
{
	_cleanup_store_ struct store *s = NULL;

	if (!w->store_url)
		return strbuf_fail(why, -ENOENT, "there is no store; name one with --db");
	int r = store_open_within(&s, w->store_url, STORE_WRITE, WAIT_MS, why);
	if (r < 0)
		return r;
	r = access_note(s, user, address, what, detail);
	return r < 0 ? strbuf_fail(why, r, "%s", store_error(s)) : 0;
}

void web_note(struct web_server *w, const char *user, const char *address, const char *what,
	      const char *detail)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (w->options->auth != AUTH_TOKEN && note(w, user, address, what, detail, &why) < 0)
		log_warn("cannot write the log of accesses (%s): %s", what, why.buf);
}

/* ---- the list ---------------------------------------------------------------------------------
 */

static int load(struct web_users *u, struct strbuf *why)
{
	struct access_users list = {.v = NULL}, before;
	_cleanup_store_ struct store *s = NULL;
	int r = web_open_store(u->server, &s, why);

	if (r < 0)
		return r;
	r = access_users_load(&list, s);
	if (r < 0) {
		access_users_release(&list);
		return strbuf_fail(why, r, "%s", store_error(s));
	}
	pthread_mutex_lock(&u->lock);
	before = u->list;
	u->list = list;
	pthread_mutex_unlock(&u->lock);
	access_users_release(&before);
	return 0;
}

static void *follow(void *user)
{
	struct web_users *u = user;
	struct timespec t;

	pthread_mutex_lock(&u->lock);
	while (!u->stopping) {
		_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;

		(void)clock_gettime(CLOCK_MONOTONIC, &t);
		t.tv_sec += PERIOD_S;
		(void)pthread_cond_timedwait(&u->changed, &u->lock, &t);
		if (u->stopping)
			break;
		pthread_mutex_unlock(&u->lock);
		(void)load(u, &ignored); /* a store that is gone for a while changes nobody */
		pthread_mutex_lock(&u->lock);
	}
	pthread_mutex_unlock(&u->lock);
	return NULL;
}

int web_users_start(struct web_users *u, struct web_server *w, struct strbuf *why)
{
	*u = (struct web_users){.server = w, .lock = PTHREAD_MUTEX_INITIALIZER};
	thread_cond_init(&u->changed);
	if (w->options->auth == AUTH_TOKEN)
		return 0;
	if (getenv(VIEWER_ENV))
		return strbuf_fail(why, -EINVAL, "unset " VIEWER_ENV " to serve several users");
	int r = note(w, w->user, NULL, "server started", w->address, why);
	if (r == 0)
		r = load(u, why);
	if (r == 0)
		r = thread_start(&u->thread, 0, follow, u);
	u->started = r == 0;
	return r;
}

void web_users_stop(struct web_users *u)
{
	if (u->started) {
		pthread_mutex_lock(&u->lock);
		u->stopping = true;
		pthread_cond_broadcast(&u->changed);
		pthread_mutex_unlock(&u->lock);
		(void)pthread_join(u->thread, NULL);
		u->started = false;
	}
	access_users_release(&u->list);
}

int web_users_find(struct web_users *u, const char *name, struct viewer *ret, struct strbuf *hash)
{
	int r = 0;

	pthread_mutex_lock(&u->lock);
	const struct access_user *found = access_users_find(&u->list, name);
	if (found) {
		*ret = found->viewer;
		if (hash && found->hash)
			strbuf_addstr(hash, found->hash);
		r = found->disabled ? -EACCES : 1;
	}
	pthread_mutex_unlock(&u->lock);
	return r;
}
