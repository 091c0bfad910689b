/*
 * Tables of tables/table.h in HDF5 files, as pandas writes them with format="table" and every
 * column a data column: a group with pandas' attributes, and in it "table", rows of named fields,
 * which PyTables and h5py read as well. The format has limits:
 *
 * - Text has a fixed width, that of the longest. If that makes the table too large, texts are cut,
 *   with a warning. Absent text is U+FFFF, which occurs in no text: pandas makes it NaN.
 * - A whole number cannot be absent: a column with absent ones becomes floating point, with NaN.
 * - A field name cannot contain a slash: it is replaced by a name in pandas' style, and pandas
 * still shows the name of the column.
 * - Lists in attributes are pickles of protocol 0, which are text.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "core/text/text.h"
#include "tables/column_dictionary.h"
#include "tables/hdf5/hdf5_module.h"

#define ABSENT "\xef\xbf\xbf"
#define CHUNK_BYTES ((size_t)256 << 10)
#define TEXT_BYTES ((uint64_t)1 << 30) /* of a table, as it is in memory */
#define WIDTH_SURE 255u                /* texts up to this many bytes are never cut */
#define LEVEL 1                        /* of compression: more takes long and gains little */
#define NOT_A_TIME INT64_MIN

struct pandas_field {
	char *name;
	hid_t type;
	size_t at, size;
	bool real; /* whole numbers of which some are absent */
	bool data; /* it has the column's name */
};

static int failed(struct pandas_file *f, const char *what, struct strbuf *why)
{
	strbuf_addf(why, "cannot %s '%s': ", what, f->path);
	hdf5_reason(why);
	return -EIO;
}

/* ---- fields ---- */

static hid_t text_type(size_t size)
{
	hid_t t = H5Tcopy(H5T_C_S1);

	H5Tset_size(t, size);
	H5Tset_strpad(t, H5T_STR_NULLTERM);
	return t;
}

/* As wide as the longest text, unless all of them together are too large. */
static size_t width_of(const struct table_column *columns, size_t count,
		       const struct table_options *o, size_t c)
{
	uint64_t all = 0, wide = 0, rows = o->rows > 0 ? (uint64_t)o->rows : 1;
	size_t width = o->hints[c].width, least = o->hints[c].absent ? sizeof(ABSENT) - 1 : 1;

	for (size_t i = 0; i < count; i++) {
		if (columns[i].type != TABLE_TEXT)
			continue;
		all += o->hints[i].width;
		wide += o->hints[i].width > WIDTH_SURE;
	}
	if (all > TEXT_BYTES / rows && width > WIDTH_SURE) {
		uint64_t share = TEXT_BYTES / rows / wide;

		share = share < WIDTH_SURE ? WIDTH_SURE : share;
		width = share < width ? (size_t)share : width;
	}
	return width < least ? least : width;
}

static void make_fields(struct pandas_file *f, const struct table_options *o)
{
	size_t at = sizeof(int64_t), odd = 0;

	f->fields = xcalloc(f->file.count + 1, sizeof(*f->fields));
	for (size_t c = 0; c < f->file.count; c++) {
		const struct table_column *column = &f->file.columns[c];
		struct pandas_field *d = &f->fields[c];

		d->at = at;
		d->size = sizeof(int64_t);
		d->data = !strchr(column->name, '/') && *column->name &&
			  strcmp(column->name, ".") != 0 && strcmp(column->name, "index") != 0;
		d->name = d->data ? xstrdup(column->name) : xasprintf("values_block_%zu", odd++);
		d->real = column->type == TABLE_INT && o->hints[c].absent;
		if (column->type == TABLE_TEXT) {
			d->size = width_of(f->file.columns, f->file.count, o, c);
			d->type = text_type(d->size);
		} else {
			d->type = H5Tcopy(column->type == TABLE_REAL || d->real ? H5T_IEEE_F64LE
										: H5T_STD_I64LE);
		}
		at += d->size;
	}
	f->row_size = at;
}

/* ---- attributes ---- */

