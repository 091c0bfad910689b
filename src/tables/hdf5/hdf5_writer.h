/* Shared by the parts of the writer; see hdf5_write.c. */
#pragma once

#include "core/hash_map.h"
#include "tables/hdf5/hdf5_module.h"

/* The rows of one chunk, or of the rest of one. */
struct row_block {
	struct row_block *next;
	size_t count, room;
	unsigned char rows[];
};

struct hdf5_rows {
	struct hdf5_rows *newer, *older;
	char *job, *name;
	const struct hdf5_schema *schema;
	int version;
	char *link; /* its path in the file; NULL: not looked up yet */
	hid_t id;   /* negative: not open */
	/* valid once link is */
	uint64_t rows; /* in the file */
	size_t chunk;  /* rows per chunk if we write whole chunks; 0: the library writes rows */
	bool packed;   /* these chunks are compressed */
	/* rows of a compressed last chunk that are in the file already (kept), then rows that wait
	 * (count); blocks begin and end with chunks */
	struct row_block *first, *last;
	size_t kept, count;
};

struct hdf5_writer {
	char *path;
	int level;
	struct journal journal;
	struct shadow *shadow;
	struct chunk_writer *packer;
	hid_t file, fapl;
	hid_t models; /* see hdf5_models() */
	uint64_t begin;
	struct hdf5_schema *schemas;
	unsigned schema_count;
	struct hash_map tables; /* by job and name */
	struct hdf5_rows used;  /* ring, most recently used first */
	size_t held;
	struct row_block *spare; /* blocks of HDF5_CHUNK bytes */
	size_t spares, taken;    /* their number; blocks taken since the last commit */
	uint64_t position;       /* of the last commit */
	bool committed;          /* there was one */
	bool given;              /* the library has the rows; only the commit is missing */
	bool broken;
};

/* ---- hdf5_rows.c ---- */

/* Hands waiting rows to the library. */
bool table_append(struct hdf5_writer *w, struct hdf5_rows *t);
/* After a commit: forgets the least recently used tables. */
void tables_bound(struct hdf5_writer *w);
void tables_release(struct hdf5_writer *w);
void schemas_release(struct hdf5_writer *w);
