/*
 * A column of a Parquet file: its compressed pages of the current row group, and its part of the
 * group's entry in the footer. Private to parquet*.c.
 */
#pragma once

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

/* Buffers that columns share. */
struct pq_work {
	struct packer *packer; /* the file's */
	struct strbuf page, trial;
	int64_t *values; /* TABLE_BATCH present values */
	uint32_t *codes; /* TABLE_BATCH indexes */
};

struct pq_column {
	const struct table_column *about;
	uint64_t rows, absent, unpacked; /* of the group */
	struct strbuf pages;
	struct column_dictionary dict;
	bool dict_used;            /* by a page of the group */
	bool dict_full;            /* no further page of the group may use it */
	enum pq_encoding encoding; /* the best, PQ_DICTIONARY or plain */
	enum pq_encoding plain;    /* the best without a dictionary */
	unsigned encodings;        /* bits of those used in the group */
	unsigned groups;           /* written */
	/* texts wait for the end of the group, when the best encoding is known */
	uint32_t *codes; /* of present values */
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
/* Adds the values of a batch. False: compression failed. */
bool pq_column_add(struct pq_column *c, struct pq_work *w, const struct table_values *v,
		   size_t rows);
/* Bytes that wait for the end of the group. */
size_t pq_column_size(const struct pq_column *c);
/* Writes the group's pages, appends its ColumnChunk to *chunks, and starts the next group. */
bool pq_column_end(struct pq_column *c, struct pq_work *w, struct file_writer *out,
		   struct strbuf *chunks, uint64_t *unpacked, uint64_t *packed);
