/*
 * Reads a collector's HDF5 files. Columns differ between versions of the program that wrote them,
 * so the table itself is asked what it has. Nothing that leads out of the file is followed, and
 * sizes are checked against what a file of this length can hold before memory is allocated. All of
 * this runs in a child process without rights (hdf5_reader.c).
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/text/text.h"
#include "tables/hdf5/hdf5_module.h"

#define CHUNK_MAX ((uint64_t)64 << 20)

struct hdf5_input {
	struct driver_file driver;
	int fd;
	hid_t id;
	char *path;
	char **jobs; /* ids, in order */
	size_t job_count, job_cap;
	size_t visited;
};

/* An open table. */
struct opened {
	hid_t id, type;
	uint64_t rows;
	size_t row_size;
	struct hdf5_column *columns;
	size_t *offsets;
	char **names; /* allocated by the library */
	int column_count;
	bool *is_signed;
	char *note;
};

static int refuse(const struct hdf5_input *f, int error, const char *job, const char *table,
		  struct strbuf *why, const char *fmt, ...) PL_PRINTF(6, 7);
static int refuse(const struct hdf5_input *f, int error, const char *job, const char *table,
		  struct strbuf *why, const char *fmt, ...)
{
	va_list ap;

	strbuf_addf(why, "'%s'", f->path);
	if (job) {
		strbuf_addstr(why, ", table /job_");
		text_add_printable(why, job, strnlen(job, HDF5_JOB_MAX));
		strbuf_addch(why, '/');
		text_add_printable(why, table, strnlen(table, HDF5_NAME_MAX));
	}
	strbuf_addstr(why, ": ");
	va_start(ap, fmt);
	strbuf_vaddf(why, fmt, ap);
	va_end(ap);
	return -error;
}

/* ---- opening ---- */

/* The library opens files by name, which a process without rights cannot: it reads from a
 * descriptor instead. Zeros behind the end, as from the library's own driver. */
