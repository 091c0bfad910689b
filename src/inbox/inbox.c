/* Storing the inputs of an inbox; see inbox.h. inbox_watch.c finds them. */
#include "inbox/inbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/log.h"
#include "core/text/text.h"
#include "inbox/inbox_claim.h"
#include "store/import/import.h"

#define PAUSE_MIN_NS NS_PER_S
#define PAUSE_MAX_NS (60 * NS_PER_S)
#define DEATHS_MAX 5  /* daemons that one input may crash */
#define STRIKES_MAX 3 /* errors of the store before the input is at fault */
#define REFUSED_MAX 1000
#define REFUSED_NS (3600 * NS_PER_S) /* permissions change without a trace */
#define BUSY_NS (5 * NS_PER_S)

/* ---- begin and end -------------------------------------------------------------------------- */

static int open_store(struct inbox *in, struct strbuf *why)
{
	const char *url = config_get(in->config, SETTING_DB);
	_cleanup_free_ char *own = *url ? NULL : store_default_path();

	if (!*url && !own)
		return strbuf_fail(why, -EINVAL, "no store: set --db, PLIMSOLL_DB or HOME");
	int r = store_open(&in->store, *url ? url : own, STORE_WRITE, why);
	if (r < 0)
		return r;
	if (!strcmp(in->store->where, ":memory:"))
		return strbuf_fail(
			why, -EINVAL,
			"a store in memory would be lost with the daemon; use a file or a server");
	return 0;
}

int inbox_init(struct inbox *in, const struct config *c, const struct inbox_options *o,
	       struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf trouble = STRBUF_INIT;

	*in = (struct inbox){.config = c, .o = *o, .notify = -1, .pause_ns = PAUSE_MIN_NS};
	if (o->dir) {
		_cleanup_close_ int fd = fs_open_named(o->dir, false, why);

		if (fd < 0)
			return fd;
		in->dir = fs_path_of(fd);
		if (!in->dir || claims_clock_ns(in->dir, &in->now_ns, why) < 0)
			return -EACCES;
		in->notify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
		if (in->notify < 0)
			log_warn("inotify is not available: %s; checking at intervals instead",
				 strerror(errno));
	}
	int r = open_store(in, &trouble);
	if (r == -EINVAL || r == -ENOSYS || r == -EPROTO)
		return strbuf_fail(why, r, "%s", trouble.buf);
	if (r < 0)
		inbox_store_failed(in, trouble.buf);
	return 0;
}

void inbox_release(struct inbox *in)
{
	close_fd(&in->notify);
	for (size_t i = 0; i < in->watch_count; i++)
		free(in->watches[i].path);
	for (size_t i = in->queue_next; i < in->queue_count; i++) {
		free(in->queue[i].dir);
		free(in->queue[i].name);
	}
	for (size_t i = 0; i < in->refused_count; i++)
		free(in->refused[i].path);
	free(in->watches);
	free(in->queue);
	free(in->refused);
	free(in->suspect);
	free(in->fresh);
	value_free(in->noted);
	free(in->dir);
	store_close(in->store);
	*in = (struct inbox){.notify = -1};
}

int inbox_fd(const struct inbox *in)
{
	return in->notify;
}

/* ---- queue ---------------------------------------------------------------------------------- */

void inbox_push(struct inbox *in, const char *dir, const char *name, int64_t changed_ns)
{
	const struct inbox_entry *first = in->queue + in->queue_next;

	/* an input that we put back causes an event, and is first in the queue already */
	if (inbox_waiting(in) && !strcmp(first->name, name) && !strcmp(first->dir, dir))
		return;
	GROW(in->queue, in->queue_count, in->queue_cap);
	in->queue[in->queue_count++] =
		(struct inbox_entry){xstrdup(dir), xstrdup(name), changed_ns};
}

static void pop(struct inbox *in)
{
	struct inbox_entry *e = &in->queue[in->queue_next++];

	free(e->dir);
	free(e->name);
	if (in->queue_next == in->queue_count)
		in->queue_next = in->queue_count = 0;
}

