/*
 * plimsoll collect --resend: what sinks refused goes to them once more. The log that it was kept
 * aside in is played like a collector's, under its own id: so nothing is there twice when this is
 * broken off and begun again, and what is refused again is kept aside again.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "cmd/collect.h"
#include "core/fs.h"
#include "sinks/replay.h"

#define LOOK_US 20000
#define STOP_NS 10000000000ull

struct resending {
	const struct feed *feed;
	char *target, *shown;
	char *base; /* the sink's directory */
	char *name; /* of what is remembered meanwhile */
	char *left, *log, *state;
};

static void release(struct resending *s)
{
	free(s->target);
	free(s->shown);
	free(s->base);
	free(s->name);
	free(s->left);
	free(s->log);
	free(s->state);
}

/* A file of HDF5's has the journal of the collector's sink, and is left alone: others are made. */
static char *target_of(const char *kind, const char *target)
{
	size_t n = strlen(target);

	if (strcmp(kind, "hdf5") != 0)
		return xstrdup(target);
	return xasprintf("%.*s-resent", (int)(str_suffix(target, ".hdf5") ? n - 5 : n), target);
}

static void prepare(struct resending *s, const char *dir, const char *sink)
{
	const char *colon = strchr(sink, ':');
	_cleanup_free_ char *kind = xstrndup(sink, (size_t)(colon - sink));

	s->feed = feed_find(kind);
	_cleanup_free_ char *own = replay_directory(s->feed, colon + 1);
	s->target = target_of(kind, colon + 1);
	_cleanup_free_ char *target = xasprintf("%s:%s", kind, s->target);
	s->shown = feed_shown(target);
	s->base = xasprintf("%s/sinks/%s", dir, own);
	s->name = replay_directory(s->feed, s->target);
	s->left = xasprintf("%s/left-out", s->base);
	s->log = xasprintf("%s/resend", s->base);
	s->state = xasprintf("%s/resend.state", s->base);
}

static void on_trim(void *user, uint64_t number)
{
	batchlog_trim(user, number);
}

static void say(void *user, enum log_level level, const char *feed, const char *text)
{
	(void)user;
	if (level <= LOG_WARN)
		log_warn("%s: %s", feed, text);
	else
		log_info("%s: %s", feed, text);
}

/* Until the sink has all of it, or will never. */
static int play(const struct resending *s, const struct collect_options *o, struct batchlog *log,
		struct replay_state *ret, struct strbuf *why)
{
	const struct replay_options ro = {.log = log,
					  .dir = s->state,
					  .commit_ns = o->commit_ns,
					  .trim = on_trim,
					  .say = say,
					  .user = log};
	struct feed_options fo = o->feed;
	struct replay *r = NULL;
	int e = replay_new(&r, &ro, why);

	fo.target = s->target;
	if (e == 0)
		e = replay_add(r, s->feed, &fo, s->shown, why);
	if (e == 0)
		e = replay_start(r, why);
	while (e == 0) {
		replay_state(r, 0, ret);
		if (ret->phase == REPLAY_FAILED)
			e = -EINVAL;
		if (e < 0 || (!ret->entries_behind && ret->phase == REPLAY_RUNNING))
			break;
		usleep(LOOK_US);
	}
	if (e == -EINVAL && !why->len)
		strbuf_addstr(why, ret->reason);
	if (r && !replay_stop(r, 0, STOP_NS))
		return e < 0 ? e : -EIO; /* it is in use still */
	replay_free(r);
	return e;
}

/* What was refused again goes back to where it came from; the rest has been sent. */
static int tidy(const struct resending *s, struct strbuf *why)
{
	_cleanup_free_ char *again = xasprintf("%s/%s/left-out", s->state, s->name);
	int r = rename(again, s->left) < 0 && errno != ENOENT ? -errno : 0;
	_cleanup_close_ int fd = fs_open_named(s->base, false, why);

	if (r == 0 && fd >= 0)
		r = fs_sync_dir(fd);
	if (r == 0 && fd >= 0)
		r = fs_remove_tree(fd, "resend");
	if (r == 0 && fd >= 0)
		r = fs_remove_tree(fd, "resend.state");
	return fd < 0 ? fd : r;
}

/* The number that was left out again, or negative. */
static int resend_to(const struct resending *s, const struct collect_options *o, struct strbuf *why)
{
	const struct batchlog_options lo = {.dir = s->log};
	struct replay_state state = {0};
	struct batchlog *log = NULL;

	/* one that was broken off comes first */
	if (access(s->log, F_OK) < 0 && rename(s->left, s->log) < 0)
		return errno == ENOENT ? 0 : -errno;
	int r = batchlog_open(&log, &lo, why);
	if (r == 0)
		r = play(s, o, log, &state, why);
	batchlog_close(log);
	if (r == 0)
		r = tidy(s, why);
	if (r < 0)
		return r;
	printf("%s: %llu sent again, %llu left out again\n", s->shown,
	       (unsigned long long)state.committed, (unsigned long long)state.skipped);
	return state.skipped > INT_MAX ? INT_MAX : (int)state.skipped;
}

int collect_resend(const struct collect_options *o, const char *dir)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_close_ int dirfd = fs_open_named(dir, false, &why), lock = -1;
	int status = EXIT_OK;

	if (dirfd < 0) {
		log_error("%s", why.buf);
		return EXIT_FAILED;
	}
	lock = collect_lock(dirfd, false);
	if (lock < 0) {
		log_error("'%s': %s", dir,
			  lock == -EBUSY ? "a collector is running with it: stop it, send again, "
					   "and start it"
					 : strerror(-lock));
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < o->sink_count; i++) {
		struct resending s = {0};

		strbuf_reset(&why);
		prepare(&s, dir, o->sinks[i]);
		int r = resend_to(&s, o, &why);
		if (r < 0)
			log_error("%s: %s", s.shown, why.len ? why.buf : strerror(-r));
		if (r)
			status = EXIT_FAILED;
		release(&s);
	}
	return status;
}
