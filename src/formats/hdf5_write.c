/*
 * Rows into HDF5 files. They gather in memory, table by table, and go to the library at the commit,
 * so that a row costs a copy, and a table that got rows costs its share once. Tables stay open
 * while they are used; the library needs some 100 KB for each, so only so many do.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/fs.h"
#include "formats/hdf5.h"

#define OPEN_TABLES_MAX 1536
#define TWINS_MAX 16 /* tables of one name with other columns */
#define BUCKETS 8192

struct hdf5_rows {
	struct hdf5_rows *next; /* in its bucket */
	struct hdf5_rows *newer, *older;
	char *job, *name;
	const struct hdf5_schema *schema;
	int version;
	hid_t id;      /* negative: not open */
	uint64_t rows; /* in the file; while it is open */
	size_t chunk;  /* rows of one that we pack ourselves; 0: we do not */
	/* the rows of the last chunk that are in the file already, then those that wait */
	unsigned char *data;
	size_t kept, count, cap;
};

struct hdf5_writer {
	char *path;
	int level;
	struct journal journal;
	struct shadow *shadow;
	struct packer *packer;
	hid_t file, fapl;
	uint64_t begin;
	struct hdf5_schema *schemas;
	struct hdf5_rows *buckets[BUCKETS];
	struct hdf5_rows used; /* ring, most recently used first */
	size_t tables, open;
	size_t held;
	uint64_t position; /* of the last commit */
	bool committed;    /* there was one */
	bool given;        /* the library has the rows; only the commit is missing */
	bool broken;
};

/* ---- schemas -------------------------------------------------------------------------------- */

static hid_t column_type(const struct hdf5_column *c)
{
	switch (c->type) {
	case HDF5_F32:
		return H5Tcopy(H5T_IEEE_F32LE);
	case HDF5_F64:
		return H5Tcopy(H5T_IEEE_F64LE);
	case HDF5_TEXT: {
		hid_t t = H5Tcopy(H5T_C_S1);

		H5Tset_size(t, c->size);
		return t;
	}
	default:
		return H5Tcopy(H5T_STD_I64LE);
	}
}

static void fill_column(const struct hdf5_column *c, unsigned char *at)
{
	const int64_t i = -1;
	const float f = -1;
	const double d = (double)NAN;

	if (c->type == HDF5_I64)
		memcpy(at, &i, sizeof(i));
	else if (c->type == HDF5_F32)
		memcpy(at, &f, sizeof(f));
	else if (c->type == HDF5_F64)
		memcpy(at, &d, sizeof(d));
}

struct hdf5_schema *hdf5_add_schema(struct hdf5_writer *w, const struct hdf5_column *columns,
				    size_t count, const char *note)
{
	struct hdf5_schema *s = xcalloc(1, sizeof(*s));
	size_t at = 0;

	s->columns = xcalloc(count, sizeof(*s->columns));
	s->count = count;
	s->note = note ? xstrdup(note) : NULL;
	for (size_t i = 0; i < count; i++) {
		s->columns[i] = columns[i];
		s->columns[i].name = xstrdup(columns[i].name);
		s->row_size += columns[i].size;
	}
	s->fill = xcalloc(1, s->row_size);
	s->type = H5Tcreate(H5T_COMPOUND, s->row_size);
	for (size_t i = 0; i < count; i++) {
		hid_t t = column_type(&columns[i]);

		H5Tinsert(s->type, columns[i].name, at, t);
		H5Tclose(t);
		fill_column(&columns[i], s->fill + at);
		at += columns[i].size;
	}
	s->next = w->schemas;
	w->schemas = s;
	return s;
}

static void free_schemas(struct hdf5_writer *w)
{
	for (struct hdf5_schema *s = w->schemas, *next; s; s = next) {
		next = s->next;
		for (size_t i = 0; i < s->count; i++)
			free((char *)s->columns[i].name);
		free(s->columns);
		free(s->note);
		free(s->fill);
		H5Tclose(s->type);
		free(s);
	}
}

/* ---- tables --------------------------------------------------------------------------------- */

