/* Shared by the files of the module "hdf5". */
#pragma once

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include "tables/hdf5/hdf5_file.h"
#include "tables/table.h"
#include "tables/text_values.h"

/* Appends the library's message about its last failure, as one line. */
void hdf5_reason(struct strbuf *why);

/* Closes an identifier of any kind; negative: there is none. */
static inline void hdf5_close_id(hid_t *id)
{
	if (*id >= 0)
		H5Idec_ref(*id);
}
#define _cleanup_id_ _cleanup_(hdf5_close_id)

/* ---- a driver below the library ---- */

/* A file that the library reads and writes by these functions. */
struct driver_file {
	H5FD_t pub; /* the library's; must be first */
	haddr_t eoa;
	uint64_t size; /* of the file now */
	/* Negative: it failed. */
	int (*read)(struct driver_file *f, uint64_t addr, size_t size, void *buffer);
	/* rows: not the library's metadata. NULL: the file is only read. */
	int (*write)(struct driver_file *f, uint64_t addr, size_t size, const void *buffer,
		     bool rows);
};

/* A property list to open the file with, closed by the caller; negative: it failed. */
hid_t driver_access(struct driver_file *f);
/* Limits how much metadata the library caches of a file. */
void hdf5_size_cache(hid_t file, bool small);

/* ---- the journal ----
 * Two files that are written in turn: while one is being written, the other has the last commit. */

struct journal {
	int dir; /* locked while it is open */
	int slots[2];
	uint64_t sequence; /* of the last commit, which is in slot sequence % 2 */
};

/* Identifies a file: its name may change, and inode numbers are reused. */
struct file_identity {
	uint64_t inode;
	int64_t born_s;
	uint32_t born_ns;
};
int file_identify(int fd, struct file_identity *ret);

/* -EBUSY: another process uses it. */
int journal_open(struct journal *j, const char *dir, struct strbuf *why);
void journal_close(struct journal *j);
/* Writes what will be overwritten: a sequence of { u64 offset, u32 size, bytes }. It is valid after
 * journal_sync(). */
int journal_write(struct journal *j, const char *path, const struct file_identity *id,
		  uint64_t position, uint64_t end, const struct strbuf *pieces);
int journal_sync(struct journal *j);
/* Writes the pieces to a file; stops at the first failure. */
int journal_apply(int fd, const void *pieces, size_t n);
/* See hdf5_functions.recover. */
int journal_recover(struct journal *j, struct hdf5_commit *ret, struct strbuf *why);
int hdf5_recover(const char *dir, struct hdf5_commit *ret, struct strbuf *why);

/* ---- files that go from commit to commit ----
 * Data that the library writes behind the end of the last commit goes to the file at any time,
 * since nothing that is committed refers to it. What it overwrites is held back until the commit.
 * So the library never meets a full disk. */

struct shadow;

struct shadow *shadow_new(int fd); /* takes fd */
void shadow_free(struct shadow *s);
/* For driver_access(). */
struct driver_file *shadow_driver(struct shadow *s);
/* Where the file ends for the library. */
uint64_t shadow_end(const struct shadow *s);
/* See is_gone in hdf5_file.h. */
bool shadow_is_gone(const struct shadow *s, const char *path);
/* Forgets everything that is not committed, now and later, and truncates the file. */
void shadow_discard(struct shadow *s);
/* j NULL: for a new file. -EAGAIN: no space left, call again. */
int shadow_commit(struct shadow *s, struct journal *j, const char *path, uint64_t position,
		  struct strbuf *why);
/* Notes in the journal that this file, as it is now, is the current one. */
int shadow_note(struct shadow *s, struct journal *j, const char *path, uint64_t position,
		struct strbuf *why);
/* Syncs it, and truncates it to its end. */
int shadow_settle(struct shadow *s);

/* ---- reading ----
 * A file is read by a child process that can access this file only (core/system/sandbox.h):
 * hdf5_open() starts it, and its answers come through a socket. Visits do not nest: -EBUSY. */

/* A file of this size expands to at most this many times as many bytes by deflate. */
#define HDF5_RATIO 1100
#define HDF5_PIECE (1u << 20) /* bytes of rows that are read at once */

int hdf5_open(const char *path, struct hdf5_file **ret, struct strbuf *why);
void hdf5_close(struct hdf5_file *f);
int hdf5_tables(struct hdf5_file *f, const char *job, hdf5_table_visitor visit, void *user,
		struct strbuf *why);
int hdf5_read_rows(struct hdf5_file *f, const char *job, const char *table,
		   const char *const *columns, size_t count, uint64_t first, uint64_t rows,
		   hdf5_row_visitor visit, void *user, struct strbuf *why);
/* Can a file be opened safely? whole: every table of it as well. */
int hdf5_probe(const char *path, bool whole, struct strbuf *why);