static int read_bytes(struct driver_file *file, uint64_t addr, size_t size, void *buffer)
{
	const struct hdf5_input *f = (const struct hdf5_input *)file;
	unsigned char *to = buffer;

	if (addr > (uint64_t)INT64_MAX - size)
		return -1;
	while (size) {
		ssize_t got = pread(f->fd, to, size, (off_t)addr);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0) {
			memset(to, 0, size);
			return 0;
		}
		to += got;
		addr += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

static herr_t take_job(hid_t group PL_UNUSED, const char *name, const H5L_info_t *info, void *user)
{
	struct hdf5_input *f = user;

	if (info->type != H5L_TYPE_HARD || !str_prefix(name, "job_") ||
	    strlen(name) - 4 > HDF5_JOB_MAX || !name[4])
		return 0;
	if (f->job_count >= HDF5_TABLES_MAX)
		return 1;
	GROW(f->jobs, f->job_count, f->job_cap);
	f->jobs[f->job_count++] = xstrdup(name + 4);
	return 0;
}

/* Numbers by value, then other ids. */
static int by_id(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	uint64_t m = UINT64_MAX, n = UINT64_MAX;

	(void)parse_u64(x, &m);
	(void)parse_u64(y, &n);
	return m != n ? (m < n ? -1 : 1) : strcmp(x, y);
}

int hdf5_input_open(int fd, const char *path, struct hdf5_input **ret, struct strbuf *why)
{
	struct hdf5_input *f = xcalloc(1, sizeof(*f));
	off_t size = lseek(fd, 0, SEEK_END); /* the sandbox does not allow stat() */
	int r = 0;

	f->path = xstrdup(path);
	f->id = -1;
	f->fd = fd;
	if (size < 0)
		r = refuse(f, errno, NULL, NULL, why, "%s", strerror(errno));
	if (r == 0) {
		f->driver = (struct driver_file){.size = (uint64_t)size, .read = read_bytes};
		_cleanup_id_ hid_t fapl = driver_access(&f->driver);
		f->id = H5Fopen(path, H5F_ACC_RDONLY, fapl);
		if (f->id < 0) {
			_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

			hdf5_reason(&reason);
			r = refuse(f, EBADMSG, NULL, NULL, why, "not an HDF5 file, or damaged: %s",
				   reason.buf);
		}
	}
	hsize_t at = 0;
	if (r == 0 && H5Literate(f->id, H5_INDEX_NAME, H5_ITER_INC, &at, take_job, f) < 0) {
		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

		hdf5_reason(&reason);
		r = refuse(f, EBADMSG, NULL, NULL, why, "damaged: %s", reason.buf);
	}
	if (r < 0) {
		hdf5_input_close(f);
		return r;
	}
	if (f->job_count)
		qsort(f->jobs, f->job_count, sizeof(*f->jobs), by_id);
	*ret = f;
	return 0;
}

void hdf5_input_close(struct hdf5_input *f)
{
	if (!f)
		return;
	if (f->id >= 0)
		H5Fclose(f->id);
	for (size_t i = 0; i < f->job_count; i++)
		free(f->jobs[i]);
	free(f->jobs);
	free(f->path);
	free(f);
}

/* ---- tables ---- */

static void close_opened(struct opened *t)
{
	for (int i = 0; i < t->column_count; i++)
		if (t->names && t->names[i])
			H5free_memory(t->names[i]);
	free(t->names);
	free(t->columns);
	free(t->offsets);
	free(t->is_signed);
	free(t->note);
	hdf5_close_id(&t->type);
	hdf5_close_id(&t->id);
}

static enum hdf5_type type_of(hid_t type, size_t size)
{
	switch (H5Tget_class(type)) {
	case H5T_INTEGER:
		return size == 1 || size == 2 || size == 4 || size == 8 ? HDF5_I64 : HDF5_OTHER;
	case H5T_FLOAT:
		return size == 4 ? HDF5_F32 : size == 8 ? HDF5_F64 : HDF5_OTHER;
	case H5T_STRING:
		return H5Tis_variable_str(type) == 0 ? HDF5_TEXT : HDF5_OTHER;
	default:
		return HDF5_OTHER;
	}
}

/* Is it in this machine's byte order? Other numbers are not read. */
static bool plain(hid_t type, enum hdf5_type t)
{
	H5T_order_t order = H5T_ORDER_NONE;

	if (t != HDF5_I64 && t != HDF5_F32 && t != HDF5_F64)
		return true;
	order = H5Tget_order(type);
	return order == H5Tget_order(H5T_NATIVE_INT) || order == H5T_ORDER_NONE;
}

static bool take_columns(struct opened *t)
{
	int n = H5Tget_nmembers(t->type);

	t->row_size = H5Tget_size(t->type);
	if (n <= 0 || n > HDF5_COLUMNS_MAX || !t->row_size || t->row_size > HDF5_ROW_MAX)
		return false;
	t->columns = xcalloc((size_t)n, sizeof(*t->columns));
	t->offsets = xcalloc((size_t)n, sizeof(*t->offsets));
	t->names = xcalloc((size_t)n, sizeof(*t->names));
	t->is_signed = xcalloc((size_t)n, sizeof(*t->is_signed));
	t->column_count = n;
	for (int i = 0; i < n; i++) {
		_cleanup_id_ hid_t type = H5Tget_member_type(t->type, (unsigned)i);
		size_t size = type >= 0 ? H5Tget_size(type) : 0;

		t->names[i] = H5Tget_member_name(t->type, (unsigned)i);
		t->offsets[i] = H5Tget_member_offset(t->type, (unsigned)i);
		if (type < 0 || !t->names[i] || !size || t->offsets[i] > t->row_size ||
		    size > t->row_size - t->offsets[i])
			return false;
		enum hdf5_type kind = type_of(type, size);
		if (!plain(type, kind))
			kind = HDF5_OTHER;
		t->columns[i] = (struct hdf5_column){t->names[i], kind, (unsigned)size};
		t->is_signed[i] = kind != HDF5_I64 || H5Tget_sign(type) != H5T_SGN_NONE;
	}
	return true;
}

/* Checks the storage: in the file, in chunks of sane size, with filters that are available. */
static int check_storage(const struct hdf5_input *f, const struct opened *t, const char *job,
			 const char *name, struct strbuf *why)
{
	_cleanup_id_ hid_t how = H5Dget_create_plist(t->id);
	hsize_t rows = 0;
	int r = 0;

	if (how < 0)
		return refuse(f, EBADMSG, job, name, why, "damaged");
	H5D_layout_t layout = H5Pget_layout(how);
	if ((layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) ||
	    H5Pget_external_count(how) != 0)
		r = refuse(f, EPERM, job, name, why,
			   "refused: its data is stored outside of the file");
	else if (layout == H5D_CHUNKED &&
		 (H5Pget_chunk(how, 1, &rows) != 1 || rows > CHUNK_MAX / t->row_size))
		r = refuse(f, EFBIG, job, name, why,
			   "refused: it has chunks of more than %llu bytes",
			   (unsigned long long)CHUNK_MAX);
	for (int i = 0, n = r == 0 ? H5Pget_nfilters(how) : 0; i < n && r == 0; i++) {
		unsigned flags, config;
		size_t none = 0;
		char label[64] = "";
		H5Z_filter_t id = H5Pget_filter2(how, (unsigned)i, &flags, &none, NULL,
						 sizeof(label), label, &config);

		label[sizeof(label) - 1] = 0;
		if (id < 0 || H5Zfilter_avail(id) <= 0)
			r = refuse(f, ENOTSUP, job, name, why,
				   "its filter is not available (%d %.60s); make it readable with "
				   "h5repack -f GZIP=1",
				   id, label);
	}
	return r;
}

/* Reads the note about the columns that we wrote; anything else is ignored. */
static void take_note(struct opened *t)
{
	_cleanup_id_ hid_t a =
		H5Aexists(t->id, HDF5_NOTE) > 0 ? H5Aopen(t->id, HDF5_NOTE, H5P_DEFAULT) : -1;
	_cleanup_id_ hid_t type = a < 0 ? -1 : H5Aget_type(a);
	_cleanup_id_ hid_t space = a < 0 ? -1 : H5Aget_space(a);
	size_t n = type < 0 ? 0 : H5Tget_size(type);

	if (space >= 0 && n && n <= HDF5_NOTE_MAX && H5Tget_class(type) == H5T_STRING &&
	    H5Tis_variable_str(type) == 0 && H5Sget_simple_extent_npoints(space) == 1) {
		t->note = xcalloc(1, n + 1);
		if (H5Aread(a, type, t->note) < 0)
			t->note[0] = 0;
	}
}

static int open_table(const struct hdf5_input *f, const char *job, const char *name,
		      struct opened *t, struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("job_%s/%s", job, name);
	hsize_t rows = 0;
	int r = 0;

	*t = (struct opened){.id = -1, .type = -1};
	t->id = H5Dopen2(f->id, path, H5P_DEFAULT);
	t->type = t->id < 0 ? -1 : H5Dget_type(t->id);
	_cleanup_id_ hid_t space = t->id < 0 ? -1 : H5Dget_space(t->id);
	if (t->type < 0 || space < 0) {
		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

		hdf5_reason(&reason);
		r = refuse(f, EBADMSG, job, name, why, "damaged: %s", reason.buf);
	} else if (H5Tget_class(t->type) != H5T_COMPOUND ||
		   H5Sget_simple_extent_ndims(space) != 1 ||
		   H5Sget_simple_extent_dims(space, &rows, NULL) != 1) {
		r = -EMEDIUMTYPE; /* not a table, but other data */
	} else if (!take_columns(t)) {
		r = refuse(f, EFBIG, job, name, why, "it has too many or too large columns");
	} else if (rows > (f->driver.size * HDF5_RATIO + HDF5_PIECE) / t->row_size) {
		r = refuse(f, EFBIG, job, name, why,
			   "it claims %llu rows, more than fit into the file",
			   (unsigned long long)rows);
	} else {
		r = check_storage(f, t, job, name, why);
	}
	t->rows = rows;
	if (r < 0)
		close_opened(t);
	return r;
}

struct listing {
	char **names;
	size_t count, cap;
};

static herr_t take_name(hid_t group PL_UNUSED, const char *name, const H5L_info_t *info, void *user)
{
	struct listing *l = user;

	if (info->type != H5L_TYPE_HARD || strlen(name) > HDF5_NAME_MAX ||
	    l->count > HDF5_TABLES_MAX)
		return 0;
	GROW(l->names, l->count, l->cap);
	l->names[l->count++] = xstrdup(name);
	return 0;
}

static int visit_job(struct hdf5_input *f, const char *job, hdf5_table_visitor visit, void *user,
		     struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("job_%s", job);
	struct listing l = {0};
	hsize_t at = 0;
	int r = 0;

	_cleanup_id_ hid_t group = H5Gopen2(f->id, path, H5P_DEFAULT);
	/* a dataset with such a name is not a job */
	if (group < 0)
		return 0;
	if (H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &at, take_name, &l) < 0) {
		strbuf_addf(why, "'%s', group /job_%s: damaged: ", f->path, job);
		hdf5_reason(why);
		r = -EBADMSG;
	}
	for (size_t i = 0; i < l.count && r == 0; i++) {
		struct opened t;
		H5O_info_t info;

		if (H5Oget_info_by_name(group, l.names[i], &info, H5P_DEFAULT) < 0)
			r = refuse(f, EBADMSG, job, l.names[i], why, "damaged");
		else if (info.type != H5O_TYPE_DATASET)
			continue;
		if (r == 0 && f->visited++ > HDF5_TABLES_MAX)
			r = refuse(f, EFBIG, job, l.names[i], why, "the file has too many tables");
		if (r == 0)
			r = open_table(f, job, l.names[i], &t, why);
		if (r == -EMEDIUMTYPE) {
			r = 0;
			continue;
		}
		if (r < 0)
			break;
		take_note(&t);
		const struct hdf5_table shown = {
			job, l.names[i], t.rows, t.columns, (size_t)t.column_count, t.note};
		r = visit(user, &shown);
		close_opened(&t);
	}
	for (size_t i = 0; i < l.count; i++)
		free(l.names[i]);
	free(l.names);
	return r;
}

