/* Events, their files and the thread that delivers them; see hook.h. */
#include "inbox/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/log.h"
#include "core/system/thread.h"
#include "core/text/text.h"
#include "inbox/hook_internal.h"

#define PENDING_MAX 10000
#define EVENT_MAX 32768u /* what a pipe takes in one go, with room to spare */
#define PAUSE_NS UINT64_C(1000000000)
#define PAUSE_MAX_NS (600 * PAUSE_NS)
#define DEAD_FILE "dead_letters.jsonl"
#define DEAD_OLD "dead_letters.1.jsonl"
#define DEAD_MAX ((off_t)64 << 20)
#define SUFFIX ".json"

const char *const hook_event_names[HOOK_EVENTS_END] = {"submitted", "failed", "outlier"};

struct pending {
	char *name; /* of its file */
	char *text; /* if it could not be written; NULL: it is in the file */
	unsigned tries;
	uint64_t due_ns;
};

struct hook {
	struct hook_target target;
	bool wanted[HOOK_EVENTS_END];
	uint64_t tries;
	int dir;
	char *path; /* of the directory, for messages */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	struct pending *queue;
	size_t count, cap;
	struct hook_counts counts;
	uint64_t until_ns; /* boot time; new events are tried until then; 0: no end */
	bool stop, failing;
	int64_t last_us; /* the number of the last event */
};

/* ---- events --------------------------------------------------------------------------------- */

/* Makes the text of an event; a detail that is too large is left out. */
static void event_text(enum hook_event event, const struct value *detail, struct strbuf *out)
{
	for (bool whole = true;; whole = false) {
		_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
		_cleanup_strbuf_ struct strbuf time = STRBUF_INIT;

		text_add_time(&time, clock_realtime_us(), false);
		json_begin_object(&j, NULL);
		json_str(&j, "event", hook_event_names[event]);
		json_str(&j, "time", time.buf);
		for (size_t i = 0; i < value_pairs(detail); i++) {
			const struct value *key = value_key(detail, i);

			if (whole || value_at(detail, i)->kind == VALUE_INT)
				value_to_json(value_at(detail, i), &j, key->str.data);
		}
		if (!whole)
			json_bool(&j, "truncated", true);
		json_end_object(&j);
		if (whole && j.out.len > EVENT_MAX)
			continue;
		strbuf_add(out, j.out.buf, j.out.len);
		return;
	}
}

static void add_pending(struct hook *h, char *name, char *text)
{
	GROW(h->queue, h->count, h->cap);
	h->queue[h->count++] = (struct pending){.name = name, .text = text};
	h->counts.pending = h->count;
}

/* The directory keeps the order; names of one daemon never repeat. */
static char *make_name(struct hook *h)
{
	int64_t now = clock_realtime_us();

	h->last_us = now > h->last_us ? now : h->last_us + 1;
	return xasprintf("%020lld" SUFFIX, (long long)h->last_us);
}

/* ---- dead letters --------------------------------------------------------------------------- */

