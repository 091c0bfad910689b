/*
 * HDF5 files of a collector, ours or another's: a group "job_<id>" for each job ("job_0" is the
 * node), in it a table for each source, rows of named columns. libhdf5 does the work, in the module
 * "hdf5".
 *
 * A file to be read may be hostile. It is opened read-only; links out of it, storage outside of it
 * and filters that would have to be loaded are refused; sizes are bounded; messages of the library
 * become one line. The library itself is large and was not written against malice, so it runs in a
 * child process with the file, a socket, limits on memory and CPU time, and no other rights. If a
 * file kills or takes over the child, the result is -EBADMSG with "the reader died".
 *
 * A file that is written goes from one commit to the next atomically: see struct
 * hdf5_writer_options.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

enum hdf5_type {
	HDF5_I64 = 1, /* whole numbers of any size are read as this */
	HDF5_F32,     /* floating point */
	HDF5_F64,
	HDF5_TEXT,  /* of a fixed size, padded with NUL */
	HDF5_OTHER, /* anything else; cannot be read */
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

/* ---- reading ---- */

struct hdf5_file;

struct hdf5_table {
	const char *job;  /* the part after "job_" */
	const char *name; /* "taskstats_default" */
	uint64_t rows;
	const struct hdf5_column *columns;
	size_t column_count;
	const char *note; /* about its columns; NULL: none */
};
/* A negative result ends the visit and is returned. */
typedef int (*hdf5_table_visitor)(void *user, const struct hdf5_table *t);

struct hdf5_value {
	bool present;  /* the table has this column */
	int64_t i;     /* HDF5_I64 */
	double d;      /* all numbers */
	const char *s; /* HDF5_TEXT: n bytes without the padding; not terminated */
	size_t n;
};
/* values: one for each requested column, in that order. */
typedef int (*hdf5_row_visitor)(void *user, uint64_t row, const struct hdf5_value *values);

/* ---- writing ---- */

struct hdf5_writer;
struct table_format;

struct hdf5_writer_options {
	const char *path;
	/*
	 * Directory for the journal of overwritten bytes. A commit first appends to the file, then
	 * writes to the journal what it will overwrite, then overwrites: after an interrupted
	 * commit recover() completes the file.
	 */
	const char *journal;
	int level;         /* of compression, 0 to 9 */
	uint64_t begin;    /* of a new file, seconds since 1970 */
	uint64_t position; /* of a new file: it holds what comes after this one */
};

/* The last commit, by the journal. */
struct hdf5_commit {
	char path[4096]; /* of the file */
	uint64_t position;
	bool same; /* the file with this path is the one that was committed to */
};

/* The columns of tables; a row has them in this order, without gaps. */
struct hdf5_schema;
/* A table to which rows are added; valid until the next commit. */
struct hdf5_rows;

struct hdf5_functions {
	void (*version)(struct strbuf *out);

	/* -EBADMSG with the reason: not an HDF5 file. */
	int (*open)(const char *path, struct hdf5_file **ret, struct strbuf *why);
	void (*close)(struct hdf5_file *f);
	/* All tables, or those of one job; jobs sorted by id. */
	int (*tables)(struct hdf5_file *f, const char *job, hdf5_table_visitor visit, void *user,
		      struct strbuf *why);
	/* The rows of a table, with these columns. -ENOENT: no such table. */
	int (*rows)(struct hdf5_file *f, const char *job, const char *table,
		    const char *const *columns, size_t count, hdf5_row_visitor visit, void *user,
		    struct strbuf *why);

	/* Some of its rows. */
	int (*some_rows)(struct hdf5_file *f, const char *job, const char *table,
			 const char *const *columns, size_t count, uint64_t first, uint64_t rows,
			 hdf5_row_visitor visit, void *user, struct strbuf *why);

	/* Completes an interrupted commit; the last commit goes to *ret. -ENOENT: there was none.
	 */
	int (*recover)(const char *journal, struct hdf5_commit *ret, struct strbuf *why);
	/* Opens a file to add to it, or creates one. -EBUSY: another program writes it. */
	int (*create)(const struct hdf5_writer_options *o, struct hdf5_writer **ret,
		      struct strbuf *why);
	/* note: about the columns, stored with each table; NULL: none. */
	struct hdf5_schema *(*schema)(struct hdf5_writer *w, const struct hdf5_column *columns,
				      size_t count, const char *note);
	/* The uncommitted rows of a table. version: the attribute backend_version, 0: none. */
	struct hdf5_rows *(*table)(struct hdf5_writer *w, const char *job, const char *name,
				   struct hdf5_schema *schema, int version);
	/* Adds a row, filled with the values for absent ones: -1, NaN, "". */
	unsigned char *(*add)(struct hdf5_writer *w, struct hdf5_rows *t);
	/* Bytes that wait for a commit; size of the file. */
	size_t (*held)(const struct hdf5_writer *w);
	uint64_t (*size)(const struct hdf5_writer *w);
	/* When the file was created, by its own attribute. */
	uint64_t (*begin)(const struct hdf5_writer *w);
	/*
	 * Commits all rows that were added, and the position. -EAGAIN: no space left, nothing is
	 * lost; commit again later with the same position and no new rows. After any other error
	 * the writer cannot be used any more, and the file is recovered when it is opened again:
	 * -EBADMSG: the library failed, -EIO: the disk failed.
	 */
	int (*commit)(struct hdf5_writer *w, uint64_t position, struct strbuf *why);
	/* The position of the last commit. */
	uint64_t (*position)(const struct hdf5_writer *w);
	/* Is it out of reach: removed, or its filesystem unmounted or hidden? A renamed file is
	 * not: that is how files are rotated. */
	bool (*is_gone)(const struct hdf5_writer *w);
	/* Forgets what is not committed. Negative: not all commits are on the disk, and the journal
	 * is still needed. */
	int (*finish)(struct hdf5_writer *w);

	/* Tables of tables/table.h, in the layout of pandas. */
	const struct table_format *tables_format;
};

/* Loads the module; NULL with the reason in *why. */
const struct hdf5_functions *hdf5_module(struct strbuf *why);

/* ---- jobs as sample files ---- */

/*
 * Converts each job of a file to a sample file: the rows of its tables, and those of the node (job
 * 0) from its hosts while it ran. A child process reads the file, so that a crash of the library
 * harms nobody else. take() owns fd; warnings are lines; a negative result ends the conversion and
 * is returned. The number of jobs, or a negative errno with the reason.
 */
typedef int (*hdf5_job_taker)(void *user, const char *job, int fd, const char *warnings);
int hdf5_jobs(const char *path, hdf5_job_taker take, void *user, struct strbuf *why);
/* The format of such jobs in stores, whoever wrote the file: the name of the first of
 * row_layouts.def, whose files were the first in stores. */
const char *hdf5_jobs_format(void);
/* Does it start like an HDF5 file? */
bool hdf5_is_file(const char *path);
