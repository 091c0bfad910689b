/* What the formats of text have in common: values as text, those of a dictionary only once. */
#ifndef PL_TABLES_TEXT_VALUES_H
#define PL_TABLES_TEXT_VALUES_H

#include "tables/table.h"

void frame_add_int(struct strbuf *out, int64_t v);
/* "2026-11-15T04:05:06.123456789Z", for any number of ns. */
void frame_add_time(struct strbuf *out, int64_t ns);

/* The texts of a column in a batch as they are written. */
struct frame_encoded {
	struct strbuf bytes;
	size_t *begin; /* one more than texts */
	size_t cap;
};
typedef void (*frame_encoder)(void *user, struct strbuf *out, const char *s, size_t n);
void frame_encode(struct frame_encoded *e, const struct frame_texts *t, frame_encoder encode,
		  void *user);
void frame_encoded_release(struct frame_encoded *e);
static inline void frame_encoded_add(const struct frame_encoded *e, uint32_t code,
				     struct strbuf *out)
{
	strbuf_add(out, e->bytes.buf + e->begin[code], e->begin[code + 1] - e->begin[code]);
}

/* For formats that pack nothing: a codec is a mistake. */
int frame_refuse_codec(const struct frame_options *o, const char *format, struct strbuf *why);

/* JSON, as an array or as lines. */
int frame_json_open(struct frame_file **ret, const char *path, const struct frame_column *columns,
		    size_t count, const struct frame_options *o, bool lines, struct strbuf *why);
int frame_json_write(struct frame_file *f, const struct frame_batch *b, struct strbuf *why);
int frame_json_close(struct frame_file *f, struct strbuf *why);
void frame_json_abandon(struct frame_file *f);

#endif
