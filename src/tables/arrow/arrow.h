/*
 * The messages of Arrow's file format (Feather's second version): flatbuffers of a schema, batches
 * and the footer. Private to feather.c, arrow.c and their tests.
 */
#ifndef PL_TABLES_ARROW_ARROW_H
#define PL_TABLES_ARROW_ARROW_H

#include "codecs/compress.h"
#include "tables/table.h"

struct arrow_node {
	int64_t rows, absent;
};

struct arrow_buffer {
	int64_t at, size;
};

/* Where a message is, as the footer has it. */
struct arrow_block {
	int64_t at;
	int32_t head;
	int32_t unused;
	int64_t body;
};

struct arrow_batch {
	int64_t rows;
	const struct arrow_node *nodes;
	size_t node_count;
	const struct arrow_buffer *buffers;
	size_t buffer_count;
	int64_t body; /* size of all buffers */
	enum pack_codec codec;
	int64_t dictionary; /* number of the column whose texts these are, -1: a batch of rows */
	bool delta;         /* more of them */
};

/* The columns; in_dictionary[i]: the texts of column i are numbers in its dictionary. */
void arrow_schema_message(struct strbuf *out, const struct table_column *columns, size_t count,
			  const bool *in_dictionary);
void arrow_batch_message(struct strbuf *out, const struct arrow_batch *b);
void arrow_footer(struct strbuf *out, const struct table_column *columns, size_t count,
		  const bool *in_dictionary, const struct arrow_block *dictionaries,
		  size_t dictionary_count, const struct arrow_block *batches, size_t batch_count);

#endif
