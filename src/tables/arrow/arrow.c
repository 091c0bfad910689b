/* Arrow's messages; see arrow.h. The numbers are those of Arrow's Schema.fbs, Message.fbs and
 * File.fbs. */
#include "tables/arrow/arrow.h"

#include "tables/arrow/flatbuffer.h"

enum { VERSION_5 = 4 };
enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY, HEADER_BATCH };
enum { TYPE_INT = 2, TYPE_FLOATING = 3, TYPE_UTF8 = 5, TYPE_TIMESTAMP = 10 };
enum { UNIT_NANOSECOND = 3, PRECISION_DOUBLE = 2 };

static void add_int(struct strbuf *out, size_t ref, unsigned bits)
{
	const struct flatbuffer_field fields[] = {{0, 4, bits, NULL}, {1, 1, 1, NULL}};

	flatbuffer_table(out, ref, fields, ARRAY_SIZE(fields));
}

static void add_type(struct strbuf *out, size_t ref, enum table_type type)
{
	size_t zone;
	const struct flatbuffer_field timestamp[] = {{0, 2, UNIT_NANOSECOND, NULL},
						     {1, 4, 0, &zone}};
	const struct flatbuffer_field floating[] = {{0, 2, PRECISION_DOUBLE, NULL}};

	switch (type) {
	case TABLE_INT:
		add_int(out, ref, 64);
		break;
	case TABLE_REAL:
		flatbuffer_table(out, ref, floating, ARRAY_SIZE(floating));
		break;
	case TABLE_TEXT:
		flatbuffer_table(out, ref, NULL, 0);
		break;
	case TABLE_TIME:
		flatbuffer_table(out, ref, timestamp, ARRAY_SIZE(timestamp));
		flatbuffer_text(out, zone, "UTC");
		break;
	}
}

/* Adds the help text as metadata of the column. */
static void add_help(struct strbuf *out, size_t ref, const char *help)
{
	size_t key, value, first = flatbuffer_references(out, ref, 1);
	const struct flatbuffer_field pair[] = {{0, 4, 0, &key}, {1, 4, 0, &value}};

	flatbuffer_table(out, first, pair, ARRAY_SIZE(pair));
	flatbuffer_text(out, key, "help");
	flatbuffer_text(out, value, help);
}

static void add_field(struct strbuf *out, size_t ref, const struct table_column *c, size_t number,
		      bool in_dictionary)
{
	static const uint8_t types[] = {
		[TABLE_INT] = TYPE_INT,
		[TABLE_REAL] = TYPE_FLOATING,
		[TABLE_TEXT] = TYPE_UTF8,
		[TABLE_TIME] = TYPE_TIMESTAMP,
	};
	size_t name, type, children, dictionary, index, help;
	struct flatbuffer_field fields[7] = {{0, 4, 0, &name},
					     {1, 1, 1, NULL},
					     {2, 1, types[c->type], NULL},
					     {3, 4, 0, &type},
					     {5, 4, 0, &children}};
	const struct flatbuffer_field encoding[] = {{0, 8, number, NULL}, {1, 4, 0, &index}};
	size_t count = 5;

	if (in_dictionary)
		fields[count++] = (struct flatbuffer_field){4, 4, 0, &dictionary};
	if (c->help)
		fields[count++] = (struct flatbuffer_field){6, 4, 0, &help};
	flatbuffer_table(out, ref, fields, count);
	flatbuffer_text(out, name, c->name);
	add_type(out, type, c->type);
	(void)flatbuffer_references(out, children, 0);
	if (in_dictionary) {
		flatbuffer_table(out, dictionary, encoding, ARRAY_SIZE(encoding));
		add_int(out, index, 32);
	}
	if (c->help)
		add_help(out, help, c->help);
}

