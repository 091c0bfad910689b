/* Shared by the files of the module "hdf5". */
#ifndef PL_TABLES_HDF5_HDF5_MODULE_H
#define PL_TABLES_HDF5_HDF5_MODULE_H

#include <hdf5.h>

#include "tables/hdf5/hdf5_file.h"
#include "tables/table.h"

/* What the library has to say about its last failure, in one line behind what is said already. */
void hdf5_reason(struct strbuf *why);

/* ---- the journal ------------------------------------------------------------------------------
 * Two files that are written in turn: while one is being written, the other has the last commit. */

struct journal {
	int dir; /* locked while it is open */
	int slots[2];
	uint64_t sequence; /* of the last commit; its slot is sequence % 2 */
};

/* Which file is meant: names may change, and numbers of files are used again. */
struct file_identity {
	uint64_t inode;
	int64_t born_s;
	uint32_t born_ns;
};
int file_identify(int fd, struct file_identity *ret);

/* -EBUSY: another process has it. */
int journal_open(struct journal *j, const char *dir, struct strbuf *why);
void journal_close(struct journal *j);
/* Overwritten bytes: pieces of { u64 offset, u32 size, bytes } one behind the other. It counts once
 * it is synced. */
int journal_sync(struct journal *j);
int journal_write(struct journal *j, const char *path, const struct file_identity *id,
		  uint64_t position, uint64_t end, const struct strbuf *pieces);
/* Writes the pieces to a file; stops at the first failure. */
int journal_apply(int fd, const void *pieces, size_t n);
/* See hdf5_functions.recover. */
int journal_recover(struct journal *j, struct hdf5_commit *ret, struct strbuf *why);
int hdf5_recover(const char *dir, struct hdf5_commit *ret, struct strbuf *why);

/* ---- files that go from commit to commit --------------------------------------------------------
 * A driver below the library. What the library writes behind the end of the last commit goes to the
 * file at any time, since nothing that is committed leads there; what it overwrites is held back
 * until the commit. So the library never sees a full disk. */

struct shadow;

struct shadow *shadow_new(int fd); /* is taken */
void shadow_free(struct shadow *s);
/* A property list to open the file with; to be closed by the caller. */
hid_t shadow_fapl(struct shadow *s);
/* How much of what is not rows the library keeps of a file. */
void hdf5_size_cache(hid_t file, bool small);
/* Where the file ends for the library. */
uint64_t shadow_end(const struct shadow *s);
/* See is_gone in hdf5_file.h. */
bool shadow_is_gone(const struct shadow *s, const char *path);
size_t shadow_held(const struct shadow *s);
/* Forget all that was not committed, also what is written from now on, and cut it off. */
void shadow_discard(struct shadow *s);
/* j NULL: for a file that nobody knows yet. -EAGAIN: no room, call again. */
int shadow_commit(struct shadow *s, struct journal *j, const char *path, uint64_t position,
		  struct strbuf *why);
/* The journal says that this file is the one, as it is now. */
int shadow_note(struct shadow *s, struct journal *j, const char *path, uint64_t position,
		struct strbuf *why);
/* All of it on the disk, and nothing behind its end. */
int shadow_settle(struct shadow *s);

/* ---- reading ----
 * A file is read by a child that has no rights but to this file (core/system/sandbox.h):
 * hdf5_open() makes it, and what it has to say comes through a socket. One visit at a time: -EBUSY
 * inside of one. */

/* Bytes that a file of this size can make at most, by deflate. */
#define HDF5_RATIO 1100
#define HDF5_PIECE (1u << 20) /* bytes of rows that are read at once */

int hdf5_open(const char *path, struct hdf5_file **ret, struct strbuf *why);
void hdf5_close(struct hdf5_file *f);
int hdf5_tables(struct hdf5_file *f, const char *job, hdf5_table_visitor visit, void *user,
		struct strbuf *why);
int hdf5_read_rows(struct hdf5_file *f, const char *job, const char *table,
		   const char *const *columns, size_t count, uint64_t first, uint64_t rows,
		   hdf5_row_visitor visit, void *user, struct strbuf *why);
/* Can a file be opened without harm? whole: every table of it, too. */
int hdf5_probe(const char *path, bool whole, struct strbuf *why);

/* What the child does. */
struct hdf5_input;
hid_t hdf5_input_access(int fd); /* a property list, to be closed by the caller */
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
	unsigned number;             /* among those of a writer */
	struct hdf5_column *columns; /* names owned */
	size_t count, row_size;
	char *note;          /* NULL: none */
	unsigned char *fill; /* one row */
	hid_t type;          /* in the file and in memory */
};

#define HDF5_NOTE "PLIMSOLL_METRICS"

/* A file in memory for empty groups and tables that others are copies of: to copy one takes the
 * library a third of what it takes to make one. Negative when there is none. */
hid_t hdf5_models(void);
/* The group of a job, where it is not there. */
bool hdf5_make_group(hid_t models, hid_t file, const char *job);
/* An empty table at this place in the file. */
hid_t hdf5_make_table(hid_t models, hid_t file, const char *job, const char *link,
		      const struct hdf5_schema *schema, int version, int level);
/* Bytes of a chunk: that is what the table of a job takes at least. */
#define HDF5_CHUNK ((size_t)16 << 10)
/* Rows of a chunk of tables that we make. */
size_t hdf5_chunk_rows(const struct hdf5_schema *schema, const char *job);
/* The attributes of PyTables' that a file has at its root. */
bool hdf5_make_root(hid_t file);
bool hdf5_set_attribute(hid_t object, const char *name, hid_t type, const void *value);
bool hdf5_set_text(hid_t object, const char *name, const char *text);
/* A pickle of protocol 0, which PyTables makes a value of. */
bool hdf5_set_pickle(hid_t object, const char *name, const char *pickle);
/* Access to a table: without a cache for chunks, since we write whole ones or rows as they are. */
hid_t hdf5_table_access(void);

/* ---- tables of tables/table.h ---- */

int hdf5_table_file_open(struct table_file **ret, const char *path,
			 const struct table_column *columns, size_t count,
			 const struct table_options *o, struct strbuf *why);
int hdf5_table_file_write(struct table_file *f, const struct table_batch *b, struct strbuf *why);
int hdf5_table_file_close(struct table_file *f, struct strbuf *why);
void hdf5_table_file_abandon(struct table_file *f);

/* ---- chunks that we pack ourselves ---- */

struct packer;
struct packer *packer_new(int level);
void packer_free(struct packer *p);
/* n rows of the chunk that begins with row "at"; those behind them are not there yet. */
bool packer_write(struct packer *p, hid_t table, uint64_t at, const unsigned char *rows, size_t n,
		  size_t chunk_rows, size_t row_size);
/* Rows of a chunk where we can write whole ones; 0 where only the library can. */
size_t packer_fits(hid_t table, size_t row_size, bool *ret_packed);

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

#endif
