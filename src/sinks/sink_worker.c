/* The sinks of a collector and their state; see sink_worker.h. Threads are in
 * sink_worker_thread.c. */
#include "sinks/sink_worker.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/thread.h"
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

	r->o = *o;
	r->dir = dir;
	r->log_end = commit_log_next_number(o->log);
	r->o.pause_ns = o->pause_ns ? o->pause_ns : 100000000;
	r->o.pause_max_ns = o->pause_max_ns ? o->pause_max_ns : 30000000000;
	pthread_mutex_init(&r->trim_lock, NULL);
	pthread_mutex_init(&r->wake_lock, NULL);
	thread_cond_init(&r->wake);
	*ret = r;
	return 0;
}

/* ---- sinks ---------------------------------------------------------------------------------- */

/* The kind, and a hash of the target, so that two sinks of a kind have separate directories. */
char *sink_workers_directory(const struct sink *sink, const char *target)
{
	XXH64_hash_t h = XXH3_64bits(target, strlen(target));

	return xasprintf("%s-%016llx", sink->name, (unsigned long long)h);
}

/* The content of a note: one line "position N at TIME of LOG". */
struct note {
	enum { NOTE_MISSING, NOTE_OURS, NOTE_OTHERS, NOTE_DAMAGED } what;
	unsigned long long position;
	long long us;
};

/* A line without its end was cut off and may name a wrong log. Position 0 means that the sink was
 * closed before any entry came; for another log that proves nothing. */
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
	_cleanup_list_ DIR *d = fs_open_list(dir, ".");
	bool ret = d != NULL;

	for (struct dirent *e; d && ret && (e = readdir(d));)
		ret = *e->d_name == '.';
	return ret;
}

/*
 * State about another log means nothing for this one and is removed. A damaged note proves nothing:
 * then the state stays, and the sink is asked for its position.
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
		return strbuf_fail(why, e, "cannot read '%s/%s/" NOTE_FILE "': %s", r->o.dir, name,
				   strerror(-e));
	}
	if (note->what == NOTE_MISSING && !is_empty(dir))
		note->what = NOTE_DAMAGED;
	if (note->what != NOTE_OTHERS)
		return dir;
	close(dir);
	e = fs_remove_tree(r->dir, name);
	if (e < 0)
		return strbuf_fail(why, e, "cannot remove '%s/%s', the state of another log: %s",
				   r->o.dir, name, strerror(-e));
	*note = (struct note){.what = NOTE_MISSING};
	return fs_open_subdir(r->dir, name, true, why);
}

/* A wall clock time, which may be before this boot, as boot time. 0: now. */
static int64_t boot_time_of(int64_t us)
{
	int64_t ago_us = us ? clock_realtime_us() - us : 0;

	return (int64_t)clock_boottime_ns() - (ago_us > 0 ? ago_us * 1000 : 0);
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static void free_worker(struct sink_worker *w)
{
	close_fd(&w->dir);
	free((char *)w->options.target);
	free((char *)w->options.state);
	free((char *)w->options.user_file);
	free((char *)w->options.prefix);
	free(w->name);
	free(w->shown);
	strbuf_release(&w->why);
	strbuf_release(&w->refused);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

int sink_workers_add(struct sink_workers *r, const struct sink *sink, const struct sink_options *o,
		     const char *shown, struct strbuf *why)
{
	_cleanup_free_ char *name = sink_workers_directory(sink, o->target);

	if (r->count == SINK_WORKERS_MAX)
		return strbuf_fail(why, -E2BIG, "at most %d sinks are possible", SINK_WORKERS_MAX);
	for (size_t i = 0; i < r->count; i++)
		if (!strcmp(r->sinks[i]->name, name))
			return strbuf_fail(why, -EEXIST, "sink %s is given twice", shown);
	struct note note;
	int dir = open_directory(r, name, &note, why);
	if (dir < 0)
		return dir;
	struct sink_worker *w = xcalloc(1, sizeof(*w));
	*w = (struct sink_worker){.workers = r,
				  .sink = sink,
				  .options = *o,
				  .name = xstrdup(name),
				  .shown = xstrdup(shown),
				  .dir = dir,
				  .note_lost = note.what == NOTE_DAMAGED,
				  .why = STRBUF_INIT,
				  .refused = STRBUF_INIT};
	w->options.target = copy(o->target);
	w->options.user_file = copy(o->user_file);
	w->options.prefix = copy(o->prefix);
	w->options.state = xasprintf("%s/%s", r->o.dir, name);
	w->options.log = commit_log_id(r->o.log);
	w->options.refused = sink_workers_refused;
	w->options.refused_user = w;
	pthread_mutex_init(&w->lock, NULL);
	w->shared = (struct sink_workers_state){.sink = sink->name,
						.shown = w->shown,
						.position = note.position,
						.behind_since_ns = boot_time_of(note.us)};
	w->shared.aside = sink_workers_kept_aside(w);
	w->seed = XXH3_64bits(name, strlen(name)) ^ (uint64_t)clock_realtime_us();
	r->sinks[r->count++] = w;
	return 0;
}

int sink_workers_start(struct sink_workers *r, struct strbuf *why)
{
	for (size_t i = 0; i < r->count; i++) {
		struct sink_worker *w = r->sinks[i];
		int e = thread_start(&w->thread, 0, sink_workers_work, w);

		if (e < 0)
			return strbuf_fail(why, e, "cannot create a thread: %s", strerror(-e));
		w->started = true;
	}
	return 0;
}

void sink_workers_reopen(struct sink_workers *r)
{
	for (size_t i = 0; i < r->count; i++)
		atomic_store(&r->sinks[i]->reopen, true);
}

/* ---- the end -------------------------------------------------------------------------------- */

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
		struct sink_worker *w = r->sinks[i];

		if (!w->started || w->joined)
			continue;
		w->joined = pthread_clockjoin_np(w->thread, NULL, CLOCK_MONOTONIC, &until) == 0;
		all = all && w->joined;
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
		free_worker(r->sinks[i]);
	close_fd(&r->dir);
	pthread_mutex_destroy(&r->trim_lock);
	pthread_mutex_destroy(&r->wake_lock);
	pthread_cond_destroy(&r->wake);
	free(r);
}

/* ---- for others ----------------------------------------------------------------------------- */

size_t sink_workers_count(const struct sink_workers *r)
{
	return r->count;
}

void sink_workers_state(struct sink_workers *r, size_t i, struct sink_workers_state *ret)
{
	struct sink_worker *w = r->sinks[i];
	uint64_t end = commit_log_next_number(r->o.log), first = commit_log_first(r->o.log);

	pthread_mutex_lock(&w->lock);
	*ret = w->shared;
	pthread_mutex_unlock(&w->lock);
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
		struct sink_worker *w = r->sinks[i];

		pthread_mutex_lock(&w->lock);
		least = w->shared.position < least ? w->shared.position : least;
		pthread_mutex_unlock(&w->lock);
	}
	if (r->count && r->o.trim && least > commit_log_first(r->o.log))
		r->o.trim(r->o.user, least);
	pthread_mutex_unlock(&r->trim_lock);
}