/* The character of a valid UTF-8 sequence. */
static unsigned decode(const char *s, size_t size)
{
	static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	unsigned character = (unsigned char)s[0] & first[size];

	for (size_t i = 1; i < size; i++)
		character = character << 6 | ((unsigned char)s[i] & 0x3f);
	return character;
}

/* Adds a text to a pickle of protocol 0. */
static void add_pickled(struct strbuf *out, const char *s)
{
	size_t n = strlen(s);

	strbuf_addch(out, 'V');
	while (n) {
		size_t size = utf8_sequence(s, n);
		unsigned character = size ? decode(s, size) : 0xfffd;

		if (character > 0xffff)
			strbuf_addf(out, "\\U%08x", character);
		else if (character > 126 || character < 32 || character == '\\')
			strbuf_addf(out, "\\u%04x", character);
		else
			strbuf_addch(out, (char)character);
		s += size ? size : 1;
		n -= size ? size : 1;
	}
	strbuf_addch(out, '\n');
}

/* Adds the names of columns or fields; data: only those of fields with their column's name. */
static void add_names(struct strbuf *out, const struct pandas_file *f, bool fields, bool data)
{
	strbuf_addstr(out, "(l");
	for (size_t c = 0; c < f->file.count; c++) {
		if (data && !f->fields[c].data)
			continue;
		add_pickled(out, fields ? f->fields[c].name : f->file.columns[c].name);
		strbuf_addch(out, 'a');
	}
}

static bool set_names(struct pandas_file *f, const char *attribute, bool data)
{
	_cleanup_strbuf_ struct strbuf p = STRBUF_INIT;

	add_names(&p, f, true, data);
	strbuf_addch(&p, '.');
	return hdf5_set_pickle(f->group, attribute, p.buf);
}

static bool set_axes(struct pandas_file *f)
{
	_cleanup_strbuf_ struct strbuf p = STRBUF_INIT;

	strbuf_addstr(&p, "(l(I1\n");
	add_names(&p, f, false, false);
	strbuf_addstr(&p, "ta.");
	return hdf5_set_pickle(f->group, "non_index_axes", p.buf);
}

/* Names the columns with a time zone. */
static bool set_info(struct pandas_file *f)
{
	_cleanup_strbuf_ struct strbuf p = STRBUF_INIT;

	strbuf_addstr(&p, "(dI1\n(dVtype\nVIndex\nsVnames\n(lNassVindex\n(ds");
	for (size_t c = 0; c < f->file.count; c++) {
		if (f->file.columns[c].type != TABLE_TIME)
			continue;
		add_pickled(&p, f->fields[c].name);
		strbuf_addstr(&p, "(dVtz\nVUTC\nss");
	}
	strbuf_addch(&p, '.');
	return hdf5_set_pickle(f->group, "info", p.buf);
}

static bool mark_group(struct pandas_file *f)
{
	static const char *const texts[][2] = {
		{"CLASS", "GROUP"},
		{"TITLE", ""},
		{"VERSION", "1.0"},
		{"encoding", "UTF-8"},
		{"errors", "strict"},
		{"nan_rep", ABSENT},
		{"pandas_type", "frame_table"},
		{"pandas_version", "0.15.2"},
		{"table_type", "appendable_frame"},
	};
	const int64_t one = 1;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (!hdf5_set_text(f->group, texts[i][0], texts[i][1]))
			return false;
	return hdf5_set_attribute(f->group, "levels", H5T_STD_I64LE, &one) &&
	       hdf5_set_pickle(f->group, "index_cols", "(l(I0\nVindex\nta.") && set_axes(f) &&
	       set_info(f) && set_names(f, "values_cols", false) &&
	       set_names(f, "data_columns", true);
}

static bool mark_text(hid_t object, const char *text, const char *format, ...) PL_PRINTF(3, 4);
static bool mark_text(hid_t object, const char *text, const char *format, ...)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;
	va_list ap;

	va_start(ap, format);
	strbuf_vaddf(&name, format, ap);
	va_end(ap);
	return hdf5_set_text(object, name.buf, text);
}

