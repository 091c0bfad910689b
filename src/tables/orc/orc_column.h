/*
 * A column of an ORC file: its streams of the stripe that is being filled, packed already, and what
 * stripe and file say of its values. Private to orc*.c.
 */
#ifndef PL_TABLES_ORC_ORC_COLUMN_H
#define PL_TABLES_ORC_ORC_COLUMN_H

#include "codecs/compress.h"
#include "tables/column_dictionary.h"
#include "tables/file_writer.h"
#include "tables/table.h"

#define ORC_BLOCK ((size_t)1 << 18) /* bytes that are packed at once */

/* Bytes on their way into packed blocks. */
struct orc_stream {
	struct strbuf raw, packed;
};

/* Of the values of a stripe, or of the file. */
struct orc_statistics {
	uint64_t values;
	bool absent, ranged, nan, overflow;
	union {
		struct {
			int64_t min, max, sum; /* of times milliseconds, and no sum */
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
	struct strbuf present; /* a bit a row, the high one first */
	uint64_t rows;         /* of the stripe */
	/* texts wait until the stripe ends */
	struct column_dictionary dict;
	uint32_t *codes;
	size_t code_count, room;
	struct orc_statistics stripe, file;
};

/* Parts that columns use in turn. */
struct orc_work {
	struct packer packer;
	int64_t *values, *nanos; /* TABLE_BATCH of each */
	uint32_t *codes;
	struct strbuf bytes;
};

void orc_column_init(struct orc_column *c, const struct table_column *about);
void orc_column_release(struct orc_column *c);
bool orc_column_add(struct orc_column *c, struct orc_work *w, const struct table_values *v,
		    size_t rows);
size_t orc_column_size(const struct orc_column *c);
/* Writes the stripe's streams of column `number`; adds their entries and the column's encoding to
 * the stripe's footer, in two parts, and statistics. Is empty again. */
bool orc_column_end(struct orc_column *c, struct orc_work *w, unsigned number,
		    struct file_writer *out, struct strbuf *streams, struct strbuf *encodings,
		    struct strbuf *statistics);
/* ColumnStatistics as field `field` of *out. */
void orc_add_statistics(struct strbuf *out, unsigned field, const struct orc_statistics *s,
			enum table_type type);

/* Blocks of all of these bytes behind *out, as footers are. */
bool orc_pack(struct packer *p, const char *data, size_t n, struct strbuf *out);

#endif
