/*
 * HDF5 files of a collector, ours or another's: a group "job_<id>" for each job ("job_0" is the
 * node), in it a table for each source, rows of named columns. The work is done by libhdf5 in the
 * module "hdf5".
 *
 * A file that is read is hostile: it is opened read-only, links out of it, storage outside of it
 * and filters that would have to be loaded are refused, sizes are bounded, and what the library has
 * to say becomes one line. The library itself is large and was not written against malice: it runs
 * in a child that has the file, a socket, bounds on memory and CPU time and no other rights. What
 * kills or takes over the child is -EBADMSG with "the reader died" here.
 *
 * A file that is written goes from one commit to the next in one step, whatever happens in between:
 * see struct hdf5_writer_options.
 */
#ifndef PL_TABLES_HDF5_HDF5_FILE_H
#define PL_TABLES_HDF5_HDF5_FILE_H

#include <stdint.h>

#include "core/strbuf.h"

enum hdf5_type {
	HDF5_I64 = 1, /* whole numbers of any size are read as this */
	HDF5_F32,     /* likewise floating point numbers */
	HDF5_F64,
	HDF5_TEXT,  /* of a fixed size, padded with NUL */
	HDF5_OTHER, /* no type that a table of samples has; cannot be read */
};

struct hdf5_column {
	const char *name;
	enum hdf5_type type;
	unsigned size; /* in bytes; of text */
};

#define HDF5_JOB_MAX 128 /* bytes of a job's id */
#define HDF5_NAME_MAX 256
#define HDF5_COLUMNS_MAX 512
#define HDF5_ROW_MAX (1u << 20) /* bytes of a row */
#define HDF5_NOTE_MAX (32u << 10)
#define HDF5_TABLES_MAX (1u << 20) /* in a file */

/* ---- reading ----------------------------------------------------------------------------------
 */

struct hdf5_file;

struct hdf5_table {
	const char *job;  /* what stands behind "job_" */
	const char *name; /* "taskstats_default" */
	uint64_t rows;
	const struct hdf5_column *columns;
	size_t column_count;
	const char *note; /* that the table was written with; NULL: none */
};
/* A negative result ends the visit and is handed on. */
typedef int (*hdf5_table_visitor)(void *user, const struct hdf5_table *t);

struct hdf5_value {
	bool present;  /* the table has this column */
	int64_t i;     /* HDF5_I64 */
	double d;      /* the others that are numbers, and HDF5_I64 too */
	const char *s; /* HDF5_TEXT: n bytes, without the padding; not terminated */
	size_t n;
};
/* values: as many as columns were asked for, in that order. */
typedef int (*hdf5_row_visitor)(void *user, uint64_t row, const struct hdf5_value *values);

/* ---- writing ----------------------------------------------------------------------------------
 */

struct hdf5_writer;
struct table_format;

struct hdf5_writer_options {
	const char *path;
	/*
	 * Directory for the journal of overwritten bytes. A commit appends to the file first, then
	 * notes in the journal what it overwrites, then overwrites: a file that a commit was broken
	 * off in is whole again after hdf5_recover().
	 */
	const char *journal;
	int level;         /* of compression, 0 to 9 */
	uint64_t begin;    /* of a new file, seconds since 1970 */
	uint64_t position; /* that it begins behind; the journal notes it with its name */
};

/* What a journal says about the last commit. */
struct hdf5_commit {
	char path[4096]; /* of the file */
	uint64_t position;
	bool same; /* the file of that name is the one that was committed to */
};

/* Columns of tables, made known once; the row has them without gaps in this order. */
struct hdf5_schema;
/* A table that rows are added to; valid until the next commit. */
struct hdf5_rows;

struct hdf5_functions {
	void (*version)(struct strbuf *out);