int hdf5_input_tables(struct hdf5_input *f, const char *job, hdf5_table_visitor visit, void *user,
		      struct strbuf *why)
{
	int r = 0;

	f->visited = 0;
	for (size_t i = 0; i < f->job_count && r >= 0; i++)
		if (!job || !strcmp(job, f->jobs[i]))
			r = visit_job(f, f->jobs[i], visit, user, why);
	return r;
}

/* ---- rows ---- */

static void take_value(const struct opened *t, int column, const unsigned char *row,
		       struct hdf5_value *v)
{
	const struct hdf5_column *c = &t->columns[column];
	const unsigned char *p = row + t->offsets[column];
	uint64_t raw = 0;
	float f;

	switch (c->type) {
	case HDF5_I64:
		memcpy(&raw, p, c->size);
		if (t->is_signed[column])
			v->i = (int64_t)(raw << (64 - 8 * c->size)) >> (64 - 8 * c->size);
		else
			v->i = raw > INT64_MAX ? INT64_MAX : (int64_t)raw;
		v->d = (double)v->i;
		break;
	case HDF5_F32:
		memcpy(&f, p, sizeof(f));
		v->d = (double)f;
		break;
	case HDF5_F64:
		memcpy(&v->d, p, sizeof(v->d));
		break;
	case HDF5_TEXT:
		v->s = (const char *)p;
		v->n = strnlen(v->s, c->size);
		break;
	default:
		v->present = false;
	}
}

