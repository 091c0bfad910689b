/*
 * Writes rows into HDF5 files: the file and its commits. Rows gather in memory, table by table
 * (hdf5_rows.c), and go to the library at the commit: a row costs one copy, and each table with new
 * rows costs the library's overhead once.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "tables/hdf5/hdf5_writer.h"

#define NEW_MANY 32 /* tables */

/* ---- commit ---- */

static bool give_to(struct hdf5_writer *w, bool found)
{
	for (struct hdf5_rows *t = w->used.older; t != &w->used; t = t->older)
		if (t->count && (t->link != NULL) == found && !table_append(w, t))
			return false;
	return true;
}

/* The library holds ten times more memory for a new table than for an old one. So new tables come
 * last, and if there are many, the cache is made small meanwhile. */
static bool give_new(struct hdf5_writer *w)
{
	size_t new = 0;

	for (const struct hdf5_rows *t = w->used.older; t != &w->used; t = t->older)
		new += t->count && !t->link;
	if (new >= NEW_MANY)
		hdf5_size_cache(w->file, true);
	bool ok = give_to(w, false);
	if (new >= NEW_MANY)
		hdf5_size_cache(w->file, false);
	return ok;
}

static bool give_rows(struct hdf5_writer *w, uint64_t position)
{
	return give_to(w, true) && give_new(w) &&
	       hdf5_set_attribute(w->file, "PLIMSOLL_POSITION", H5T_STD_U64LE, &position) &&
	       H5Fflush(w->file, H5F_SCOPE_GLOBAL) >= 0;
}

int hdf5_commit(struct hdf5_writer *w, uint64_t position, struct strbuf *why)
{
	if (w->broken)
		return strbuf_fail(why, -EIO, "cannot write '%s' after an earlier error", w->path);
	if (!w->given && !give_rows(w, position)) {
		w->broken = true;
		return strbuf_fail(why, -EBADMSG, "cannot write '%s': the HDF5 library failed",
				   w->path);
	}
	w->given = true;
	int r = shadow_commit(w->shadow, &w->journal, w->path, position, why);
	if (r < 0) {
		w->broken = r != -EAGAIN;
		return r;
	}
	w->given = false;
	w->held = 0;
	w->position = position;
	w->committed = true;
	tables_bound(w);
	return 0;
}

size_t hdf5_held(const struct hdf5_writer *w)
{
	return w->held;
}

uint64_t hdf5_size(const struct hdf5_writer *w)
{
	return shadow_end(w->shadow);
}

uint64_t hdf5_position(const struct hdf5_writer *w)
{
	return w->position;
}

bool hdf5_is_gone(const struct hdf5_writer *w)
{
	return shadow_is_gone(w->shadow, w->path);
}

uint64_t hdf5_begin(const struct hdf5_writer *w)
{
	return w->begin;
}

/* ---- files ---- */

/* Locks out other writers, but not readers that use the library's own locks. On network filesystems
 * both kinds of locks are the same. */
static bool lock_file(int fd)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &all) < 0 && (errno == EAGAIN || errno == EACCES))
		return false;
	return fs_is_network(fd) || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* A new file gets its name when it is complete. */
static int make_file(struct hdf5_writer *w, const struct hdf5_writer_options *o, struct strbuf *why)
{
	_cleanup_free_ char *name = xasprintf("%s.new", o->path);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0)
		return strbuf_fail(why, -errno, "cannot create '%s': %s", name, strerror(errno));
	w->shadow = shadow_new(fd);
	w->fapl = driver_access(shadow_driver(w->shadow));
	w->file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, w->fapl);
	if (w->file < 0 || !hdf5_make_root(w->file) ||
	    !hdf5_set_attribute(w->file, "PLIMSOLL_BEGIN", H5T_STD_U64LE, &w->begin) ||
	    !hdf5_set_attribute(w->file, "PLIMSOLL_POSITION", H5T_STD_U64LE, &w->position) ||
	    H5Fflush(w->file, H5F_SCOPE_GLOBAL) < 0) {
		strbuf_addf(why, "'%s': ", name);
		hdf5_reason(why);
		return -EIO;
	}
	int r = shadow_commit(w->shadow, NULL, name, 0, why);
	if (r < 0)
		return r;
	if (!lock_file(fd))
		r = -EBUSY;
	if (r == 0)
		r = fs_sync(fd);
	/* first the rename of the file that had this name before */
	if (r == 0)
		r = fs_sync_parent(o->path);
	if (r == 0 && rename(name, o->path) < 0)
		r = -errno;
	if (r == 0)
		r = fs_sync_parent(o->path);
	if (r < 0)
		strbuf_addf(why, "cannot create '%s': %s", o->path, strerror(-r));
	else
		r = shadow_note(w->shadow, &w->journal, o->path, o->position, why);
	return r;
}