size_t inbox_waiting(const struct inbox *in)
{
	return in->queue_count - in->queue_next;
}

uint64_t inbox_due_ns(const struct inbox *in)
{
	return in->trouble && in->retry_ns < in->next_look_ns ? in->retry_ns : in->next_look_ns;
}

/* ---- refused inputs ----------------------------------------------------------------- */

static bool stat_change(const char *path, int64_t *ret)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return false;
	*ret = st.st_ctim.tv_sec * (int64_t)NS_PER_S + st.st_ctim.tv_nsec;
	return true;
}

bool inbox_is_refused(struct inbox *in, const char *path, int64_t changed_ns)
{
	for (size_t i = 0; i < in->refused_count; i++) {
		const struct inbox_refused *r = &in->refused[i];

		if (r->changed_ns != changed_ns || clock_boottime_ns() >= r->until_ns ||
		    strcmp(r->path, path) != 0)
			continue;
		in->unsettled += r->busy;
		return true;
	}
	return false;
}

void inbox_refuse(struct inbox *in, const char *dir, const char *name, const char *why, bool busy)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	uint64_t until = clock_boottime_ns() + (busy ? BUSY_NS : REFUSED_NS);
	size_t i = 0;
	int64_t at;

	while (i < in->refused_count && strcmp(in->refused[i].path, path) != 0)
		i++;
	bool known = i < in->refused_count;
	if (!known || !busy)
		log_warn("ignoring '%s': %s", path, why);
	if (!stat_change(path, &at))
		return;
	if (!known && in->refused_count == REFUSED_MAX) {
		free(in->refused[--i].path);
	} else if (!known) {
		GROW(in->refused, in->refused_count, in->refused_cap);
		in->refused_count++;
	} else {
		free(in->refused[i].path);
	}
	in->refused[i] = (struct inbox_refused){path, at, until, busy};
	path = NULL;
}

/* ---- the store ------------------------------------------------------------------------------ */

void inbox_store_failed(struct inbox *in, const char *why)
{
	if (!in->trouble)
		log_warn("cannot use the store, jobs wait: %s", why);
	else
		log_debug("still cannot use the store: %s", why);
	in->trouble = true;
	in->retry_ns = clock_boottime_ns() + in->pause_ns;
	in->pause_ns = 2 * in->pause_ns < PAUSE_MAX_NS ? 2 * in->pause_ns : PAUSE_MAX_NS;
	store_close(in->store);
	in->store = NULL;
}

static void store_works(struct inbox *in)
{
	if (in->trouble)
		log_warn("the store is usable again");
	in->trouble = false;
	in->pause_ns = PAUSE_MIN_NS;
}

/* Closes a store whose file was removed or replaced: data in the old file would be lost. */
static bool leave_moved(struct inbox *in)
{
	if (!store_moved(in->store))
		return false;
	log_warn("'%s' was removed or replaced; opening it again", in->store->where);
	store_close(in->store);
	in->store = NULL;
	return true;
}

struct store *inbox_store(struct inbox *in)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (in->trouble && clock_boottime_ns() < in->retry_ns)
		return NULL;
	(void)leave_moved(in);
	if (!in->store && open_store(in, &why) < 0) {
		inbox_store_failed(in, why.buf);
		return NULL;
	}
	return in->store;
}

/*
 * Is the store or the machine at fault, not the input? An error message of the store may still be
 * about the data: then the third failure decides.
 */
static bool is_trouble(struct inbox *in, int error, const struct strbuf *why, const char *path)
{
	static const int anyone[] = {EAGAIN, ENOSPC, EDQUOT, ENOMEM, EMFILE, ENFILE, EROFS};
	static const int stores[] = {EPIPE, EACCES, EPERM, EBADMSG, ENOENT};
	const struct strbuf *said = &in->store->error;

	for (size_t i = 0; i < ARRAY_SIZE(anyone); i++)
		if (error == -anyone[i])
			return true;
	if (!said->len || !strstr(why->buf, said->buf))
		return error == -EPIPE;
	for (size_t i = 0; i < ARRAY_SIZE(stores); i++)
		if (error == -stores[i])
			return true;
	if (!in->suspect || strcmp(in->suspect, path) != 0) {
		free(in->suspect);
		in->suspect = xstrdup(path);
		in->strikes = 0;
	}
	return ++in->strikes < STRIKES_MAX;
}

