/* Feeds of a collector and what others see of them; see sink_worker.h. The threads are in
 * sink_worker_thread.c.
 */
#include "sinks/sink_worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "sinks/sink_worker_internal.h"

static const char *const phases[] = {[SINK_WORKERS_OPENING] = "opening",
				     [SINK_WORKERS_RUNNING] = "running",
				     [SINK_WORKERS_PAUSING] = "pausing",
				     [SINK_WORKERS_FAILED] = "failed",
				     [SINK_WORKERS_ENDED] = "ended"};

const char *sink_workers_phase_name(enum sink_workers_phase phase)
{
	return phases[phase];
}

int sink_workers_new(struct sink_workers **ret, const struct sink_workers_options *o,
		     struct strbuf *why)
{
	int dir = fs_open_named(o->dir, true, why);

	if (dir < 0)
		return dir;
	struct sink_workers *r = xcalloc(1, sizeof(*r));
	pthread_condattr_t attr;

	r->o = *o;
	r->dir = dir;
	r->log_end = commit_log_next_number(o->log);
	r->o.pause_ns = o->pause_ns ? o->pause_ns : 100000000;
	r->o.pause_max_ns = o->pause_max_ns ? o->pause_max_ns : 30000000000;
	pthread_mutex_init(&r->trim_lock, NULL);
	pthread_mutex_init(&r->wake_lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &attr);
	pthread_condattr_destroy(&attr);
	*ret = r;
	return 0;
}

/* ---- feeds ------------------------------------------------------------------------------------
 */

/* The kind for people, and a hash of the target: two feeds of a kind have directories of their own.
 */
char *sink_workers_directory(const struct sink *feed, const char *target)
{
	XXH64_hash_t h = XXH3_64bits(target, strlen(target));

	return xasprintf("%s-%016llx", feed->name, (unsigned long long)h);
}

/* What a note says: "position N at TIME of LOG", a line. */
struct note {
	enum { NOTE_MISSING, NOTE_OURS, NOTE_OTHERS, NOTE_DAMAGED } what;
	unsigned long long position;
	long long us;
};

/* A line that does not end was cut off: what it says of the log is not to be believed. Position 0:
 * the sink was closed before anything came; of another log that proves nothing. */
static int read_note(const struct sink_workers *r, int dir, struct note *ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	unsigned long long id = 0;
	int end = 0, e = fs_read(dir, NOTE_FILE, 256, &text);

	*ret = (struct note){.what = NOTE_MISSING};
	if (e == -ENOENT)
		return 0;
	if (e < 0 && e != -EFBIG && e != -EINVAL)
		return e;
	bool whole = e == 0 &&
		     sscanf(text.buf, "position %llu at %lld of %llx%n", &ret->position, &ret->us,
			    &id, &end) == 3 &&
		     (size_t)end + 1 == text.len && text.buf[end] == '\n';
	bool ours = whole && id == commit_log_id(r->o.log);
	if (!whole || (!ours && !ret->position))
		*ret = (struct note){.what = NOTE_DAMAGED};
	else
		ret->what = ours ? NOTE_OURS : NOTE_OTHERS;
	return 0;
}

static bool is_empty(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	bool ret = d != NULL;

	for (struct dirent *e; d && ret && (e = readdir(d));)
		ret = *e->d_name == '.';
	if (d)
		closedir(d);
	return ret;
}

/*
 * What is remembered about another log means nothing for this one, and goes. A note that cannot be
 * understood proves nothing: then all that the sink keeps stays, and the sink is asked.
 */
static int open_directory(struct sink_workers *r, const char *name, struct note *note,
			  struct strbuf *why)
{
	int dir = fs_open_subdir(r->dir, name, true, why);

	if (dir < 0)
		return dir;
	int e = read_note(r, dir, note);
	if (e < 0) {
		close(dir);
		strbuf_addf(why, "cannot read '%s/%s/" NOTE_FILE "': %s", r->o.dir, name,
			    strerror(-e));
		return e;
	}
	if (note->what == NOTE_MISSING && !is_empty(dir))
		note->what = NOTE_DAMAGED;
	if (note->what != NOTE_OTHERS)
		return dir;
	close(dir);
	e = fs_remove_tree(r->dir, name);
	if (e < 0) {
		strbuf_addf(why, "cannot remove '%s/%s', which is about another log: %s", r->o.dir,
			    name, strerror(-e));
		return e;
	}
	*note = (struct note){.what = NOTE_MISSING};
	return fs_open_subdir(r->dir, name, true, why);
}

