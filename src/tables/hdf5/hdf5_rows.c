/*
 * Tables that are being written, and the rows that wait for them. Rows lie in blocks that begin and
 * end with the chunks of the table, so that a full block goes to the file as it is, without the
 * library looking at it. Tables stay open while they are used, since opening one takes the library
 * longer than writing to it. Each needs about 60 KB, so their number is limited.
 */
#include <math.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tables/hdf5/hdf5_writer.h"

#define OPEN_TABLES_MAX 1536
#define TWINS_MAX 16 /* tables with the same name and other columns that get a number */

/* ---- schemas ---- */

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
	s->number = w->schema_count++;
	s->next = w->schemas;
	w->schemas = s;
	return s;
}

void schemas_release(struct hdf5_writer *w)
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

/* ---- tables ---- */

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

static void close_table(struct hdf5_rows *t)
{
	if (t->id >= 0)
		H5Dclose(t->id);
	t->id = -1;
}

static uint64_t hash_of(const char *job, const char *name)
{
	return hash_more(hash_text(job), name, strlen(name));
}

struct hdf5_rows *hdf5_add_table(struct hdf5_writer *w, const char *job, const char *name,
				 struct hdf5_schema *schema, int version)
{
	uint64_t hash = hash_of(job, name);
	struct hdf5_rows *t;

	for (struct hash_slot *h = hash_map_first(&w->tables, hash); h;
	     h = hash_map_next(&w->tables, h)) {
		t = (struct hdf5_rows *)h->value;
		if (t->schema == schema && !strcmp(t->job, job) && !strcmp(t->name, name)) {
			unlink_table(t);
			use_table(w, t);
			return t;
		}
	}
	t = xcalloc(1, sizeof(*t));
	t->job = xstrdup(job);
	t->name = xstrdup(name);
	t->schema = schema;
	t->version = version;
	t->id = -1;
	use_table(w, t);
	hash_map_add(&w->tables, hash, (uintptr_t)t);
	return t;
}

/* Does a table of the file have these columns? */
static bool fits(hid_t table, const struct hdf5_schema *schema)
{
	_cleanup_id_ hid_t type = H5Dget_type(table);

	return type >= 0 && H5Tequal(type, schema->type) > 0;
}

static hid_t open_link(const struct hdf5_writer *w, const char *link)
{
	_cleanup_id_ hid_t access = hdf5_table_access();

	return H5Dopen2(w->file, link, access);
}

/* A hash of the columns. It is part of names in files: never change it. */
static uint64_t sum_of(const struct hdf5_schema *schema)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < schema->count; i++)
		strbuf_addf(&text, "%s %d %u\n", schema->columns[i].name,
			    (int)schema->columns[i].type, schema->columns[i].size);
	return XXH3_64bits(text.buf, text.len);
}

/* The path as the nth table of its name; the last one is unique to its columns. */
static char *link_of(const struct hdf5_rows *t, int nth)
{
	if (nth == 1)
		return xasprintf("job_%s/%s", t->job, t->name);
	if (nth <= TWINS_MAX)
		return xasprintf("job_%s/%s_%d", t->job, t->name, nth);
	return xasprintf("job_%s/%s_%016llx", t->job, t->name,
			 (unsigned long long)sum_of(t->schema));
}

/* Finds or creates the table of this name with these columns; if a table with other columns has the
 * name, a number is added to it. *ret_made: it was created. */
static bool find_table(struct hdf5_writer *w, struct hdf5_rows *t, bool *ret_made)
{
	*ret_made = false;
	for (int i = 1; i <= TWINS_MAX + 1 && !*ret_made; i++) {
		t->link = link_of(t, i);
		*ret_made = H5Lexists(w->file, t->link, H5P_DEFAULT) <= 0;
		t->id = *ret_made ? hdf5_make_table(w->models, w->file, t->job, t->link, t->schema,
						    t->version, w->level)
				  : open_link(w, t->link);
		if (t->id >= 0 && (*ret_made || fits(t->id, t->schema)))
			return true;
		close_table(t);
		free(t->link);
		t->link = NULL;
	}
	return false;
}