/* The library opens an existing file in this process, with all its rights, so a child without
 * rights tries it first. If the journal knows the file, we wrote it, and its header is enough;
 * otherwise every table is checked. */
static int open_file(struct hdf5_writer *w, int fd, bool known, struct strbuf *why)
{
	if (!lock_file(fd)) {
		close(fd);
		return strbuf_fail(why, -EBUSY, "'%s' is being written by another program",
				   w->path);
	}
	int r = hdf5_probe(w->path, !known, why);
	if (r < 0) {
		close(fd);
		return r;
	}
	w->shadow = shadow_new(fd);
	w->fapl = driver_access(shadow_driver(w->shadow));
	w->file = H5Fopen(w->path, H5F_ACC_RDWR, w->fapl);
	if (w->file < 0) {
		strbuf_addf(why, "'%s': ", w->path);
		hdf5_reason(why);
		return -EBADMSG;
	}
	if (H5Aexists(w->file, "PLIMSOLL_BEGIN") > 0) {
		_cleanup_id_ hid_t a = H5Aopen(w->file, "PLIMSOLL_BEGIN", H5P_DEFAULT);

		(void)H5Aread(a, H5T_NATIVE_UINT64, &w->begin);
	}
	return 0;
}

int hdf5_create(const struct hdf5_writer_options *o, struct hdf5_writer **ret, struct strbuf *why)
{
	struct hdf5_writer *w = xcalloc(1, sizeof(*w));
	struct hdf5_commit last = {.same = false};

	w->path = xstrdup(o->path);
	w->level = o->level < 0 ? 0 : o->level > 9 ? 9 : o->level;
	w->file = w->fapl = -1;
	w->models = hdf5_models();
	w->packer = chunk_writer_new(w->level ? w->level : 1);
	w->used.older = w->used.newer = &w->used;
	w->begin = o->begin;
	w->position = o->position;
	int r = journal_open(&w->journal, o->journal, why);
	if (r == 0) {
		r = journal_recover(&w->journal, &last, why);
		r = r == -ENOENT ? 0 : r;
	}
	if (r == 0) {
		int fd = open(o->path, O_RDWR | O_CLOEXEC);

		bool known = last.same && !strcmp(last.path, o->path);

		if (known)
			w->position = last.position;
		if (fd >= 0)
			r = open_file(w, fd, known, why);
		else if (errno == ENOENT)
			r = make_file(w, o, why);
		else {
			r = -errno;
			strbuf_addf(why, "cannot open '%s': %s", o->path, strerror(-r));
		}
	}
	if (r < 0) {
		(void)hdf5_finish(w);
		return r == -ENOSPC || r == -EDQUOT ? -EAGAIN : r;
	}
	*ret = w;
	return 0;
}

/* A file without uncommitted rows is completed. */
static int close_file_of(struct hdf5_writer *w)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	bool dirty = w->held || w->given || w->broken;
	int r = 0;

	if (w->shadow && dirty)
		shadow_discard(w->shadow);
	if (w->file >= 0)
		H5Fclose(w->file);
	if (w->fapl >= 0)
		H5Pclose(w->fapl);
	if (w->shadow && !dirty && w->file >= 0 && w->committed) {
		r = shadow_commit(w->shadow, &w->journal, w->path, w->position, &ignored);
		if (r == 0)
			r = shadow_settle(w->shadow);
	}
	shadow_free(w->shadow);
	return r;
}

int hdf5_finish(struct hdf5_writer *w)
{
	if (!w)
		return 0;
	tables_release(w);
	if (w->models >= 0)
		H5Fclose(w->models);
	int r = close_file_of(w);
	schemas_release(w);
	chunk_writer_free(w->packer);
	journal_close(&w->journal);
	free(w->path);
	free(w);
	return r;
}
