/*
 * Tables on their way to files: typed columns, and rows in batches. A source fills batch after
 * batch (views/export/export_tables.h), and a format writes each batch and forgets it, so memory
 * does not grow with the number of rows.
 *
 * Functions return 0, or a negative errno with the reason in *why.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"
#include "tables/file_writer.h"

#define TABLE_BATCH 65536 /* most rows in a batch */

enum table_type {
	TABLE_INT,  /* int64_t */
	TABLE_REAL, /* double; NaN is a value, not an absent one */
	TABLE_TEXT, /* bytes, as an index into the batch's texts */
	TABLE_TIME, /* int64_t, ns since 1970 UTC */
};

struct table_column {
	const char *name;
	enum table_type type;
	const char *help; /* NULL: none */
};

/* The distinct texts of a column in a batch, in order of first use. */
struct table_texts {
	uint32_t count;
	const uint32_t *begin; /* count + 1 offsets into bytes */
	const char *bytes;
};

struct table_values {
	union {
		const int64_t *ints; /* TABLE_INT, TABLE_TIME */
		const double *reals;
		const uint32_t *codes; /* TABLE_TEXT: index into texts */
	};
	const uint8_t
		*absent; /* one byte per row, 1: no value (0 in the array); NULL: none absent */
	uint32_t absent_count;
	struct table_texts texts;
};

struct table_batch {
	size_t rows;                        /* 1 to TABLE_BATCH */
	const struct table_values *columns; /* one per column */
};

/* What is known of a column before its first row, for formats that declare widths. */
struct table_hint {
	size_t width; /* bytes of the longest text */
	bool absent;  /* at least one value is absent */
};

struct table_options {
	const char *table; /* name of the table, in formats that have one */
	const char *codec; /* "zstd", "lz4", "snappy", "zlib", "none"; NULL: the format's default */
	bool append;       /* databases: the file has other tables already */
	bool raw;          /* texts byte for byte, even if a spreadsheet takes them for formulas */
	const struct table_hint *hints; /* one per column, for formats that want them */
	int64_t rows;                   /* approximate number of rows; with hints */
	/* Databases that add to a table: rows with this text in this column are replaced. */
	const char *key, *key_text;
};

/* An open file. Each format has a structure that begins with this one. */
struct table_file {
	const struct table_format *format;
	const struct table_column *columns;
	size_t count;
	struct packer *packer;  /* codecs/compress.h; NULL: own_codecs */
	struct file_writer out; /* not used by databases */
};

struct table_format {
	const char *name;   /* "parquet" */
	const char *suffix; /* ".parquet" */
	const char *help;   /* one phrase */
	bool database;      /* holds several tables: opened in place, under a lock, and added to */
	bool transactions;  /* a database that rolls back an interrupted write by itself */
	bool hints;         /* wants table_options.hints */
	bool text;          /* can be written to stdout: path "-" */
	/* The format as a module has it, for formats in modules; NULL with the reason in *why. */
	const struct table_format *(*load)(struct strbuf *why);
	const char *codecs; /* names, the default first; NULL: no compression */
	bool own_codecs;    /* open() checks the codec */
	size_t size;        /* of the format's structure */
	/* The structure is zeroed except for its head, whose file and packer are open. */
	int (*open)(struct table_file *t, const char *path, const struct table_options *o,
		    struct strbuf *why);
	int (*write)(struct table_file *t, const struct table_batch *b, struct strbuf *why);
	/* Writes what is left; NULL: nothing. The file is synced and closed afterwards. */
	int (*end)(struct table_file *t, struct strbuf *why);
	/* Releases the structure's members, also if open() failed or was not called. A database
	 * removes a table that was not ended. */
	void (*release)(struct table_file *t);
};

/*
 * Opens a file. path is a temporary name that the caller renames at the end, or the database
 * itself; columns must live until it is closed. -ENOTSUP: a module is missing.
 */
int table_open(struct table_file **ret, const struct table_format *format, const char *path,
	       const struct table_column *columns, size_t count, const struct table_options *o,
	       struct strbuf *why);
int table_write(struct table_file *t, const struct table_batch *b, struct strbuf *why);
/* Completes and syncs the file. Frees t in any case. */
int table_close(struct table_file *t, struct strbuf *why);
/* Frees t without completing the file, which the caller removes. Accepts NULL. */
void table_abandon(struct table_file *t);

/* table_formats.def as an array, sorted by name; ends with NULL. */
extern const struct table_format *const table_formats[];
const struct table_format *table_format_by_name(const char *name);
/* The format that the name of a file selects; NULL: none. */
const struct table_format *table_format_by_suffix(const char *path);