/* ---- rows that wait ---- */

/* Rows of the next block: up to the end of the chunk. */
static size_t next_room(const struct hdf5_rows *t)
{
	size_t chunk = t->chunk ? t->chunk : hdf5_chunk_rows(t->schema, t->job);

	return !t->link ? chunk : chunk - (size_t)((t->rows + t->count) % chunk);
}

static struct row_block *take_block(struct hdf5_writer *w, size_t bytes)
{
	struct row_block *b = w->spare;

	if (bytes > HDF5_CHUNK)
		return xmalloc(sizeof(*b) + bytes);
	w->taken++;
	if (!b)
		return xmalloc(sizeof(*b) + HDF5_CHUNK);
	w->spare = b->next;
	w->spares--;
	return b;
}

static void give_block(struct hdf5_writer *w, struct row_block *b, size_t row_size)
{
	if (b->room * row_size > HDF5_CHUNK) {
		free(b);
		return;
	}
	b->next = w->spare;
	w->spare = b;
	w->spares++;
}

static struct row_block *add_block(struct hdf5_writer *w, struct hdf5_rows *t, size_t room)
{
	struct row_block *b = take_block(w, room * t->schema->row_size);

	*b = (struct row_block){.room = room};
	if (t->last)
		t->last->next = b;
	else
		t->first = b;
	t->last = b;
	return b;
}

static void free_blocks(struct hdf5_writer *w, const struct hdf5_rows *t, struct row_block *b)
{
	for (struct row_block *next; b; b = next) {
		next = b->next;
		give_block(w, b, t->schema->row_size);
	}
}

static unsigned char *add_row(struct hdf5_writer *w, struct hdf5_rows *t)
{
	struct row_block *b = t->last;

	if (!b || b->count == b->room)
		b = add_block(w, t, next_room(t));
	t->count++;
	return b->rows + b->count++ * t->schema->row_size;
}

unsigned char *hdf5_add_row(struct hdf5_writer *w, struct hdf5_rows *t)
{
	size_t size = t->schema->row_size;
	unsigned char *row = add_row(w, t);

	memcpy(row, t->schema->fill, size);
	w->held += size;
	return row;
}

/* Copies rows between the file and memory. */
static bool transfer(const struct hdf5_rows *t, uint64_t from, hsize_t n, void *memory, bool write)
{
	const hsize_t first = from;
	_cleanup_id_ hid_t there = H5Dget_space(t->id), here = H5Screate_simple(1, &n, NULL);
	bool ok = there >= 0 && here >= 0 &&
		  H5Sselect_hyperslab(there, H5S_SELECT_SET, &first, NULL, &n, NULL) >= 0;

	if (ok && write)
		ok = H5Dwrite(t->id, t->schema->type, here, there, H5P_DEFAULT, memory) >= 0;
	else if (ok)
		ok = H5Dread(t->id, t->schema->type, here, there, H5P_DEFAULT, memory) >= 0;
	return ok;
}

/* Moves rows that were added before their place in a chunk was known. Behind the rows of a
 * compressed last chunk, which are read back from the file. */
static bool align(struct hdf5_writer *w, struct hdf5_rows *t)
{
	struct row_block *came = t->first;
	size_t size = t->schema->row_size, tail = t->chunk ? (size_t)(t->rows % t->chunk) : 0;
	bool ok = true;

	if (!tail && t->chunk == hdf5_chunk_rows(t->schema, t->job))
		return true;
	t->first = t->last = NULL;
	t->count = 0;
	if (tail && t->packed) {
		struct row_block *b = add_block(w, t, t->chunk);

		ok = transfer(t, t->rows - tail, tail, b->rows, false);
		b->count = t->kept = tail;
	}
	for (const struct row_block *b = came; b; b = b->next)
		for (size_t i = 0; i < b->count; i++)
			memcpy(add_row(w, t), b->rows + i * size, size);
	free_blocks(w, t, came);
	return ok;
}