/* Used by the child. */
struct hdf5_input;
int hdf5_input_open(int fd, const char *path, struct hdf5_input **ret, struct strbuf *why);
void hdf5_input_close(struct hdf5_input *f);
int hdf5_input_tables(struct hdf5_input *f, const char *job, hdf5_table_visitor visit, void *user,
		      struct strbuf *why);
int hdf5_input_rows(struct hdf5_input *f, const char *job, const char *table,
		    const char *const *columns, size_t count, uint64_t first, uint64_t rows,
		    hdf5_row_visitor visit, void *user, struct strbuf *why);

/* ---- writing ---- */

struct hdf5_schema {
	struct hdf5_schema *next;
	unsigned number;             /* unique in a writer */
	struct hdf5_column *columns; /* names owned */
	size_t count, row_size;
	char *note;          /* NULL: none */
	unsigned char *fill; /* one row */
	hid_t type;          /* in the file and in memory */
};

#define HDF5_NOTE "PLIMSOLL_METRICS"

/* A file in memory with empty groups and tables as templates: the library copies one in a third of
 * the time it takes to create one. Negative: not available. */
hid_t hdf5_models(void);
/* Creates the group of a job if it does not exist. */
bool hdf5_make_group(hid_t models, hid_t file, const char *job);
/* Creates an empty table with this path. */
hid_t hdf5_make_table(hid_t models, hid_t file, const char *job, const char *link,
		      const struct hdf5_schema *schema, int version, int level);
/* Bytes of a chunk, the least that a job's table takes. */
#define HDF5_CHUNK ((size_t)16 << 10)
/* Rows per chunk in tables that we create. */
size_t hdf5_chunk_rows(const struct hdf5_schema *schema, const char *job);
/* Sets the attributes that PyTables expects of the root group. */
bool hdf5_make_root(hid_t file);
bool hdf5_set_attribute(hid_t object, const char *name, hid_t type, const void *value);
bool hdf5_set_text(hid_t object, const char *name, const char *text);
/* Sets a pickle of protocol 0, which PyTables loads as a value. */
bool hdf5_set_pickle(hid_t object, const char *name, const char *pickle);
/* An access list without a chunk cache, since we write whole chunks or plain rows. */
hid_t hdf5_table_access(void);

/* ---- tables of tables/table.h ---- */

struct pandas_field;

/* A table that is being written as pandas does; see hdf5_table.c. */
struct pandas_file {
	struct table_file file;
	hid_t container, group, table, row_type;
	char *path, *key;
	struct pandas_field *fields;
	size_t row_size, chunk; /* rows of a chunk */
	unsigned char *rows;    /* waiting to be written: at most a chunk */
	size_t waiting;
	uint64_t written;
	struct table_encoded *texts; /* of the current batch, one per column */
	uint64_t cut;                /* texts that were too long */
	bool made, ended;            /* the group exists; the table is complete */
};
int hdf5_pandas_open(struct table_file *t, const char *path, const struct table_options *o,
		     struct strbuf *why);
int hdf5_pandas_write(struct table_file *t, const struct table_batch *b, struct strbuf *why);
int hdf5_pandas_end(struct table_file *t, struct strbuf *why);
void hdf5_pandas_release(struct table_file *t);

/* ---- chunks that we compress ourselves ---- */

struct chunk_writer;
struct chunk_writer *chunk_writer_new(int level);
void chunk_writer_free(struct chunk_writer *p);
/* Writes n rows of the chunk that begins with row "at"; the rest of it is empty. */
bool chunk_write(struct chunk_writer *p, hid_t table, uint64_t at, const unsigned char *rows,
		 size_t n, size_t chunk_rows, size_t row_size);
/* Rows per chunk if we can write whole chunks; 0: only the library can. */
size_t chunk_rows_of(hid_t table, size_t row_size, bool *ret_packed);

int hdf5_create(const struct hdf5_writer_options *o, struct hdf5_writer **ret, struct strbuf *why);
struct hdf5_schema *hdf5_add_schema(struct hdf5_writer *w, const struct hdf5_column *columns,
				    size_t count, const char *note);
struct hdf5_rows *hdf5_add_table(struct hdf5_writer *w, const char *job, const char *name,
				 struct hdf5_schema *schema, int version);
unsigned char *hdf5_add_row(struct hdf5_writer *w, struct hdf5_rows *t);
size_t hdf5_held(const struct hdf5_writer *w);
uint64_t hdf5_size(const struct hdf5_writer *w);
uint64_t hdf5_begin(const struct hdf5_writer *w);
int hdf5_commit(struct hdf5_writer *w, uint64_t position, struct strbuf *why);
uint64_t hdf5_position(const struct hdf5_writer *w);
bool hdf5_is_gone(const struct hdf5_writer *w);
int hdf5_finish(struct hdf5_writer *w);
