/*
 * A column of a Parquet file: its pages of the row group that is being filled, packed already, and
 * what the group's entry in the footer says of it. Private to parquet*.c.
 */
#ifndef PL_TABLES_PARQUET_PARQUET_COLUMN_H
#define PL_TABLES_PARQUET_PARQUET_COLUMN_H

#include "codecs/compress.h"
#include "tables/column_dictionary.h"
#include "tables/file_writer.h"
#include "tables/table.h"

enum pq_encoding {
	PQ_PLAIN = 0,
	PQ_RLE = 3,
	PQ_DELTA = 5,
	PQ_DELTA_LENGTH = 6,
	PQ_DICTIONARY = 8,
};

/* Parts that columns use in turn. */
struct pq_work {
	struct packer packer;
	struct strbuf page, trial;
	int64_t *values; /* TABLE_BATCH of them: those that are there */
	uint32_t *codes; /* as many, and texts of a batch */
};

struct pq_column {
	const struct table_column *about;
	uint64_t rows, absent, unpacked; /* of the group */
	struct strbuf pages;
	struct column_dictionary dict;
	bool dict_used;            /* by a page of the group */
	bool dict_full;            /* no further page of the group is to use it */
	enum pq_encoding encoding; /* what was found best, PQ_DICTIONARY or without it */
	enum pq_encoding plain;    /* what is best without it */
	unsigned encodings;        /* a bit for each in the group */
	unsigned groups;           /* written */
	/* texts wait until the group ends: which encoding is best is known then */
	uint32_t *codes; /* of values that are there */
	uint8_t *absents;
	size_t code_count, room;
	/* statistics of the group */
	union {
		int64_t i;
		double d;
	} min, max;
	bool ranged, nan;
};

void pq_column_init(struct pq_column *c, const struct table_column *about);
void pq_column_release(struct pq_column *c);
/* Takes the values of a batch. False: packing failed. */
bool pq_column_add(struct pq_column *c, struct pq_work *w, const struct table_values *v,
		   size_t rows);
/* Bytes that wait for the end of the group. */
size_t pq_column_size(const struct pq_column *c);
/* Writes the group's pages, appends its ColumnChunk to *chunks and is empty again. */
bool pq_column_end(struct pq_column *c, struct pq_work *w, struct file_writer *out,
		   struct strbuf *chunks, uint64_t *unpacked, uint64_t *packed);

#endif