static void add_schema(struct strbuf *out, size_t ref, const struct table_column *columns,
		       size_t count, const bool *in_dictionary)
{
	size_t list;
	const struct flatbuffer_field fields[] = {{1, 4, 0, &list}};

	flatbuffer_table(out, ref, fields, ARRAY_SIZE(fields));
	size_t first = flatbuffer_references(out, list, count);
	for (size_t i = 0; i < count; i++)
		add_field(out, first + 4 * i, &columns[i], i, in_dictionary[i]);
}

/* Starts a message; returns the reference to its header. */
static size_t begin_message(struct strbuf *out, unsigned header, int64_t body)
{
	size_t ref;
	const struct flatbuffer_field fields[] = {{3, 8, (uint64_t)body, NULL},
						  {2, 4, 0, &ref},
						  {0, 2, VERSION_5, NULL},
						  {1, 1, header, NULL}};

	strbuf_reset(out);
	flatbuffer_table(out, flatbuffer_root(out), fields, ARRAY_SIZE(fields));
	return ref;
}

void arrow_schema_message(struct strbuf *out, const struct table_column *columns, size_t count,
			  const bool *in_dictionary)
{
	add_schema(out, begin_message(out, HEADER_SCHEMA, 0), columns, count, in_dictionary);
	flatbuffer_align(out, 8);
}

static void add_record_batch(struct strbuf *out, size_t ref, const struct arrow_batch *b)
{
	size_t nodes, buffers, compression = 0;
	struct flatbuffer_field fields[4] = {
		{0, 8, (uint64_t)b->rows, NULL}, {1, 4, 0, &nodes}, {2, 4, 0, &buffers}};
	const struct flatbuffer_field method[] = {{0, 1, b->codec == PACK_ZSTD, NULL},
						  {1, 1, 0, NULL}};
	size_t count = 3;

	if (b->codec != PACK_NONE)
		fields[count++] = (struct flatbuffer_field){3, 4, 0, &compression};
	flatbuffer_table(out, ref, fields, count);
	flatbuffer_vector(out, nodes, b->node_count, 8);
	strbuf_add(out, b->nodes, b->node_count * sizeof(*b->nodes));
	flatbuffer_vector(out, buffers, b->buffer_count, 8);
	strbuf_add(out, b->buffers, b->buffer_count * sizeof(*b->buffers));
	if (b->codec != PACK_NONE)
		flatbuffer_table(out, compression, method, ARRAY_SIZE(method));
}

void arrow_batch_message(struct strbuf *out, const struct arrow_batch *b)
{
	if (b->dictionary < 0) {
		add_record_batch(out, begin_message(out, HEADER_BATCH, b->body), b);
	} else {
		size_t data;
		const struct flatbuffer_field fields[] = {{0, 8, (uint64_t)b->dictionary, NULL},
							  {1, 4, 0, &data},
							  {2, 1, b->delta, NULL}};

		flatbuffer_table(out, begin_message(out, HEADER_DICTIONARY, b->body), fields,
				 ARRAY_SIZE(fields));
		add_record_batch(out, data, b);
	}
	flatbuffer_align(out, 8);
}

void arrow_footer(struct strbuf *out, const struct table_column *columns, size_t count,
		  const bool *in_dictionary, const struct arrow_block *dictionaries,
		  size_t dictionary_count, const struct arrow_block *batches, size_t batch_count)
{
	size_t schema, texts, rows;
	const struct flatbuffer_field fields[] = {
		{1, 4, 0, &schema}, {2, 4, 0, &texts}, {3, 4, 0, &rows}, {0, 2, VERSION_5, NULL}};

	strbuf_reset(out);
	flatbuffer_table(out, flatbuffer_root(out), fields, ARRAY_SIZE(fields));
	add_schema(out, schema, columns, count, in_dictionary);
	flatbuffer_vector(out, texts, dictionary_count, 8);
	if (dictionary_count)
		strbuf_add(out, dictionaries, dictionary_count * sizeof(*dictionaries));
	flatbuffer_vector(out, rows, batch_count, 8);
	if (batch_count)
		strbuf_add(out, batches, batch_count * sizeof(*batches));
}
