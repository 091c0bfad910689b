/*
 * plimsoll collect --resend: sends entries that sinks refused to them once more. The log in which
 * they were set aside is delivered like that of a collector, under its own id: so nothing is stored
 * twice when this is interrupted and repeated, and what is refused again is set aside again.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "collector/collector.h"
#include "core/files/fs.h"
#include "core/value.h"
#include "sinks/sink_worker.h"

#define STATUS_MAX ((size_t)1 << 20)
#define LOOK_US 20000
#define STOP_NS 10000000000ull

struct resending {
	const struct sink *sink;
	char *target, *shown;
	char *base; /* the sink's directory */
	char *name; /* of the directory of its state */
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

/* Files of the collector's sink are left alone, since it remembers how far they got: new ones are
 * made. */
static char *target_of(const char *kind, const char *target)
{
	size_t n = strlen(target);

	if (!strcmp(kind, "hdf5"))
		return xasprintf("%.*s-resent", (int)(str_suffix(target, ".hdf5") ? n - 5 : n),
				 target);
	if (strcmp(kind, "csv") != 0 && strcmp(kind, "jsonl") != 0)
		return xstrdup(target);
	const char *dot = strrchr(target, '.'), *slash = strrchr(target, '/');
	size_t stem = dot && dot > (slash ? slash + 1 : target) ? (size_t)(dot - target) : n;
	return xasprintf("%.*s-resent%s", (int)stem, target, target + stem);
}

static void prepare(struct resending *s, const char *dir, const char *sink)
{
	const char *colon = strchr(sink, ':');
	_cleanup_free_ char *kind = xstrndup(sink, (size_t)(colon - sink));

	s->sink = sink_find(kind);
	_cleanup_free_ char *own = sink_workers_directory(s->sink, colon + 1);
	s->target = target_of(kind, colon + 1);
	_cleanup_free_ char *target = xasprintf("%s:%s", kind, s->target);
	s->shown = sink_shown(target);
	s->base = xasprintf("%s/sinks/%s", dir, own);
	s->name = sink_workers_directory(s->sink, s->target);
	s->left = xasprintf("%s/left-out", s->base);
	s->log = xasprintf("%s/resend", s->base);
	s->state = xasprintf("%s/resend.state", s->base);
}

static void on_trim(void *user, uint64_t number)
{
	commit_log_trim(user, number);
}

static void say(void *user, enum log_level level, const char *sink, const char *text)
{
	(void)user;
	if (level <= LOG_WARN)
		log_warn("%s: %s", sink, text);
	else
		log_info("%s: %s", sink, text);
}

/* Delivers until the sink has everything, or fails. */
static int play(const struct resending *s, const struct collect_options *o, struct commit_log *log,
		struct sink_workers_state *ret, struct strbuf *why)
{
	const struct sink_workers_options ro = {.log = log,
						.dir = s->state,
						.commit_ns = o->commit_ns,
						.trim = on_trim,
						.say = say,
						.user = log};
	struct sink_options fo = o->feed;
	struct sink_workers *r = NULL;
	int e = sink_workers_new(&r, &ro, why);

	fo.target = s->target;
	if (e == 0)
		e = sink_workers_add(r, s->sink, &fo, s->shown, why);
	if (e == 0)
		e = sink_workers_start(r, why);
	while (e == 0) {
		sink_workers_state(r, 0, ret);
		if (ret->phase == SINK_WORKERS_FAILED)
			e = -EINVAL;
		if (e < 0 || (!ret->entries_behind && ret->phase == SINK_WORKERS_RUNNING))
			break;
		usleep(LOOK_US);
	}
	if (e == -EINVAL && !why->len)
		strbuf_addstr(why, ret->reason);
	if (r && !sink_workers_stop(r, 0, STOP_NS))
		return e < 0 ? e : -EIO; /* still in use */
	sink_workers_free(r);
	return e;
}

/* Moves what was refused again back to where it came from; the rest has been sent. */
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

/* ---- what there is to send ---- */

/* An interrupted run has moved it to s->log. */
static bool is_there(const struct resending *s)
{
	return access(s->left, F_OK) == 0 || access(s->log, F_OK) == 0;
}

static bool any_is_there(const struct collect_options *o, const char *dir)
{
	bool any = false;

	for (size_t i = 0; i < o->sink_count && !any; i++) {
		struct resending s = {0};

		prepare(&s, dir, o->sinks[i]);
		any = is_there(&s);
		release(&s);
	}
	return any;
}