static int bury(struct hook *h, const char *text, unsigned tries, const char *reason)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf time = STRBUF_INIT;
	struct stat st;

	text_add_time(&time, clock_realtime_us(), false);
	json_begin_object(&j, NULL);
	json_str(&j, "time", time.buf);
	json_str(&j, "reason", reason);
	json_u64(&j, "tries", tries);
	json_raw(&j, "event", text, strlen(text));
	json_end_object(&j);
	strbuf_addch(&j.out, '\n');
	if (fstatat(h->dir, DEAD_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size > DEAD_MAX)
		(void)renameat(h->dir, DEAD_FILE, h->dir, DEAD_OLD);
	_cleanup_close_ int fd = openat(
		h->dir, DEAD_FILE, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	return fs_write_once(fd, j.out.buf, j.out.len, -1);
}

/* ---- delivering ----------------------------------------------------------------------------- */

static uint64_t pause_ns(unsigned tries, uint64_t after_s)
{
	uint64_t pause = tries < 10 ? PAUSE_NS << (tries - 1) : PAUSE_MAX_NS;

	pause = pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS;
	return pause > after_s * PAUSE_NS ? pause : after_s * PAUSE_NS;
}

/* Handles the result of a try; the caller has the lock. True: the event is done. */
static bool take_result(struct hook *h, struct pending *p, const char *text, int r,
			uint64_t after_s, const char *why)
{
	p->tries++;
	if (r == 0) {
		if (h->failing)
			log_warn("the hook works again");
		h->failing = false;
		h->counts.delivered++;
		return true;
	}
	if (r == -EAGAIN && p->tries < h->tries) {
		p->due_ns = clock_boottime_ns() + pause_ns(p->tries, after_s);
		if (!h->failing)
			log_warn("the hook failed, events wait: %s", why);
		else
			log_debug("the hook failed again: %s", why);
		h->failing = true;
		return false;
	}
	r = bury(h, text, p->tries, why);
	if (r < 0) {
		log_error("cannot write '%s/" DEAD_FILE "': %s; the event stays", h->path,
			  strerror(-r));
		p->tries = 0;
		p->due_ns = clock_boottime_ns() + PAUSE_MAX_NS;
		return false;
	}
	log_error("the hook failed for good after %u %s: %s; the event is in '%s/" DEAD_FILE "'",
		  p->tries, plural(p->tries, "try", "tries"), why, h->path);
	h->counts.dead++;
	return true;
}

/* The event that is due first; NULL: none. While ending, only new ones. */
static struct pending *next(const struct hook *h)
{
	struct pending *first = NULL;

	for (size_t i = 0; i < h->count; i++)
		if ((!first || h->queue[i].due_ns < first->due_ns) &&
		    (!h->until_ns || !h->queue[i].tries))
			first = &h->queue[i];
	return first;
}

static void remove_pending(struct hook *h, size_t i)
{
	(void)unlinkat(h->dir, h->queue[i].name, 0);
	free(h->queue[i].name);
	free(h->queue[i].text);
	memmove(&h->queue[i], &h->queue[i + 1], (--h->count - i) * sizeof(*h->queue));
	h->counts.pending = h->count;
}

/* One try of one event; called and returns with the lock, which others take meanwhile. */
static void try_event(struct hook *h, struct pending *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	size_t i = (size_t)(p - h->queue); /* events are added behind it, and removed only here */
	uint64_t after_s = 0;
	int r = 0;

	if (p->text)
		strbuf_addstr(&text, p->text);
	else
		r = fs_read(h->dir, p->name, 2 * EVENT_MAX, &text);
	pthread_mutex_unlock(&h->lock);
	if (r == 0)
		r = hook_target_deliver(&h->target, text.buf, &after_s, &why);
	else
		r = -ENOENT; /* somebody removed it */
	pthread_mutex_lock(&h->lock);
	if (r == -ENOENT || take_result(h, &h->queue[i], text.buf, r, after_s, why.buf))
		remove_pending(h, i);
}

static void wait_for_change(struct hook *h, uint64_t until_ns)
{
	struct timespec t = {(time_t)(until_ns / PAUSE_NS), (long)(until_ns % PAUSE_NS)};

	if (until_ns)
		(void)pthread_cond_clockwait(&h->changed, &h->lock, CLOCK_MONOTONIC, &t);
	else
		(void)pthread_cond_wait(&h->changed, &h->lock);
}

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * PAUSE_NS + (uint64_t)t.tv_nsec;
}

static void *work(void *user)
{
	struct hook *h = user;

	pthread_mutex_lock(&h->lock);
	while (!h->stop) {
		struct pending *p = next(h);
		uint64_t now = clock_boottime_ns();

		if (h->until_ns && (!p || now >= h->until_ns))
			break;
		if (p && p->due_ns <= now)
			try_event(h, p);
		else
			wait_for_change(h, p ? monotonic_ns() + (p->due_ns - now) : 0);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static int take_events(struct hook *h, const struct config *c, struct strbuf *why)
{
	for (const char *p = config_get(c, SETTING_HOOK_ON); *p; p += strspn(p, ", ")) {
		size_t n = strcspn(p, ", "), i = 0;

		while (i < HOOK_EVENTS_END &&
		       (strncmp(hook_event_names[i], p, n) != 0 || hook_event_names[i][n]))
			i++;
		if (n && i == HOOK_EVENTS_END)
			return config_bad_value(c, SETTING_HOOK_ON,
						"some of submitted, failed, outlier", why);
		if (n)
			h->wanted[i] = true;
		p += n;
	}
	return 0;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct pending *)a)->name, ((const struct pending *)b)->name);
}

/* Events of an earlier daemon. */
static int find_pending(struct hook *h, struct strbuf *why)
{
	_cleanup_list_ DIR *d = fs_open_list(h->dir, ".");
	const struct dirent *e;

	if (!d)
		return strbuf_fail(why, -errno, "cannot read '%s': %s", h->path, strerror(errno));
	while ((e = readdir(d)) && h->count < PENDING_MAX)
		if (str_suffix(e->d_name, SUFFIX) && strspn(e->d_name, "0123456789") == 20)
			add_pending(h, xstrdup(e->d_name), NULL);
	if (h->count)
		qsort(h->queue, h->count, sizeof(*h->queue), by_name);
	return 0;
}