/* ---- one input ------------------------------------------------------------------------------ */

/* Replaces the path of the claim by the original path. */
static void name_original(struct strbuf *text, const struct claim *c)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const char *from = text->buf, *at;

	for (; (at = strstr(from, c->path)); from = at + strlen(c->path)) {
		strbuf_add(&out, from, (size_t)(at - from));
		strbuf_addf(&out, "%s/%s", c->dir, c->name);
	}
	strbuf_addstr(&out, from);
	strbuf_reset(text);
	strbuf_add(text, out.buf, out.len);
}

static void write_reason(int fd, const char *name, const char *sentence)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
	_cleanup_free_ char *file = xasprintf("%s.reason", name);

	text_add_time(&line, clock_realtime_us(), false);
	strbuf_addch(&line, ' ');
	text_add_printable(&line, sentence, strlen(sentence));
	strbuf_addch(&line, '\n');
	int r = fs_replace(fd, file, line.buf, line.len, 0600);
	if (r < 0)
		log_warn("cannot write '%s': %s", file, strerror(-r));
}

/* Moves it to the configured directory, or to failed/ next to it. */
static int move_failed(struct inbox *in, struct claim *c, int *ret_fd, char **ret_name,
		       struct strbuf *why)
{
	_cleanup_free_ char *dir = config_path(in->config, SETTING_FAILED_DIR);

	if (*dir) {
		if (claim_move(c, dir, ret_fd, ret_name, why) == 0)
			return 0;
		log_warn("%s; using '%s/failed'", why->buf, c->dir);
		strbuf_reset(why);
	}
	return claim_move(c, "failed", ret_fd, ret_name, why);
}

static void put_back(struct inbox *in, struct claim *c, const char *why)
{
	int r = claim_back(c);

	if (r < 0)
		log_error("cannot put back '%s': %s", c->path, strerror(-r));
	else if (why)
		inbox_refuse(in, c->dir, c->name, why, false);
}

static void input_failed(struct inbox *in, struct claim *c, const char *reason)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *name = NULL;
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *original = xasprintf("%s/%s", c->dir, c->name);

	in->failed++;
	if (move_failed(in, c, &fd, &name, &why) < 0) {
		log_error("'%s/%s' failed: %s", c->dir, c->name, reason);
		inbox_tell_failed(in, original, reason, NULL);
		put_back(in, c, why.buf);
		return;
	}
	_cleanup_free_ char *to = fs_path_of(fd);
	log_error("'%s/%s' failed: %s; moved to '%s/%s'", c->dir, c->name, reason, to ? to : "",
		  name);
	write_reason(fd, name, reason);
	_cleanup_free_ char *moved = xasprintf("%s/%s", to ? to : "", name);
	inbox_tell_failed(in, original, reason, moved);
}

/* An input with files that are not of a job is kept, because the store does not have them. */
static void input_done(struct inbox *in, struct claim *c, const char *member)
{
	_cleanup_free_ char *foreign = claim_foreign(c);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *name = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	if (foreign || member)
		log_warn(
			"'%s/%s' is stored, but kept in '%s/done': '%s' in it is not a file of a job",
			c->dir, c->name, c->dir, foreign ? foreign : member);
	if (in->o.keep || foreign || member)
		r = claim_move(c, "done", &fd, &name, &why);
	else
		r = claim_remove(c);
	if (r == 0)
		return;
	if (!why.len)
		strbuf_addf(&why, "it is stored, but cannot be removed: %s", strerror(-r));
	put_back(in, c, why.buf);
}