static void unlink_table(struct hdf5_rows *t)
{
	t->newer->older = t->older;
	t->older->newer = t->newer;
}

static void use_table(struct hdf5_writer *w, struct hdf5_rows *t)
{
	t->newer = &w->used;
	t->older = w->used.older;
	w->used.older->newer = t;
	w->used.older = t;
}

static void close_table(struct hdf5_writer *w, struct hdf5_rows *t)
{
	if (t->id >= 0) {
		H5Dclose(t->id);
		t->id = -1;
		w->open--;
	}
}

static uint32_t hash(const char *s, uint32_t h)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

static struct hdf5_rows **bucket_of(struct hdf5_writer *w, const char *job, const char *name)
{
	return &w->buckets[hash(name, hash(job, 2166136261u)) % BUCKETS];
}

struct hdf5_rows *hdf5_add_table(struct hdf5_writer *w, const char *job, const char *name,
				 struct hdf5_schema *schema, int version)
{
	struct hdf5_rows **at = bucket_of(w, job, name), *t;

	for (t = *at; t; t = t->next)
		if (t->schema == schema && !strcmp(t->job, job) && !strcmp(t->name, name)) {
			unlink_table(t);
			use_table(w, t);
			return t;
		}
	t = xcalloc(1, sizeof(*t));
	t->job = xstrdup(job);
	t->name = xstrdup(name);
	t->schema = schema;
	t->version = version;
	t->id = -1;
	t->next = *at;
	*at = t;
	use_table(w, t);
	w->tables++;
	return t;
}

static void free_table(struct hdf5_writer *w, struct hdf5_rows *t)
{
	struct hdf5_rows **at = bucket_of(w, t->job, t->name);

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	unlink_table(t);
	close_table(w, t);
	free(t->data);
	free(t->job);
	free(t->name);
	free(t);
	w->tables--;
}

unsigned char *hdf5_add_row(struct hdf5_writer *w, struct hdf5_rows *t)
{
	size_t size = t->schema->row_size;

	if (t->kept + t->count == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 4;
		t->data = xreallocarray(t->data, t->cap, size);
	}
	unsigned char *row = t->data + (t->kept + t->count++) * size;
	memcpy(row, t->schema->fill, size);
	w->held += size;
	return row;
}

/* Has a table of the file the columns of ours? */
static bool fits(hid_t table, const struct hdf5_schema *schema)
{
	hid_t type = H5Dget_type(table);
	bool same = type >= 0 && H5Tequal(type, schema->type) > 0;

	if (type >= 0)
		H5Tclose(type);
	return same;
}

/* The table of this name with these columns; where the name is taken by one with others, the name
 * gets a number. */
static hid_t find_table(struct hdf5_writer *w, hid_t group, const struct hdf5_rows *t)
{
	hid_t access = hdf5_table_access(), id = -1;

	for (int i = 1; i <= TWINS_MAX && id < 0; i++) {
		_cleanup_free_ char *name =
			i == 1 ? xstrdup(t->name) : xasprintf("%s_%d", t->name, i);

		if (H5Lexists(group, name, H5P_DEFAULT) <= 0) {
			id = hdf5_make_table(group, t->job, name, t->schema, t->version, w->level);
			break;
		}
		id = H5Dopen2(group, name, access);
		if (id >= 0 && !fits(id, t->schema)) {
			H5Dclose(id);
			id = -1;
		}
	}
	H5Pclose(access);
	return id;
}

static bool open_table(struct hdf5_writer *w, struct hdf5_rows *t)
{
	hid_t group = hdf5_open_group(w->file, t->job);
	hsize_t rows = 0;

	if (group < 0)
		return false;
	t->id = find_table(w, group, t);
	H5Gclose(group);
	if (t->id < 0)
		return false;
	w->open++;
	hid_t space = H5Dget_space(t->id);
	bool ok = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
		  H5Sget_simple_extent_dims(space, &rows, NULL) == 1;
	if (space >= 0)
		H5Sclose(space);
	t->rows = rows;
	t->chunk = packer_fits(t->id);
	t->kept = 0;
	return ok;
}

