/*
 * Messages of Arrow's file format (Feather version 2): flatbuffers of the schema, batches and the
 * footer. Private to feather.c, arrow.c and their tests.
 */
#pragma once

#include "codecs/compress.h"
#include "tables/table.h"

struct arrow_node {
	int64_t rows, absent;
};

struct arrow_buffer {
	int64_t at, size;
};

/* The place of a message, as in the footer. */
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
	int64_t dictionary; /* column of a dictionary batch, -1: a batch of rows */
	bool delta;         /* it adds to the dictionary */
};

/* The schema; in_dictionary[i]: column i has dictionary indexes. */
void arrow_schema_message(struct strbuf *out, const struct table_column *columns, size_t count,
			  const bool *in_dictionary);
void arrow_batch_message(struct strbuf *out, const struct arrow_batch *b);
void arrow_footer(struct strbuf *out, const struct table_column *columns, size_t count,
		  const bool *in_dictionary, const struct arrow_block *dictionaries,
		  size_t dictionary_count, const struct arrow_block *batches, size_t batch_count);
