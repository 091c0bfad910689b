/* Values as text, for formats that write text. Each distinct text of a batch is encoded once. */
#pragma once

#include "tables/table.h"

/* "2026-11-15T04:05:06.123456789Z", for any number of ns. */
void table_add_time(struct strbuf *out, int64_t ns);

/* The encoded texts of a column in a batch. */
struct table_encoded {
	struct strbuf bytes;
	size_t *begin; /* one more than texts */
	size_t cap;
};
typedef void (*table_encoder)(void *user, struct strbuf *out, const char *s, size_t n);
void table_encode(struct table_encoded *e, const struct table_texts *t, table_encoder encode,
		  void *user);
void table_encoded_release(struct table_encoded *e);
static inline void table_encoded_add(const struct table_encoded *e, uint32_t code,
				     struct strbuf *out)
{
	strbuf_add(out, e->bytes.buf + e->begin[code], e->begin[code + 1] - e->begin[code]);
}