/* ---- commit --------------------------------------------------------------------------------- */

/* Rows between the file and memory. */
static bool transfer(const struct hdf5_rows *t, uint64_t from, hsize_t n, void *memory, bool write)
{
	const hsize_t first = from;
	hid_t there = H5Dget_space(t->id), here = H5Screate_simple(1, &n, NULL);
	bool ok = there >= 0 && here >= 0 &&
		  H5Sselect_hyperslab(there, H5S_SELECT_SET, &first, NULL, &n, NULL) >= 0;

	if (ok && write)
		ok = H5Dwrite(t->id, t->schema->type, here, there, H5P_DEFAULT, memory) >= 0;
	else if (ok)
		ok = H5Dread(t->id, t->schema->type, here, there, H5P_DEFAULT, memory) >= 0;
	if (there >= 0)
		H5Sclose(there);
	if (here >= 0)
		H5Sclose(here);
	return ok;
}

/* The rows of a last chunk that is not full go before those that wait. */
static bool fetch_kept(struct hdf5_rows *t)
{
	size_t size = t->schema->row_size, tail = (size_t)(t->rows % t->chunk);

	if (!tail)
		return true;
	t->cap = tail + t->count + 4;
	t->data = xreallocarray(t->data, t->cap, size);
	memmove(t->data + tail * size, t->data, t->count * size);
	t->kept = tail;
	return transfer(t, t->rows - tail, tail, t->data, false);
}

/* Whole chunks from the one that has the last row on; what is left of the last one is kept. */
static bool pack_rows(struct hdf5_writer *w, struct hdf5_rows *t)
{
	size_t size = t->schema->row_size, all = t->kept + t->count;
	uint64_t from = t->rows - t->kept;

	for (size_t i = 0; i < all; i += t->chunk)
		if (!packer_write(w->packer, t->id, from + i, t->data + i * size,
				  all - i < t->chunk ? all - i : t->chunk, t->chunk, size))
			return false;
	t->kept = all % t->chunk;
	memmove(t->data, t->data + (all - t->kept) * size, t->kept * size);
	return true;
}

/* Memory that many rows needed is not kept for each table. */
static void shrink(struct hdf5_rows *t)
{
	if (t->cap <= 4 || t->cap <= 2 * t->kept)
		return;
	t->cap = t->kept ? t->kept : 1;
	t->data = xreallocarray(t->data, t->cap, t->schema->row_size);
}

static bool append_rows(struct hdf5_writer *w, struct hdf5_rows *t)
{
	if (t->id < 0 && (!open_table(w, t) || (t->chunk && !fetch_kept(t))))
		return false;
	const hsize_t size = t->rows + t->count;
	if (H5Dset_extent(t->id, &size) < 0 ||
	    !(t->chunk ? pack_rows(w, t) : transfer(t, t->rows, t->count, t->data, true)))
		return false;
	t->rows = size;
	t->count = 0;
	shrink(t);
	return true;
}

static bool give_rows(struct hdf5_writer *w, uint64_t position)
{
	for (struct hdf5_rows *t = w->used.older; t != &w->used; t = t->older)
		if (t->count && !append_rows(w, t))
			return false;
	if (!hdf5_set_attribute(w->file, "PLIMSOLL_POSITION", H5T_STD_U64LE, &position))
		return false;
	return H5Fflush(w->file, H5F_SCOPE_GLOBAL) >= 0;
}

/* Those that were not used for the longest time. */
static void close_unused(struct hdf5_writer *w)
{
	while (w->tables > OPEN_TABLES_MAX)
		free_table(w, w->used.newer);
}