/* The sink of a directory, from the status of the last collector; NULL: unknown. */
static const char *sink_of(const struct value *status, const char *name)
{
	const struct value *list = value_get(status, "sinks");

	for (size_t i = 0; list && list->kind == VALUE_LIST && i < list->list.count; i++) {
		const char *sink = value_get_str(list->list.items[i], "sink");
		const char *colon = sink ? strchr(sink, ':') : NULL;
		_cleanup_free_ char *kind = colon ? xstrndup(sink, (size_t)(colon - sink)) : NULL;
		const struct sink *s = kind ? sink_find(kind) : NULL;
		_cleanup_free_ char *own = s ? sink_workers_directory(s, colon + 1) : NULL;

		if (own && !strcmp(own, name))
			return sink;
	}
	return NULL;
}

/* Adds the names of sinks with entries set aside, separated by commas. */
static void add_sinks(int dirfd, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_value_ struct value *status = NULL;
	int fd = openat(dirfd, "sinks", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_list_ DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (fs_read(dirfd, "status.json", STATUS_MAX, &text) == 0)
		(void)value_from_json(text.buf, text.len, &status, &why);
	for (struct dirent *e; d && (e = readdir(d));) {
		_cleanup_free_ char *left = xasprintf("%s/left-out", e->d_name);
		_cleanup_free_ char *begun = xasprintf("%s/resend", e->d_name);
		const char *sink = status ? sink_of(status, e->d_name) : NULL;

		if (e->d_name[0] == '.' ||
		    (faccessat(fd, left, F_OK, 0) < 0 && faccessat(fd, begun, F_OK, 0) < 0))
			continue;
		strbuf_addf(out, "%s%s%s", out->len ? ", " : "", sink ? "" : "that of sinks/",
			    sink ? sink : e->d_name);
	}
}

/* A sink must be named as for the collector. */
static void say_nothing_is_there(const struct collect_options *o, int dirfd, const char *dir)
{
	_cleanup_strbuf_ struct strbuf there = STRBUF_INIT, asked = STRBUF_INIT;

	add_sinks(dirfd, &there);
	for (size_t i = 0; i < o->sink_count; i++) {
		_cleanup_free_ char *shown = sink_shown(o->sinks[i]);

		strbuf_addf(&asked, "%s%s", i ? ", " : "", shown);
	}
	if (there.len)
		log_error(
			"no entries of %s are kept aside in '%s', but of %s: name the --sink as for "
			"the collector",
			asked.buf, dir, there.buf);
	else
		log_error("no entries are kept aside in '%s' for any sink", dir);
}

/* The number of entries left out again, or a negative errno. */
static int resend_to(const struct resending *s, const struct collect_options *o, struct strbuf *why)
{
	const struct commit_log_options lo = {.dir = s->log};
	struct sink_workers_state state = {0};
	struct commit_log *log = NULL;

	/* an interrupted run comes first */
	if (access(s->log, F_OK) < 0 && rename(s->left, s->log) < 0)
		return -errno;
	int r = commit_log_open(&log, &lo, why);
	if (r == 0)
		r = play(s, o, log, &state, why);
	commit_log_close(log);
	if (r == 0)
		r = tidy(s, why);
	if (r < 0)
		return r;
	printf("%s: %llu sent again, %llu left out again\n", s->shown,
	       (unsigned long long)state.committed, (unsigned long long)state.skipped);
	return state.skipped > INT_MAX ? INT_MAX : (int)state.skipped;
}

static int resend_one(const struct collect_options *o, const char *dir, const char *sink)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct resending s = {0};
	int r = 0;

	prepare(&s, dir, sink);
	if (is_there(&s))
		r = resend_to(&s, o, &why);
	else
		printf("%s: no entries are kept aside\n", s.shown);
	if (r < 0)
		log_error("%s: %s", s.shown, why.len ? why.buf : strerror(-r));
	release(&s);
	return r ? EXIT_FAILED : EXIT_OK;
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
			  lock == -EBUSY ? "a collector uses it: stop it, resend, and start it "
					   "again"
					 : strerror(-lock));
		return EXIT_FAILED;
	}
	if (!any_is_there(o, dir)) {
		say_nothing_is_there(o, dirfd, dir);
		return EXIT_FAILED;
	}
	for (size_t i = 0; i < o->sink_count; i++)
		if (resend_one(o, dir, o->sinks[i]) != EXIT_OK)
			status = EXIT_FAILED;
	return status;
}
