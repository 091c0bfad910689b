/*
 * Feed hdf5: files with a group for each job and a table for each source in it. A commit takes a
 * file from one state to the next, with the position of the log, whatever happens in between
 * (tables/hdf5/hdf5_file.h); so entries that come again after a kill are told by their number.
 *
 * A target that ends in .hdf5 is the file; what is rolled over is renamed after the time when it
 * was begun. Any other target is what names begin with: TARGET.<time>.hdf5. A
 * file has its name from the start, since it is whole at any time.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "sinks/hdf5/sink_hdf5.h"

#define SUFFIX ".hdf5"
#define HELD_MAX ((size_t)48 << 20)
#define LEVEL 1
#define FAILURES_MAX 3 /* of the library with one file, before another is begun */
#define NS_PER_S 1000000000u

struct hdf5_feed {
	const struct hdf5_functions *h;
	char *target, *journal;
	bool one_file;
	const struct row_layout *layout;
	int level;
	uint64_t rollover_bytes, rollover_ns;
	char *path; /* of the file */
	struct hdf5_writer *w;
	struct rows rows;
	struct row_mappers *mappers;
	uint64_t committed, have; /* last entries in the file, and with the writer */
	uint64_t owed;            /* a commit of this entry must be done again; 0: none */
	bool anew;                /* another file is wanted */
	unsigned failures;
};

/* ---- files ---------------------------------------------------------------------------------- */

/* The directories of a path, as the store makes its own. */
static int make_directories(const char *path, struct strbuf *why)
{
	_cleanup_free_ char *p = xstrdup(path);

	for (char *slash = strchr(p + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(p, 0755) < 0 && errno != EEXIST) {
			int r = -errno;

			strbuf_addf(why, "cannot make directory '%s': %s", p, strerror(-r));
			return r;
		}
		*slash = '/';
	}
	return 0;
}

/* A name with this time that is not taken; times of others in the same second are moved on. */
static char *name_at(const struct hdf5_feed *f, uint64_t time)
{
	size_t n = strlen(f->target) - (f->one_file ? strlen(SUFFIX) : 0);

	for (;; time++) {
		char *path = xasprintf("%.*s.%llu%s", (int)n, f->target, (unsigned long long)time,
				       SUFFIX);

		if (access(path, F_OK) < 0)
			return path;
		free(path);
	}
}

/* Does a name belong to this target? TARGET.<digits>.hdf5 */
static bool is_mine(const struct hdf5_feed *f, const char *path)
{
	size_t n = strlen(f->target);

	if (f->one_file)
		return !strcmp(path, f->target);
	if (strncmp(path, f->target, n) != 0 || path[n] != '.')
		return false;
	size_t digits = strspn(path + n + 1, "0123456789");
	return digits && !strcmp(path + n + 1 + digits, SUFFIX);
}

static int open_writer(struct hdf5_feed *f, struct strbuf *why)
{
	uint64_t now = (uint64_t)clock_realtime_us() / 1000000;

	if (!f->path)
		f->path = f->one_file ? xstrdup(f->target) : name_at(f, now);
	int r = make_directories(f->path, why);
	if (r < 0)
		return r;
	const struct hdf5_writer_options o = {f->path, f->journal, f->level, now, f->committed};
	r = f->h->create(&o, &f->w, why);
	if (r == -EBUSY)
		r = -EAGAIN;
	if (r < 0)
		return r;
	rows_begin(&f->rows, f->h, f->w, f->layout);
	/* a commit that failed behind its journal has been made up for */
	if (f->h->position(f->w) > f->committed)
		f->committed = f->h->position(f->w);
	if (f->have < f->committed)
		f->have = f->committed;
	return 0;
}

static int close_writer(struct hdf5_feed *f)
{
	rows_end(&f->rows);
	int r = f->h->finish(f->w);
	f->w = NULL;
	return r;
}

/* The file is left as it is; the next one is opened when it is needed. One that did not get to the
 * disk is opened again, and left after the next commit: the journal is about one file. */
static void roll_over(struct hdf5_feed *f, bool rename_it)
{
	uint64_t begin = f->h->begin(f->w);

	if (close_writer(f) < 0)
		return;
	if (f->one_file && rename_it) {
		_cleanup_free_ char *name = name_at(f, begin);

		(void)rename(f->path, name);
	}
	free(f->path);
	f->path = NULL;
	f->anew = false;
}

static bool is_full(const struct hdf5_feed *f)
{
	uint64_t now = (uint64_t)clock_realtime_us() / 1000000, begin = f->h->begin(f->w);

	return (f->rollover_bytes && f->h->size(f->w) >= f->rollover_bytes) ||
	       (f->rollover_ns && now > begin && (now - begin) >= f->rollover_ns / NS_PER_S);
}

/* ---- commits -------------------------------------------------------------------------------- */

/* The file cannot be gone on with as it is open. It is what it was at the last commit, and what
 * came since comes again. If it is the library that cannot, and that does not help, another file is
 * begun and this one put aside. */
static int give_up(struct hdf5_feed *f, int error)
{
	if (f->w)
		(void)close_writer(f);
	f->have = f->committed;
	f->owed = 0;
	if (error == -EBADMSG && ++f->failures >= FAILURES_MAX) {
		if (f->one_file) {
			_cleanup_free_ char *aside =
				xasprintf("%s.damaged.%lld", f->path,
					  (long long)(clock_realtime_us() / 1000000));

			(void)rename(f->path, aside);
		}
		free(f->path);
		f->path = NULL;
		f->failures = 0;
	}
	return -EAGAIN;
}