int hdf5_commit(struct hdf5_writer *w, uint64_t position, struct strbuf *why)
{
	if (w->broken) {
		strbuf_addf(why, "'%s' could not be written", w->path);
		return -EIO;
	}
	if (!w->given && !give_rows(w, position)) {
		w->broken = true;
		strbuf_addf(why, "'%s': the HDF5 library cannot go on with it", w->path);
		return -EIO;
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
	close_unused(w);
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

uint64_t hdf5_begin(const struct hdf5_writer *w)
{
	return w->begin;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Whoever else wants to write it gets refused; whoever reads does not, as far as the library's own
 * locks go. Over the network both kinds of locks are one. */
static bool lock_file(int fd)
{
	struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	if (fcntl(fd, F_OFD_SETLK, &all) < 0 && (errno == EAGAIN || errno == EACCES))
		return false;
	return fs_is_network(fd) || flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

/* A new file gets its name when it is one. */
static int make_file(struct hdf5_writer *w, const struct hdf5_writer_options *o, struct strbuf *why)
{
	_cleanup_free_ char *name = xasprintf("%s.new", o->path);
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);

	if (fd < 0) {
		int r = -errno;

		strbuf_addf(why, "cannot make '%s': %s", name, strerror(-r));
		return r;
	}
	w->shadow = shadow_new(fd);
	w->fapl = shadow_fapl(w->shadow);
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
	if (r == 0 && (!lock_file(fd) || fsync(fd) < 0 || rename(name, o->path) < 0)) {
		r = -errno;
		strbuf_addf(why, "cannot make '%s': %s", o->path, strerror(-r));
	}
	if (r == 0)
		r = shadow_note(w->shadow, &w->journal, o->path, o->position, why);
	return r;
}

static int open_file(struct hdf5_writer *w, int fd, struct strbuf *why)
{
	if (!lock_file(fd)) {
		close(fd);
		strbuf_addf(why, "'%s' is being written by another program", w->path);
		return -EBUSY;
	}
	w->shadow = shadow_new(fd);
	w->fapl = shadow_fapl(w->shadow);
	w->file = H5Fopen(w->path, H5F_ACC_RDWR, w->fapl);
	if (w->file < 0) {
		strbuf_addf(why, "'%s': ", w->path);
		hdf5_reason(why);
		return -EBADMSG;
	}
	if (H5Aexists(w->file, "PLIMSOLL_BEGIN") > 0) {
		hid_t a = H5Aopen(w->file, "PLIMSOLL_BEGIN", H5P_DEFAULT);

		(void)H5Aread(a, H5T_NATIVE_UINT64, &w->begin);
		H5Aclose(a);
	}
	return 0;
}

int hdf5_create(const struct hdf5_writer_options *o, struct hdf5_writer **ret, struct strbuf *why)
{
	struct hdf5_writer *w = xcalloc(1, sizeof(*w));
	struct hdf5_commit last;

	w->path = xstrdup(o->path);
	w->level = o->level < 0 ? 0 : o->level > 9 ? 9 : o->level;
	w->file = w->fapl = -1;
	w->packer = packer_new(w->level ? w->level : 1);
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

		if (fd >= 0)
			r = open_file(w, fd, why);
		else if (errno == ENOENT)
			r = make_file(w, o, why);
		else {
			r = -errno;
			strbuf_addf(why, "cannot open '%s': %s", o->path, strerror(-r));
		}
	}
	if (r < 0) {
		hdf5_finish(w);
		return r == -ENOSPC || r == -EDQUOT ? -EAGAIN : r;
	}
	*ret = w;
	return 0;
}

/* A file that is closed in peace is put in order. */
static void close_file_of(struct hdf5_writer *w)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	bool dirty = w->held || w->given || w->broken;

	if (w->shadow && dirty)
		shadow_discard(w->shadow);
	if (w->file >= 0)
		H5Fclose(w->file);
	if (w->fapl >= 0)
		H5Pclose(w->fapl);
	if (w->shadow && !dirty && w->file >= 0 && w->committed &&
	    shadow_commit(w->shadow, &w->journal, w->path, w->position, &ignored) == 0)
		(void)shadow_settle(w->shadow);
	shadow_free(w->shadow);
}

void hdf5_finish(struct hdf5_writer *w)
{
	if (!w)
		return;
	while (w->used.older != &w->used)
		free_table(w, w->used.older);
	close_file_of(w);
	free_schemas(w);
	packer_free(w->packer);
	journal_close(&w->journal);
	free(w->path);
	free(w);
}
