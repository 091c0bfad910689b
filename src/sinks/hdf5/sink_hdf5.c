/*
 * Sink hdf5: files with a group for each job and in it a table for each source. A commit takes a
 * file from one consistent state to the next, including the position of the log, whatever happens
 * in between (tables/hdf5/hdf5_file.h); entries delivered again are recognised by their number.
 *
 * A target that ends in .hdf5 is the file; a rollover renames it after the time when it was begun.
 * Any other target is a prefix of names: TARGET.<time>.hdf5. A file has its final name from the
 * start, since it is complete at any time.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "sinks/hdf5/sink_hdf5.h"

#define SUFFIX ".hdf5"
#define HELD_MAX ((size_t)48 << 20)
#define LEVEL 1
#define FAILURES_MAX 3 /* failures of the library with one file before a new one is begun */
#define NS_PER_S 1000000000u

struct hdf5_sink {
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
	uint64_t committed, have; /* last entries in the file, and in the writer */
	uint64_t owed;            /* a commit of this entry must be repeated; 0: none */
	bool anew;                /* a new file is requested */
	unsigned failures;
};

/* ---- files ---------------------------------------------------------------------------------- */

/* An unused name with this time; if it is taken, with a later one. */
static char *name_at(const struct hdf5_sink *f, uint64_t time)
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

/* Is it a name of this target: TARGET.<digits>.hdf5? */
static bool is_mine(const struct hdf5_sink *f, const char *path)
{
	size_t n = strlen(f->target);

	if (f->one_file)
		return !strcmp(path, f->target);
	if (strncmp(path, f->target, n) != 0 || path[n] != '.')
		return false;
	size_t digits = strspn(path + n + 1, "0123456789");
	return digits && !strcmp(path + n + 1 + digits, SUFFIX);
}

static int open_writer(struct hdf5_sink *f, struct strbuf *why)
{
	uint64_t now = (uint64_t)clock_realtime_us() / 1000000;

	if (!f->path)
		f->path = f->one_file ? xstrdup(f->target) : name_at(f, now);
	int r = fs_make_parents(f->path, 0755, why);
	if (r < 0)
		return r;
	const struct hdf5_writer_options o = {f->path, f->journal, f->level, now, f->committed};
	r = f->h->create(&o, &f->w, why);
	if (r == -EBUSY)
		r = -EAGAIN;
	if (r < 0)
		return r;
	rows_begin(&f->rows, f->h, f->w, f->layout);
	/* opening it completed a commit that failed after its journal was written */
	if (f->h->position(f->w) > f->committed)
		f->committed = f->h->position(f->w);
	if (f->have < f->committed)
		f->have = f->committed;
	return 0;
}

static int close_writer(struct hdf5_sink *f)
{
	rows_end(&f->rows);
	int r = f->h->finish(f->w);
	f->w = NULL;
	return r;
}

/* Closes the file; the next one is opened when it is needed. A file that could not be synced is
 * opened again and closed after the next commit, because the journal is about one file. */
static void roll_over(struct hdf5_sink *f, bool rename_it)
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

static bool is_full(const struct hdf5_sink *f)
{
	uint64_t now = (uint64_t)clock_realtime_us() / 1000000, begin = f->h->begin(f->w);

	return (f->rollover_bytes && f->h->size(f->w) >= f->rollover_bytes) ||
	       (f->rollover_ns && now > begin && (now - begin) >= f->rollover_ns / NS_PER_S);
}

/* ---- commits -------------------------------------------------------------------------------- */

/* Closes the file after an error. It is as it was at the last commit, and later entries come again.
 * If the library fails repeatedly, the file is put aside and a new one is begun. */
static int give_up(struct hdf5_sink *f, int error)
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

/* The file was removed: what was not committed goes to a new one. */
static int leave(struct hdf5_sink *f, struct strbuf *why)
{
	strbuf_addf(why,
		    "'%s' or its filesystem was removed; continues with the file that is there "
		    "now, or a new one",
		    f->path);
	(void)give_up(f, -EAGAIN);
	free(f->path);
	f->path = NULL;
	return -EAGAIN;
}

static int commit_to(struct hdf5_sink *f, uint64_t number, struct strbuf *why)
{
	if (f->h->is_gone(f->w))
		return leave(f, why);
	int r = f->h->commit(f->w, number, why);
	/* it may also be removed during the commit */
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

/* Repeats a failed commit, and opens a file if there is none. */
static int ready(struct hdf5_sink *f, struct strbuf *why)
{
	int r = f->owed ? commit_to(f, f->owed, why) : 0;

	if (r < 0 || f->w)
		return r;
	/* it was open before, so any error may pass */
	r = open_writer(f, why);
	return r < 0 && r != -EAGAIN ? give_up(f, r) : r;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static void close_hdf5(void *state)
{
	struct hdf5_sink *f = state;

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
	if (!*o->target || strlen(o->target) > PATH_MAX - 64)
		return strbuf_fail(why, -EINVAL,
				   "sink hdf5 needs the path of a file, or a prefix of such paths");
	struct hdf5_sink *f = xcalloc(1, sizeof(*f));
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
	*position = f->committed ? f->committed + 1 : 0;
	/* a killed process holds its locks until its last commit is done */
	return sink_opened(f, r == -EBUSY ? -EAGAIN : r, close_hdf5, state);
}

static int add_batch(void *state, uint64_t number, const struct batch_name *name PL_UNUSED,
		     struct sample_file *from, struct strbuf *why)
{
	struct hdf5_sink *f = state;
	int r = ready(f, why);

	if (r < 0)
		return r;
	if (number <= f->have) /* delivered again */
		return 0;
	r = rows_add(&f->rows, f->mappers, from, why);
	f->have = number;
	return r < 0 ? r : f->h->held(f->w) >= HELD_MAX;
}

static int commit(void *state, uint64_t number, struct strbuf *why)
{
	struct hdf5_sink *f = state;
	int r = ready(f, why);

	if (r < 0 || f->have <= f->committed)
		return r;
	/* the writer may have more than that */
	return commit_to(f, f->have > number ? f->have : number, why);
}

static int reopen(void *state, struct strbuf *why)
{
	struct hdf5_sink *f = state;

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
	struct hdf5_sink *f = state;
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
	.help = "HDF5 files with a group per job and a table per source",
	.open = open_hdf5,
	.batch = add_batch,
	.commit = commit,
	.number_again = number_again,
	.reopen = reopen,
	.close = close_hdf5,
	/* the cost of a commit depends on the tables, and HELD_MAX limits memory */
	.commit_entries = UINT_MAX,
};
