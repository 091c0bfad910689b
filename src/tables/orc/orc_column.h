/*
 * A column of an ORC file: its compressed streams of the current stripe, and the statistics of
 * stripe and file. Private to orc*.c.
 */
#pragma once

#include "codecs/compress.h"
#include "tables/column_dictionary.h"
#include "tables/file_writer.h"
#include "tables/table.h"

#define ORC_BLOCK ((size_t)1 << 18) /* bytes per compressed block */

/* Bytes that become compressed blocks. */
struct orc_stream {
	struct strbuf raw, packed;
};

/* Statistics of the values of a stripe or of the file. */
struct orc_statistics {
	uint64_t values;
	bool absent, ranged, nan, overflow;
	union {
		struct {
			int64_t min, max, sum; /* of times: milliseconds, no sum */
		} i;
		struct {
			double min, max, sum;
		} d;
	};
	char *min_text, *max_text; /* NULL: none, or too long */
	size_t min_size, max_size;
	bool text_too_long;
	int64_t text_sum; /* bytes of all texts */
};

struct orc_column {
	const struct table_column *about;
	struct orc_stream data, second;
	struct strbuf present; /* one bit per row, high bits first */
	uint64_t rows;         /* of the stripe */
	/* texts wait for the end of the stripe */
	struct column_dictionary dict;
	uint32_t *codes;
	size_t code_count, room;
	struct orc_statistics stripe, file;
};

/* Buffers that columns share. */
struct orc_work {
	struct packer *packer;   /* the file's */
	int64_t *values, *nanos; /* TABLE_BATCH of each */
	uint32_t *codes;
	struct strbuf bytes;
};

void orc_column_init(struct orc_column *c, const struct table_column *about);
void orc_column_release(struct orc_column *c);
bool orc_column_add(struct orc_column *c, struct orc_work *w, const struct table_values *v,
		    size_t rows);
size_t orc_column_size(const struct orc_column *c);
/* Writes the streams of column `number` of the stripe; adds their entries, the column's encoding
 * and its statistics to parts of the stripe's footer. Starts the next stripe. */
bool orc_column_end(struct orc_column *c, struct orc_work *w, unsigned number,
		    struct file_writer *out, struct strbuf *streams, struct strbuf *encodings,
		    struct strbuf *statistics);
/* ColumnStatistics as field `field` of *out. */
void orc_add_statistics(struct strbuf *out, unsigned field, const struct orc_statistics *s,
			enum table_type type);

/* Appends these bytes as compressed blocks. */
bool orc_pack(struct packer *p, const char *data, size_t n, struct strbuf *out);