static bool mark_field(struct pandas_file *f, size_t c)
{
	_cleanup_strbuf_ struct strbuf type = STRBUF_INIT, kind = STRBUF_INIT, name = STRBUF_INIT;
	const struct pandas_field *d = &f->fields[c];
	const struct table_column *column = &f->file.columns[c];

	if (column->type == TABLE_TEXT)
		strbuf_addf(&type, "bytes%zu", d->size * 8);
	else
		strbuf_addstr(&type, column->type == TABLE_TIME              ? "datetime64"
				     : column->type == TABLE_REAL || d->real ? "float64"
									     : "int64");
	strbuf_addstr(&kind, "(l");
	add_pickled(&kind, column->name);
	strbuf_addstr(&kind, "a.");
	strbuf_addf(&name, "%s_kind", d->name);
	return mark_text(f->table, d->name, "FIELD_%zu_NAME", c + 1) &&
	       mark_text(f->table, type.buf, "%s_dtype", d->name) &&
	       hdf5_set_pickle(f->table, name.buf, kind.buf) &&
	       (!column->help || mark_text(f->table, column->help, "%s_help", d->name));
}

static bool mark_table(struct pandas_file *f)
{
	if (!hdf5_set_text(f->table, "CLASS", "TABLE") ||
	    !hdf5_set_text(f->table, "VERSION", "2.7") || !hdf5_set_text(f->table, "TITLE", "") ||
	    !hdf5_set_text(f->table, "FIELD_0_NAME", "index") ||
	    !hdf5_set_text(f->table, "index_kind", "integer"))
		return false;
	for (size_t c = 0; c < f->file.count; c++)
		if (!mark_field(f, c))
			return false;
	return true;
}

/* ---- opening ---- */

static void close_ids(struct pandas_file *f)
{
	hdf5_close_id(&f->table);
	hdf5_close_id(&f->group);
	hdf5_close_id(&f->row_type);
	for (size_t c = 0; f->fields && c < f->file.count; c++)
		if (f->fields[c].type > 0)
			H5Tclose(f->fields[c].type);
	f->table = f->group = f->row_type = -1;
}

void hdf5_pandas_release(struct table_file *t)
{
	struct pandas_file *f = (struct pandas_file *)t;

	if (!f->path)
		return;
	if (!f->ended)
		close_ids(f);
	if (f->made && !f->ended)
		(void)H5Ldelete(f->container, f->key, H5P_DEFAULT);
	hdf5_close_id(&f->container);
	for (size_t c = 0; c < t->count; c++) {
		if (f->fields)
			free(f->fields[c].name);
		table_encoded_release(&f->texts[c]);
	}
	free(f->texts);
	free(f->fields);
	free(f->rows);
	free(f->path);
	free(f->key);
}

static bool make_row_type(struct pandas_file *f)
{
	f->row_type = H5Tcreate(H5T_COMPOUND, f->row_size);
	if (f->row_type < 0 || H5Tinsert(f->row_type, "index", 0, H5T_STD_I64LE) < 0)
		return false;
	for (size_t c = 0; c < f->file.count; c++)
		if (H5Tinsert(f->row_type, f->fields[c].name, f->fields[c].at, f->fields[c].type) <
		    0)
			return false;
	return true;
}

static bool make_dataset(struct pandas_file *f, bool pack)
{
	const hsize_t none = 0, any = H5S_UNLIMITED, rows = f->chunk;
	_cleanup_id_ hid_t space = H5Screate_simple(1, &none, &any);
	_cleanup_id_ hid_t how = H5Pcreate(H5P_DATASET_CREATE);
	bool ok = H5Pset_chunk(how, 1, &rows) >= 0 &&
		  H5Pset_fill_time(how, H5D_FILL_TIME_NEVER) >= 0 &&
		  (!pack || (H5Pset_shuffle(how) >= 0 && H5Pset_deflate(how, LEVEL) >= 0));
	_cleanup_id_ hid_t access = hdf5_table_access();

	if (ok)
		f->table =
			H5Dcreate2(f->group, "table", f->row_type, space, H5P_DEFAULT, how, access);
	return f->table >= 0;
}