static int column_by_name(const struct opened *t, const char *name)
{
	for (int i = 0; i < t->column_count; i++)
		if (t->columns[i].type != HDF5_OTHER && !strcmp(t->columns[i].name, name))
			return i;
	return -1;
}

/* Reads n rows, starting with this one. */
static bool read_piece(const struct opened *t, uint64_t from, hsize_t n, void *to,
		       struct strbuf *reason)
{
	const hsize_t first = from;
	_cleanup_id_ hid_t file = H5Dget_space(t->id), memory = H5Screate_simple(1, &n, NULL);
	bool ok = file >= 0 && memory >= 0 &&
		  H5Sselect_hyperslab(file, H5S_SELECT_SET, &first, NULL, &n, NULL) >= 0 &&
		  H5Dread(t->id, t->type, memory, file, H5P_DEFAULT, to) >= 0;

	if (!ok)
		hdf5_reason(reason);
	return ok;
}

static int visit_rows(const struct hdf5_input *f, const struct opened *t, const int *wanted,
		      size_t count, uint64_t first, uint64_t end, hdf5_row_visitor visit,
		      void *user, struct strbuf *why)
{
	hsize_t step = HDF5_PIECE / t->row_size ? HDF5_PIECE / t->row_size : 1;
	_cleanup_free_ unsigned char *data = xmalloc((size_t)step * t->row_size);
	_cleanup_free_ struct hdf5_value *values = xcalloc(count ? count : 1, sizeof(*values));

	for (uint64_t row = first; row < end; row += step) {
		hsize_t n = end - row < step ? end - row : step;

		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
		if (!read_piece(t, row, n, data, &reason))
			return strbuf_fail(why, -EBADMSG, "'%s': damaged: %s", f->path, reason.buf);
		for (hsize_t i = 0; i < n; i++) {
			for (size_t c = 0; c < count; c++) {
				values[c] = (struct hdf5_value){.present = wanted[c] >= 0};
				if (wanted[c] >= 0)
					take_value(t, wanted[c], data + i * t->row_size,
						   &values[c]);
			}
			int r = visit(user, row + i, values);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

int hdf5_input_rows(struct hdf5_input *f, const char *job, const char *table,
		    const char *const *columns, size_t count, uint64_t first, uint64_t rows,
		    hdf5_row_visitor visit, void *user, struct strbuf *why)
{
	_cleanup_free_ int *wanted = xcalloc(count ? count : 1, sizeof(*wanted));
	_cleanup_free_ char *group = xasprintf("job_%s", job);
	_cleanup_free_ char *path = xasprintf("job_%s/%s", job, table);
	struct opened t;

	if (strchr(job, '/') || strchr(table, '/') || H5Lexists(f->id, group, H5P_DEFAULT) <= 0 ||
	    H5Lexists(f->id, path, H5P_DEFAULT) <= 0)
		return refuse(f, ENOENT, job, table, why, "no such table");
	int r = open_table(f, job, table, &t, why);
	if (r == -EMEDIUMTYPE)
		return refuse(f, ENOENT, job, table, why, "it is not a table");
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++)
		wanted[i] = column_by_name(&t, columns[i]);
	if (first > t.rows)
		first = t.rows;
	uint64_t end = rows < t.rows - first ? first + rows : t.rows;
	r = visit_rows(f, &t, wanted, count, first, end, visit, user, why);
	close_opened(&t);
	return r;
}