	/* -EBADMSG with the reason when it is no HDF5 file. */
	int (*open)(const char *path, struct hdf5_file **ret, struct strbuf *why);
	void (*close)(struct hdf5_file *f);
	/* All tables, or those of one job; jobs in the order of their ids. */
	int (*tables)(struct hdf5_file *f, const char *job, hdf5_table_visitor visit, void *user,
		      struct strbuf *why);
	/* Rows of a table with the columns of these names. -ENOENT: no such table. */
	int (*rows)(struct hdf5_file *f, const char *job, const char *table,
		    const char *const *columns, size_t count, hdf5_row_visitor visit, void *user,
		    struct strbuf *why);

	/* The same for some of its rows. */
	int (*some_rows)(struct hdf5_file *f, const char *job, const char *table,
			 const char *const *columns, size_t count, uint64_t first, uint64_t rows,
			 hdf5_row_visitor visit, void *user, struct strbuf *why);

	/* Makes a file whole that a commit was broken off in; what the last one was goes to *ret.
	 * -ENOENT: there was none. */
	int (*recover)(const char *journal, struct hdf5_commit *ret, struct strbuf *why);
	/* Opens a file to go on with it, or makes one. -EBUSY: somebody else writes it. */
	int (*create)(const struct hdf5_writer_options *o, struct hdf5_writer **ret,
		      struct strbuf *why);
	/* note: about the columns, stored with each table; NULL: none. */
	struct hdf5_schema *(*schema)(struct hdf5_writer *w, const struct hdf5_column *columns,
				      size_t count, const char *note);
	/* The rows of a table that are not committed yet. version: the attribute backend_version,
	 * 0: none. */
	struct hdf5_rows *(*table)(struct hdf5_writer *w, const char *job, const char *name,
				   struct hdf5_schema *schema, int version);
	/* Room for one more row, with the values of columns that are not there: -1, NaN, "". */
	unsigned char *(*add)(struct hdf5_writer *w, struct hdf5_rows *t);
	/* Bytes that wait for a commit, and bytes of the file. */
	size_t (*held)(const struct hdf5_writer *w);
	uint64_t (*size)(const struct hdf5_writer *w);
	/* When the file was begun, by what it says itself. */
	uint64_t (*begin)(const struct hdf5_writer *w);
	/*
	 * All rows that were added, and the position, become part of the file. -EAGAIN: there is no
	 * room, nothing was lost, commit again later with the same position and without adding
	 * anything. Others: the writer is of no more use, and the file is made whole when it is
	 * opened again; -EBADMSG: the library cannot go on with it, -EIO: the disk failed.
	 */
	int (*commit)(struct hdf5_writer *w, uint64_t position, struct strbuf *why);
	/* The position of the last commit. */
	uint64_t (*position)(const struct hdf5_writer *w);
	/* Nobody can find it: it was removed, or its filesystem taken away or hidden. One that has
	 * another name now, which is how files are begun anew, is not. */
	bool (*is_gone)(const struct hdf5_writer *w);
	/* What was not committed is forgotten. Negative: what was is not all on the disk, and the
	 * journal is needed still. */
	int (*finish)(struct hdf5_writer *w);

	/* Tables of tables/table.h, in the layout that pandas has. */
	const struct table_format *frames;
};

/* Loads the module; NULL with the reason in *why. */
const struct hdf5_functions *hdf5_module(struct strbuf *why);

/* ---- jobs as sample files ---------------------------------------------------------------------
 */

/*
 * Each job of a file becomes a sample file: rows of its tables, and those of the node (job 0) from
 * its hosts while it ran. The file is read by a child, so that what kills the library kills nobody
 * else. take: fd is the taker's, warnings are lines; a negative result ends it and is handed on.
 * The number of jobs, or a negative errno with the reason.
 */
typedef int (*hdf5_job_taker)(void *user, const char *job, int fd, const char *warnings);
int hdf5_jobs(const char *path, hdf5_job_taker take, void *user, struct strbuf *why);
/* How stores call jobs of such files, whoever wrote them: the first that were read were colmet's,
 * and stores have the name. */
#define HDF5_JOBS_FORMAT "colmet"
/* Is it an HDF5 file, by its first bytes? */
bool hdf5_is_file(const char *path);

#endif