/* A moment of the wall clock, which may lie before this boot, as it looks now. 0: now. */
static int64_t boot_time_of(int64_t us)
{
	int64_t ago_us = us ? clock_realtime_us() - us : 0;

	return (int64_t)clock_boottime_ns() - (ago_us > 0 ? ago_us * 1000 : 0);
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static void free_feed(struct sink_worker *f)
{
	close_fd(&f->dir);
	free((char *)f->options.target);
	free((char *)f->options.state);
	free((char *)f->options.user_file);
	free((char *)f->options.prefix);
	free(f->name);
	free(f->shown);
	strbuf_release(&f->why);
	strbuf_release(&f->refused);
	pthread_mutex_destroy(&f->lock);
	free(f);
}

int sink_workers_add(struct sink_workers *r, const struct sink *feed, const struct sink_options *o,
		     const char *shown, struct strbuf *why)
{
	_cleanup_free_ char *name = sink_workers_directory(feed, o->target);

	if (r->count == SINK_WORKERS_FEEDS_MAX) {
		strbuf_addf(why, "more than %d sinks", SINK_WORKERS_FEEDS_MAX);
		return -E2BIG;
	}
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->sinks[i]->name, name)) {
			strbuf_addf(why, "%s is there twice", shown);
			return -EEXIST;
		}
	struct note note;
	int dir = open_directory(r, name, &note, why);
	if (dir < 0)
		return dir;
	struct sink_worker *f = xcalloc(1, sizeof(*f));
	*f = (struct sink_worker){.replay = r,
				  .feed = feed,
				  .options = *o,
				  .name = xstrdup(name),
				  .shown = xstrdup(shown),
				  .dir = dir,
				  .note_lost = note.what == NOTE_DAMAGED,
				  .why = STRBUF_INIT,
				  .refused = STRBUF_INIT};
	f->options.target = copy(o->target);
	f->options.user_file = copy(o->user_file);
	f->options.prefix = copy(o->prefix);
	f->options.state = xasprintf("%s/%s", r->o.dir, name);
	f->options.log = commit_log_id(r->o.log);
	f->options.refused = sink_workers_refused;
	f->options.refused_user = f;
	pthread_mutex_init(&f->lock, NULL);
	f->shared = (struct sink_workers_state){.feed = feed->name,
						.shown = f->shown,
						.position = note.position,
						.behind_since_ns = boot_time_of(note.us)};
	f->shared.aside = sink_workers_kept_aside(f);
	f->seed = XXH3_64bits(name, strlen(name)) ^ (uint64_t)clock_realtime_us();
	r->sinks[r->count++] = f;
	return 0;
}

int sink_workers_start(struct sink_workers *r, struct strbuf *why)
{
	sigset_t all, before;
	int error = 0;

	/* signals are the main thread's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i < r->count && !error; i++) {
		error = pthread_create(&r->sinks[i]->thread, NULL, sink_workers_work, r->sinks[i]);
		r->sinks[i]->started = !error;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		strbuf_addf(why, "cannot make a thread: %s", strerror(error));
	return -error;
}

void sink_workers_reopen(struct sink_workers *r)
{
	for (size_t i = 0; i < r->count; i++)
		atomic_store(&r->sinks[i]->reopen, true);
}

/* ---- the end ----------------------------------------------------------------------------------
 */

bool sink_workers_stop(struct sink_workers *r, uint64_t drain_ns, uint64_t grace_ns)
{
	const struct timespec until = clock_deadline(drain_ns + grace_ns);
	bool all = true;

	atomic_store(&r->drain_until_ns, clock_boottime_ns() + drain_ns);
	pthread_mutex_lock(&r->wake_lock);
	atomic_store(&r->stop, true);
	pthread_cond_broadcast(&r->wake);
	pthread_mutex_unlock(&r->wake_lock);
	for (size_t i = 0; i < r->count; i++) {
		struct sink_worker *f = r->sinks[i];

		if (!f->started || f->joined)
			continue;
		f->joined = pthread_clockjoin_np(f->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
		all = all && f->joined;
	}
	if (all)
		sink_workers_trim(r);
	return all;
}

void sink_workers_free(struct sink_workers *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		free_feed(r->sinks[i]);
	close_fd(&r->dir);
	pthread_mutex_destroy(&r->trim_lock);
	pthread_mutex_destroy(&r->wake_lock);
	pthread_cond_destroy(&r->wake);
	free(r);
}

/* ---- for others -------------------------------------------------------------------------------
 */

size_t sink_workers_count(const struct sink_workers *r)
{
	return r->count;
}

void sink_workers_state(struct sink_workers *r, size_t i, struct sink_workers_state *ret)
{
	struct sink_worker *f = r->sinks[i];
	uint64_t end = commit_log_next_number(r->o.log), first = commit_log_first(r->o.log);

	pthread_mutex_lock(&f->lock);
	*ret = f->shared;
	pthread_mutex_unlock(&f->lock);
	uint64_t from = ret->position > first ? ret->position : first;
	ret->entries_behind = end > from ? end - from : 0;
	if (!ret->entries_behind)
		ret->behind_since_ns = 0;
}

void sink_workers_trim(struct sink_workers *r)
{
	uint64_t least = UINT64_MAX;

	pthread_mutex_lock(&r->trim_lock);
	for (size_t i = 0; i < r->count; i++) {
		struct sink_worker *f = r->sinks[i];

		pthread_mutex_lock(&f->lock);
		least = f->shared.position < least ? f->shared.position : least;
		pthread_mutex_unlock(&f->lock);
	}
	if (r->count && r->o.trim && least > commit_log_first(r->o.log))
		r->o.trim(r->o.user, least);
	pthread_mutex_unlock(&r->trim_lock);
}
