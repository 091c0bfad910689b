/* What the parts of the writer share; see hdf5_write.c. */
#ifndef PL_TABLES_HDF5_HDF5_WRITER_H
#define PL_TABLES_HDF5_HDF5_WRITER_H

#include "tables/hdf5/hdf5_module.h"

#define TABLE_BUCKETS 8192

/* Rows one behind the other: those of one chunk, or of the rest of one. */
struct row_block {
	struct row_block *next;
	size_t count, room;
	unsigned char rows[];
};

struct hdf5_rows {
	struct hdf5_rows *next; /* in its bucket */
	struct hdf5_rows *newer, *older;
	char *job, *name;
	const struct hdf5_schema *schema;
	int version;
	char *link; /* its place in the file; NULL: not looked for yet */
	hid_t id;   /* negative: not open */
	/* once it has its place */
	uint64_t rows; /* in the file */
	size_t chunk;  /* rows of one that we write whole; 0: the library does it */
	bool packed;   /* such chunks are compressed */
	/* rows of the last chunk that are in the file already, where it is packed, then those that
	 * wait; blocks begin and end where chunks do */
	struct row_block *first, *last;
	size_t kept, count;
};

struct hdf5_writer {
	char *path;
	int level;
	struct journal journal;
	struct shadow *shadow;
	struct packer *packer;
	hid_t file, fapl;
	hid_t models; /* see hdf5_models() */
	uint64_t begin;
	struct hdf5_schema *schemas;
	unsigned schema_count;
	struct hdf5_rows *buckets[TABLE_BUCKETS];
	struct hdf5_rows used; /* ring, most recently used first */
	size_t tables;
	size_t held;
	struct row_block *spare; /* blocks of HDF5_CHUNK bytes */
	size_t spares, taken;    /* how many; how many were taken since the last commit */
	uint64_t position;       /* of the last commit */
	bool committed;          /* there was one */
	bool given;              /* the library has the rows; only the commit is missing */
	bool broken;
};

/* ---- hdf5_rows.c ---- */

/* The rows that wait go to the library. */
bool table_append(struct hdf5_writer *w, struct hdf5_rows *t);
/* After a commit: forgets those that were not used for the longest time. */
void tables_bound(struct hdf5_writer *w);
void tables_release(struct hdf5_writer *w);
void schemas_release(struct hdf5_writer *w);

#endif
