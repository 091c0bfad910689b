/*
 * A table on its way into a file: typed columns, batches of rows, one format a file. A source fills
 * batch after batch (views/export/export_tables.h), a format writes each and forgets it, so memory
 * does not grow with the rows.
 *
 * Functions return 0 or a negative errno with a sentence in *why.
 */
#ifndef PL_TABLES_TABLE_H
#define PL_TABLES_TABLE_H

#include <stdint.h>

#include "core/strbuf.h"

#define TABLE_BATCH 65536 /* rows at most in a batch */

enum table_type {
	TABLE_INT,  /* int64_t */
	TABLE_REAL, /* double; NaN is a value, absence is not */
	TABLE_TEXT, /* bytes, UTF-8 where the writer needs it, by number in the batch's dictionary
		     */
	TABLE_TIME, /* int64_t, ns since 1970 UTC */
};

struct table_column {
	const char *name;
	enum table_type type;
	const char *help; /* NULL: none */
};

/* The distinct texts of a column in a batch, in the order of their first row. */
struct table_texts {
	uint32_t count;
	const uint32_t *begin; /* count + 1 places in bytes */
	const char *bytes;
};

struct table_values {
	union {
		const int64_t *ints; /* TABLE_INT, TABLE_TIME */
		const double *reals;
		const uint32_t *codes; /* TABLE_TEXT: number in texts */
	};
	const uint8_t *absent; /* a byte a row, 1: no value (what the array holds there is 0); NULL:
				  all are there */
	uint32_t absent_count;
	struct table_texts texts;
};

struct table_batch {
	size_t rows;                        /* 1 to TABLE_BATCH */
	const struct table_values *columns; /* one a column of the frame */
};

/* What is known of a column before its first row; what has to be declared depends on it. */
struct table_hint {
	size_t width; /* bytes of the longest text */
	bool absent;  /* a value is absent at least once */
};

struct table_options {
	const char *table; /* name of the table inside of formats that name it: "processes",
			    * "cpu_metrics_<jobid>" ... */
	const char *codec; /* "zstd", "lz4", "snappy", "zlib", "none"; NULL: the format's own */
	bool append;       /* formats that can hold several tables: the file has others already */
	bool raw;          /* texts byte for byte, also what a spreadsheet takes for a formula */
	const struct table_hint *hints; /* one a column, for formats that want them */
	int64_t rows;                   /* about so many will come; with hints */
	/* Databases that add to a table: rows with this text in this column are replaced. */
	const char *key, *key_text;
};

struct table_file; /* a format's own */

struct table_format {
	const char *name;   /* "parquet" */
	const char *suffix; /* ".parquet" */
	const char *help;   /* one phrase */
	bool database; /* holds several tables: is opened in place, under a lock, and appended to */
	bool transactions; /* a database that undoes by itself what was broken off */
	bool hints;        /* wants frame_options.hints */
	bool text;         /* can be written to stdout: path "-" */
	/*
	 * path is where to write, beside the place it will be renamed to by the caller; for a
	 * database it is the file itself. columns live until close. -ENOTSUP with the reason where
	 * a module is missing.
	 */
	int (*open)(struct table_file **ret, const char *path, const struct table_column *columns,
		    size_t count, const struct table_options *o, struct strbuf *why);
	int (*write)(struct table_file *f, const struct table_batch *b, struct strbuf *why);
	/* Ends the file and syncs it. Frees *f in any case. */
	int (*close)(struct table_file *f, struct strbuf *why);
	/* Frees without ending it: the caller removes the file; of a database the table is not
	 * there. */
	void (*abandon)(struct table_file *f);
};

/* table_formats.def as an array, sorted by name; ends with NULL. */
extern const struct table_format *const table_formats[];
const struct table_format *table_format_by_name(const char *name);

#endif