static int open_place(struct hook *h, const struct config *c, int dirfd, const char *name,
		      struct strbuf *why)
{
	_cleanup_free_ char *dir = config_path(c, SETTING_HOOK_DIR);

	h->dir = *dir ? fs_open_named(dir, true, why) : fs_open_subdir(dirfd, name, true, why);
	if (h->dir < 0)
		return h->dir;
	h->path = fs_path_of(h->dir);
	/* two would deliver each other's events; filesystems without locks are trusted */
	if (flock(h->dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return strbuf_fail(why, -EBUSY,
				   "another daemon uses '%s' for its hook; set hook_dir to another "
				   "directory",
				   h->path);
	return find_pending(h, why);
}

static int read_settings(struct hook *h, const struct config *c, uint64_t *ret_timeout_ns,
			 struct strbuf *why)
{
	const char *timeout = config_get(c, SETTING_HOOK_TIMEOUT);
	const char *tries = config_get(c, SETTING_HOOK_TRIES);

	if (parse_duration_ns(timeout, ret_timeout_ns) < 0 || *ret_timeout_ns < 10000000 ||
	    *ret_timeout_ns > 600 * PAUSE_NS)
		return config_bad_value(c, SETTING_HOOK_TIMEOUT, "a duration of 10ms to 10m", why);
	if (parse_u64(tries, &h->tries) < 0 || !h->tries || h->tries > 1000)
		return config_bad_value(c, SETTING_HOOK_TRIES, "a number from 1 to 1000", why);
	return take_events(h, c, why);
}

static void free_hook(struct hook *h)
{
	hook_target_close(&h->target);
	for (size_t i = 0; i < h->count; i++) {
		free(h->queue[i].name);
		free(h->queue[i].text);
	}
	free(h->queue);
	close_fd(&h->dir);
	free(h->path);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->changed);
	free(h);
}

int hook_open(struct hook **ret, const struct config *c, int dirfd, const char *name,
	      struct strbuf *why)
{
	const char *address = config_get(c, SETTING_HOOK);
	uint64_t timeout_ns = 0;

	*ret = NULL;
	if (!*address)
		return 0;
	struct hook *h = xcalloc(1, sizeof(*h));
	h->dir = -1;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	int r = read_settings(h, c, &timeout_ns, why);
	if (r == 0)
		r = hook_target_open(&h->target, address, (unsigned)(timeout_ns / 1000000), why);
	if (r == 0)
		r = open_place(h, c, dirfd, name, why);
	if (r == 0 && (r = thread_start(&h->thread, 0, work, h)) < 0)
		strbuf_addf(why, "cannot start a thread: %s", strerror(-r));
	if (r < 0) {
		free_hook(h);
		return r;
	}
	*ret = h;
	return 0;
}

bool hook_wants(const struct hook *h, enum hook_event event)
{
	return h && h->wanted[event];
}

void hook_post(struct hook *h, enum hook_event event, const struct value *detail)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (!hook_wants(h, event))
		return;
	event_text(event, detail, &text);
	pthread_mutex_lock(&h->lock);
	char *name = make_name(h);
	bool full = h->count >= PENDING_MAX;
	if (full && bury(h, text.buf, 0, "too many events were waiting") == 0)
		h->counts.dead++;
	pthread_mutex_unlock(&h->lock);
	if (full) {
		log_error("more than %d events wait for the hook; the event is in '%s/" DEAD_FILE
			  "'",
			  PENDING_MAX, h->path);
		free(name);
		return;
	}
	int r = fs_replace(h->dir, name, text.buf, text.len, 0600);
	if (r < 0)
		log_warn(
			"cannot keep an event in '%s': %s; it is lost if the daemon ends before it "
			"is delivered",
			h->path, strerror(-r));
	pthread_mutex_lock(&h->lock);
	add_pending(h, name, r < 0 ? strbuf_take(&text) : NULL);
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
}

void hook_close(struct hook *h, bool drain, struct hook_counts *ret)
{
	*ret = (struct hook_counts){0};
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->stop = !drain;
	h->until_ns = clock_boottime_ns() + (uint64_t)h->target.timeout_ms * 1000000;
	pthread_cond_signal(&h->changed);
	pthread_mutex_unlock(&h->lock);
	(void)pthread_join(h->thread, NULL);
	*ret = h->counts;
	free_hook(h);
}