static bool look_at(struct hdf5_writer *w, struct hdf5_rows *t)
{
	_cleanup_id_ hid_t space = H5Dget_space(t->id);
	hsize_t rows = 0;
	bool ok = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
		  H5Sget_simple_extent_dims(space, &rows, NULL) == 1;

	t->rows = rows;
	t->chunk = chunk_rows_of(t->id, t->schema->row_size, &t->packed);
	return ok && align(w, t);
}

static bool open_table(struct hdf5_writer *w, struct hdf5_rows *t, bool *ret_made)
{
	if (t->link) {
		t->id = open_link(w, t->link);
		return t->id >= 0;
	}
	if (!hdf5_make_group(w->models, w->file, t->job) || !find_table(w, t, ret_made))
		return false;
	if (!*ret_made)
		return look_at(w, t);
	t->chunk = hdf5_chunk_rows(t->schema, t->job);
	t->packed = w->level;
	return true;
}

static bool write_block(const struct hdf5_writer *w, const struct hdf5_rows *t, uint64_t at,
			struct row_block *b)
{
	const hsize_t offset = at;

	if (t->packed)
		return chunk_write(w->packer, t->id, at, b->rows, b->count, t->chunk,
				   t->schema->row_size);
	if (b->count == t->chunk && at % t->chunk == 0)
		return H5Dwrite_chunk(t->id, H5P_DEFAULT, 0, &offset,
				      b->count * t->schema->row_size, b->rows) >= 0;
	return transfer(t, at, b->count, b->rows, true);
}

/* Drops what was written, except the rows of a compressed chunk that is not full yet. */
static void forget_written(struct hdf5_writer *w, struct hdf5_rows *t)
{
	struct row_block *b = t->first, *last = t->last;
	bool keep = t->packed && last->count < last->room;

	while (b && (b != last || !keep)) {
		struct row_block *next = b->next;

		give_block(w, b, t->schema->row_size);
		b = next;
	}
	t->first = t->last = b;
	t->kept = b ? b->count : 0;
	t->count = 0;
}

bool table_append(struct hdf5_writer *w, struct hdf5_rows *t)
{
	bool made = false;

	if (t->id < 0 && !open_table(w, t, &made))
		return false;
	const hsize_t size = t->rows + t->count;
	uint64_t at = t->rows - t->kept;
	if (H5Dset_extent(t->id, &size) < 0)
		return false;
	for (struct row_block *b = t->first; b; b = b->next) {
		if (!write_block(w, t, at, b))
			return false;
		at += b->count;
	}
	t->rows = size;
	forget_written(w, t);
	/* lets the library drop it from its cache */
	if (made)
		close_table(t);
	return true;
}

/* ---- the end ---- */

static void free_table(struct hdf5_writer *w, struct hdf5_rows *t)
{
	struct hash_slot *h = hash_map_first(&w->tables, hash_of(t->job, t->name));

	while (h->value != (uintptr_t)t)
		h = hash_map_next(&w->tables, h);
	hash_map_remove(&w->tables, h);
	unlink_table(t);
	close_table(t);
	free_blocks(w, t, t->first);
	free(t->link);
	free(t->job);
	free(t->name);
	free(t);
}

/* Keeps as many as this commit needed: memory for a large one is not kept for small ones. */
static void bound_spares(struct hdf5_writer *w, size_t most)
{
	while (w->spares > most) {
		struct row_block *b = w->spare;

		w->spare = b->next;
		w->spares--;
		free(b);
	}
	w->taken = 0;
}

void tables_bound(struct hdf5_writer *w)
{
	while (w->tables.count > OPEN_TABLES_MAX)
		free_table(w, w->used.newer);
	bound_spares(w, w->taken);
}

void tables_release(struct hdf5_writer *w)
{
	while (w->used.older != &w->used)
		free_table(w, w->used.older);
	hash_map_release(&w->tables);
	bound_spares(w, 0);
}
