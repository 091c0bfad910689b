/* Flatbuffers from front to back; see flatbuffer.h. */
#include "tables/arrow/flatbuffer.h"

#include <string.h>

#define FIELDS_MAX 8u

static void zeros(struct strbuf *out, size_t n)
{
	while (n--)
		strbuf_addch(out, 0);
}

void flatbuffer_align(struct strbuf *out, size_t alignment)
{
	zeros(out, (0 - out->len) & (alignment - 1));
}

static void put(struct strbuf *out, uint64_t v, size_t size)
{
	strbuf_add(out, &v, size); /* low bytes first, as this machine has them */
}

size_t flatbuffer_root(struct strbuf *out)
{
	put(out, 0, 4);
	return 0;
}

void flatbuffer_here(struct strbuf *out, size_t ref)
{
	uint32_t distance = (uint32_t)(out->len - ref);

	memcpy(out->buf + ref, &distance, sizeof(distance));
}

/* The vtable, with the places of the fields, comes before the table, which begins with the distance
 * to it. Fields are in the order given, each aligned. */
void flatbuffer_table(struct strbuf *out, size_t ref, const struct flatbuffer_field *fields,
		      size_t count)
{
	uint16_t places[FIELDS_MAX] = {0};
	unsigned last = 0;
	size_t size = 4;

	for (size_t i = 0; i < count; i++) {
		size = (size + fields[i].size - 1) & ~((size_t)fields[i].size - 1);
		places[fields[i].number] = (uint16_t)size;
		size += fields[i].size;
		if (fields[i].number + 1 > last)
			last = fields[i].number + 1;
	}
	size_t list = 4 + 2 * (size_t)last;
	/* the table begins at a multiple of 8, which aligns fields of 8 bytes */
	while ((out->len + list) % 8)
		strbuf_addch(out, 0);
	put(out, list, 2);
	put(out, size, 2);
	strbuf_add(out, places, 2 * (size_t)last);
	flatbuffer_here(out, ref);
	size_t table = out->len;
	put(out, list, 4);
	for (size_t i = 0; i < count; i++) {
		zeros(out, table + places[fields[i].number] - out->len);
		if (fields[i].ref)
			*fields[i].ref = out->len;
		put(out, fields[i].value, fields[i].size);
	}
}

void flatbuffer_text(struct strbuf *out, size_t ref, const char *s)
{
	size_t n = strlen(s);

	flatbuffer_vector(out, ref, n, 1);
	strbuf_add(out, s, n + 1);
}

void flatbuffer_vector(struct strbuf *out, size_t ref, size_t count, size_t alignment)
{
	flatbuffer_align(out, 4);
	while ((out->len + 4) % alignment)
		strbuf_addch(out, 0);
	flatbuffer_here(out, ref);
	put(out, count, 4);
}

size_t flatbuffer_references(struct strbuf *out, size_t ref, size_t count)
{
	flatbuffer_vector(out, ref, count, 4);
	size_t first = out->len;
	zeros(out, count * 4);
	return first;
}