static int open_container(struct pandas_file *f, bool append, struct strbuf *why)
{
	_cleanup_id_ hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

	H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
	f->container = append ? H5Fopen(f->path, H5F_ACC_RDWR, fapl)
			      : H5Fcreate(f->path, H5F_ACC_TRUNC, H5P_DEFAULT, fapl);
	if (f->container < 0)
		return failed(f, append ? "add to" : "create", why);
	if (!append && !hdf5_make_root(f->container))
		return failed(f, "write", why);
	return 0;
}

static int make_table(struct pandas_file *f, const struct table_options *o, struct strbuf *why)
{
	/* replaces an older one of the same name */
	if (H5Lexists(f->container, f->key, H5P_DEFAULT) > 0 &&
	    H5Ldelete(f->container, f->key, H5P_DEFAULT) < 0)
		return failed(f, "replace a table in", why);
	make_fields(f, o);
	f->chunk = CHUNK_BYTES / f->row_size;
	f->chunk = f->chunk ? f->chunk : 1;
	f->rows = xcalloc(f->chunk, f->row_size);
	f->group = H5Gcreate2(f->container, f->key, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	f->made = f->group >= 0;
	if (f->group < 0 || !mark_group(f) || !make_row_type(f) ||
	    !make_dataset(f, !o->codec || strcmp(o->codec, "none") != 0) || !mark_table(f))
		return failed(f, "create a table in", why);
	return 0;
}

/* Hints for when nothing is known of the columns. */
static const struct table_hint *any_hints(size_t count)
{
	struct table_hint *h = xcalloc(count + 1, sizeof(*h));

	for (size_t c = 0; c < count; c++)
		h[c] = (struct table_hint){.width = WIDTH_SURE, .absent = true};
	return h;
}

int hdf5_pandas_open(struct table_file *t, const char *path, const struct table_options *o,
		     struct strbuf *why)
{
	struct pandas_file *f = (struct pandas_file *)t;

	if (o->codec && strcmp(o->codec, "zlib") != 0 && strcmp(o->codec, "none") != 0)
		return strbuf_fail(why, -EINVAL, "hdf5 does not support %s; use zlib or none",
				   o->codec);
	f->container = f->group = f->table = f->row_type = -1;
	f->path = xstrdup(path);
	f->key = xstrdup(o->table);
	f->texts = xcalloc(t->count + 1, sizeof(*f->texts));
	for (size_t c = 0; c < t->count; c++)
		f->texts[c] = (struct table_encoded){.bytes = STRBUF_INIT};
	struct table_options options = *o;
	const struct table_hint *any = o->hints ? NULL : any_hints(t->count);
	options.hints = any ? any : o->hints;
	int r = open_container(f, o->append, why);
	if (r >= 0)
		r = make_table(f, &options, why);
	free((void *)any);
	return r;
}

/* ---- rows ---- */

static int flush_rows(struct pandas_file *f, struct strbuf *why)
{
	const hsize_t at = f->written, n = f->waiting, size = at + n;
	bool ok = H5Dset_extent(f->table, &size) >= 0;
	_cleanup_id_ hid_t space = ok ? H5Dget_space(f->table) : -1;
	_cleanup_id_ hid_t memory = H5Screate_simple(1, &n, NULL);

	ok = ok && H5Sselect_hyperslab(space, H5S_SELECT_SET, &at, NULL, &n, NULL) >= 0 &&
	     H5Dwrite(f->table, f->row_type, memory, space, H5P_DEFAULT, f->rows) >= 0;
	int r = ok ? 0 : failed(f, "write", why);
	f->written += n;
	f->waiting = 0;
	return r;
}

/* A text that is too long is cut after a whole character. */
static void put_text(struct pandas_file *f, const struct pandas_field *d, unsigned char *to,
		     const char *s, size_t n)
{
	if (n > d->size) {
		n = d->size;
		while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--;
		f->cut++;
	}
	memcpy(to, s, n);
	memset(to + n, 0, d->size - n);
}

static void put_column(struct pandas_file *f, size_t c, const struct table_values *v, size_t from,
		       size_t n)
{
	const struct pandas_field *d = &f->fields[c];
	unsigned char *to = f->rows + f->waiting * f->row_size + d->at;
	const double nan = __builtin_nan("");
	const int64_t no_time = NOT_A_TIME;

	for (size_t i = from; i < from + n; i++, to += f->row_size) {
		bool absent = v->absent && v->absent[i];

		if (f->file.columns[c].type == TABLE_TEXT && absent) {
			put_text(f, d, to, ABSENT, sizeof(ABSENT) - 1);
		} else if (f->file.columns[c].type == TABLE_TEXT) {
			const struct table_encoded *e = &f->texts[c];
			size_t at = e->begin[v->codes[i]];

			put_text(f, d, to, e->bytes.buf + at, e->begin[v->codes[i] + 1] - at);
		} else if (absent) {
			memcpy(to,
			       f->file.columns[c].type == TABLE_TIME ? (const void *)&no_time
								     : &nan,
			       8);
		} else if (d->real) {
			double real = (double)v->ints[i];

			memcpy(to, &real, sizeof(real));
		} else {
			memcpy(to, &v->ints[i], sizeof(v->ints[i]));
		}
	}
}

/* pandas reads texts as UTF-8. */
static void add_utf8(void *user PL_UNUSED, struct strbuf *out, const char *s, size_t n)
{
	table_add_utf8(out, s, n);
}

int hdf5_pandas_write(struct table_file *t, const struct table_batch *b, struct strbuf *why)
{
	struct pandas_file *f = (struct pandas_file *)t;
	int r = 0;

	for (size_t c = 0; c < f->file.count; c++)
		if (f->file.columns[c].type == TABLE_TEXT)
			table_encode(&f->texts[c], &b->columns[c].texts, add_utf8, NULL);
	for (size_t at = 0; at < b->rows && r >= 0;) {
		size_t room = f->chunk - f->waiting, n = b->rows - at < room ? b->rows - at : room;

		for (size_t i = 0; i < n; i++) {
			const int64_t index = (int64_t)(f->written + f->waiting + i);

			memcpy(f->rows + (f->waiting + i) * f->row_size, &index, sizeof(index));
		}
		for (size_t c = 0; c < f->file.count; c++)
			put_column(f, c, &b->columns[c], at, n);
		f->waiting += n;
		at += n;
		if (f->waiting == f->chunk)
			r = flush_rows(f, why);
	}
	return r;
}

/* ---- the end ---- */

static int sync_container(struct pandas_file *f, struct strbuf *why)
{
	_cleanup_close_ int fd = open(f->path, O_RDONLY | O_CLOEXEC);

	int e = fd < 0 ? -errno : fs_sync(fd);
	if (e == 0)
		return 0;
	return strbuf_fail(why, e, "cannot write '%s': %s", f->path, strerror(-e));
}

int hdf5_pandas_end(struct table_file *t, struct strbuf *why)
{
	struct pandas_file *f = (struct pandas_file *)t;
	int r = f->waiting ? flush_rows(f, why) : 0;

	close_ids(f);
	if (r >= 0 && H5Fflush(f->container, H5F_SCOPE_GLOBAL) < 0)
		r = failed(f, "write", why);
	if (H5Fclose(f->container) < 0 && r >= 0)
		r = failed(f, "write", why);
	f->container = -1;
	f->ended = true;
	if (r >= 0)
		r = sync_container(f, why);
	if (r >= 0 && f->cut)
		strbuf_addf(why,
			    "%llu %s longer than columns of '%s' can be, and cut; "
			    "parquet and feather have all of them",
			    (unsigned long long)f->cut, plural(f->cut, "text is", "texts are"),
			    f->key);
	return r;
}