static void tell(const struct import_result *got, uint64_t began_ns)
{
	_cleanup_strbuf_ struct strbuf took = STRBUF_INIT;

	text_add_duration(&took, (double)(clock_boottime_ns() - began_ns) / 1e9);
	log_info("submitted %s: %llu %s in %s", got->jobid, (unsigned long long)got->sums.processes,
		 plural(got->sums.processes, "process", "processes"), took.buf);
}

/* The owner of an input; NULL: root or ourselves, who may submit jobs of all users. */
static char *owner_of(const struct claim *c)
{
	struct stat st;

	if (fstatat(c->fd, c->name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !st.st_uid ||
	    st.st_uid == geteuid())
		return NULL;
	const struct passwd *p = getpwuid(st.st_uid);
	return p ? xstrdup(p->pw_name) : xasprintf("%u", (unsigned)st.st_uid);
}

static void submit(struct inbox *in, struct claim *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *original = xasprintf("%s/%s", c->dir, c->name);
	_cleanup_free_ char *owner = owner_of(c);
	const struct import_options how = {
		.strict = in->o.strict, .owner = owner, .source = original};
	uint64_t began = clock_boottime_ns();
	struct import_result got;

	strbuf_reset(&in->store->error);
	int r = import_submit(in->config, in->store, c->path, &how, &got, &why);
	/* only an input that is completely stored is removed */
	bool there = r == -EEXIST && import_is_stored(in->config, in->store, c->path, &how, &got);
	if (r == -EEXIST && !there && got.jobid)
		strbuf_addf(
			&why,
			", and differs from this one; run `plimsoll delete %s` first to replace it",
			got.jobid);
	name_original(&why, c);
	/* a stored job counts only in the file that has the store's path */
	if ((r == 0 || r == -EEXIST || r == -EAGAIN) && leave_moved(in)) {
		put_back(in, c, NULL);
		import_result_release(&got);
		return;
	}
	if (r < 0 && !there && is_trouble(in, r, &why, original)) {
		put_back(in, c, NULL);
		inbox_store_failed(in, why.buf);
		import_result_release(&got);
		return;
	}
	store_works(in);
	if (r == 0) {
		tell(&got, began);
		inbox_tell_submitted(in, &got, original);
	} else if (there) {
		log_warn("%s, skipped: '%s'", why.buf, original);
	}
	if (r == 0 || there)
		inbox_analyse_later(in, got.job);
	in->ingested += r == 0;
	in->skipped += there;
	if (r == 0 || there)
		input_done(in, c, got.foreign);
	else
		input_failed(in, c, why.len ? why.buf : strerror(-r));
	import_result_release(&got);
	pop(in);
	/* while idle, the file may be moved or copied: it must be complete */
	if (in->store && !inbox_waiting(in))
		(void)store_settle(in->store, 0);
}

static bool too_deadly(struct inbox *in, struct claim *c)
{
	if (c->deaths < DEATHS_MAX)
		return false;
	_cleanup_free_ char *reason = xasprintf(
		"%u daemons crashed while reading it; run `plimsoll submit` to find out why",
		c->deaths);
	input_failed(in, c, reason);
	return true;
}

bool inbox_step(struct inbox *in)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_claim_ struct claim c = CLAIM_INIT;

	if (!in->trouble && !inbox_waiting(in))
		return false;
	if (!inbox_store(in))
		return false;
	if (!inbox_waiting(in)) {
		store_works(in);
		return false;
	}
	const struct inbox_entry *e = &in->queue[in->queue_next];
	_cleanup_free_ char *path = xasprintf("%s/%s", e->dir, e->name);
	inbox_unwatch(in, path);
	int r = claim_take(&c, e->dir, e->name, &why);
	if (r == -EACCES || r == -EPERM || r == -ELOOP || r == -EXDEV || r == -EINVAL)
		inbox_refuse(in, e->dir, e->name, why.len ? why.buf : strerror(-r), false);
	else if (r < 0 && r != -ENOENT && r != -EAGAIN)
		log_warn("'%s' must wait: %s", path, why.len ? why.buf : strerror(-r));
	if (r < 0 || too_deadly(in, &c))
		pop(in);
	else
		submit(in, &c);
	return true;
}