/* Another file takes what was not committed to this one. */
static int leave(struct hdf5_feed *f, struct strbuf *why)
{
	strbuf_addf(why,
		    "'%s' is not there any more: it was removed, or its filesystem was; goes on "
		    "with the one that is there now, or a new one",
		    f->path);
	(void)give_up(f, -EAGAIN);
	free(f->path);
	f->path = NULL;
	return -EAGAIN;
}

static int commit_to(struct hdf5_feed *f, uint64_t number, struct strbuf *why)
{
	if (f->h->is_gone(f->w))
		return leave(f, why);
	int r = f->h->commit(f->w, number, why);
	/* also while it was written to */
	if (r == 0 && f->h->is_gone(f->w))
		return leave(f, why);
	if (r == -EAGAIN) {
		f->owed = number;
		return r;
	}
	if (r < 0)
		return give_up(f, r);
	f->committed = number;
	f->owed = 0;
	f->failures = 0;
	if (f->anew || is_full(f))
		roll_over(f, !f->anew);
	return 0;
}

/* What is owed first; then there is a file. */
static int ready(struct hdf5_feed *f, struct strbuf *why)
{
	int r = f->owed ? commit_to(f, f->owed, why) : 0;

	if (r < 0 || f->w)
		return r;
	/* it has been open before: whatever is in the way may pass */
	r = open_writer(f, why);
	return r < 0 && r != -EAGAIN ? give_up(f, r) : r;
}

/* ---- the feed ------------------------------------------------------------------------------- */

static void close_hdf5(void *state)
{
	struct hdf5_feed *f = state;

	if (f->w)
		close_writer(f);
	row_mappers_free(f->mappers);
	free(f->target);
	free(f->journal);
	free(f->path);
	free(f);
}

static int open_hdf5(const struct sink_options *o, void **state, uint64_t *position,
		     struct strbuf *why)
{
	const struct hdf5_functions *h = hdf5_module(why);
	struct hdf5_commit last;

	if (!h)
		return -ENOSYS;
	if (!*o->target || strlen(o->target) > PATH_MAX - 64) {
		strbuf_addstr(why, "hdf5 wants the path of a file, or what such paths begin with");
		return -EINVAL;
	}
	struct hdf5_feed *f = xcalloc(1, sizeof(*f));
	f->h = h;
	f->target = xstrdup(o->target);
	f->journal = xstrdup(o->state);
	f->one_file = str_suffix(f->target, SUFFIX);
	f->layout = o->layout;
	f->level = o->level >= 0 ? o->level : LEVEL;
	f->rollover_bytes = o->rollover_bytes;
	f->rollover_ns = o->rollover_ns;
	f->mappers = row_mappers_new();
	int r = h->recover(f->journal, &last, why);
	if (r == 0) {
		f->committed = f->have = last.position;
		if (is_mine(f, last.path) && access(last.path, F_OK) == 0)
			f->path = xstrdup(last.path);
	}
	if (r == 0 || r == -ENOENT)
		r = open_writer(f, why);
	if (r < 0) {
		close_hdf5(f);
		/* somebody who is killed holds the locks until his last commit is done */
		return r == -EBUSY ? -EAGAIN : r;
	}
	*position = f->committed ? f->committed + 1 : 0;
	*state = f;
	return 0;
}

static int add_batch(void *state, uint64_t number, const struct batch_name *name,
		     struct sample_file *from, struct strbuf *why)
{
	struct hdf5_feed *f = state;
	int r = ready(f, why);

	(void)name;
	if (r < 0)
		return r;
	if (number <= f->have) /* comes again, and is there */
		return 0;
	r = rows_add(&f->rows, f->mappers, from, why);
	f->have = number;
	return r < 0 ? r : f->h->held(f->w) >= HELD_MAX;
}

static int commit(void *state, uint64_t number, struct strbuf *why)
{
	struct hdf5_feed *f = state;
	int r = ready(f, why);

	if (r < 0 || f->have <= f->committed)
		return r;
	/* what the writer has is all of it */
	return commit_to(f, f->have > number ? f->have : number, why);
}

static int reopen(void *state, struct strbuf *why)
{
	struct hdf5_feed *f = state;

	if (!f->w)
		return 0;
	f->anew = true;
	if (f->owed || f->have > f->committed)
		return commit(state, f->have, why);
	roll_over(f, false);
	return 0;
}

static int number_again(void *state, uint64_t next, struct strbuf *why)
{
	struct hdf5_feed *f = state;
	int r = ready(f, why);

	if (r == 0)
		r = commit_to(f, next - 1, why);
	if (r == 0)
		f->have = f->committed;
	return r;
}

const struct sink sink_hdf5 = {
	.name = "hdf5",
	.target = "PATH",
	.help = "HDF5 files, a group for each job and a table for each source",
	.open = open_hdf5,
	.batch = add_batch,
	.commit = commit,
	.number_again = number_again,
	.reopen = reopen,
	.close = close_hdf5,
	/* what a commit costs is by the table, and memory is looked after here */
	.commit_entries = UINT_MAX,
};
