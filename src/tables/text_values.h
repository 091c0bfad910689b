/* What the formats of text have in common: values as text, those of a dictionary only once. */
#ifndef PL_TABLES_TEXT_VALUES_H
#define PL_TABLES_TEXT_VALUES_H

#include "tables/table.h"

void table_add_int(struct strbuf *out, int64_t v);
/* "2026-11-15T04:05:06.123456789Z", for any number of ns. */
void table_add_time(struct strbuf *out, int64_t ns);

/* The texts of a column in a batch as they are written. */
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

/* For formats that pack nothing: a codec is a mistake. */
int table_refuse_codec(const struct table_options *o, const char *format, struct strbuf *why);

/* JSON, as an array or as lines. */
int table_json_open(struct table_file **ret, const char *path, const struct table_column *columns,
		    size_t count, const struct table_options *o, bool lines, struct strbuf *why);
int table_json_write(struct table_file *f, const struct table_batch *b, struct strbuf *why);
int table_json_close(struct table_file *f, struct strbuf *why);
void table_json_abandon(struct table_file *f);

#endif
