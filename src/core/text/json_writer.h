/*
 * A JSON writer that streams: no tree is built, so a job of any size costs one line's memory. Text
 * that is not UTF-8 is written with U+FFFD for the bad bytes and followed by "<key>_b64" with the
 * exact bytes; valid text never has that key.
 */
#ifndef PL_CORE_TEXT_JSON_WRITER_H
#define PL_CORE_TEXT_JSON_WRITER_H

#include <stdint.h>

#include "core/strbuf.h"

#define JSONW_DEPTH_MAX 48 /* callers stay below: VALUE_DEPTH_MAX and a few of their own */

struct jsonw {
	struct strbuf out;
	bool pretty;
	int depth;
	bool first[JSONW_DEPTH_MAX + 1]; /* nothing written yet at this depth */
};

#define JSONW_INIT                                    \
	{                                             \
		.out = STRBUF_INIT, .first = { true } \
	}
void jsonw_release(struct jsonw *j);
#define _cleanup_jsonw_ _cleanup_(jsonw_release)

/* key NULL: an element of an array, or the document itself. */
void jsonw_begin_object(struct jsonw *j, const char *key);
void jsonw_end_object(struct jsonw *j);
void jsonw_begin_array(struct jsonw *j, const char *key);
void jsonw_end_array(struct jsonw *j);
void jsonw_text(struct jsonw *j, const char *key, const char *s, size_t n);
void jsonw_str(struct jsonw *j, const char *key, const char *s); /* NULL writes null */
void jsonw_u64(struct jsonw *j, const char *key, uint64_t v);
void jsonw_i64(struct jsonw *j, const char *key, int64_t v);
void jsonw_f64(struct jsonw *j, const char *key, double v); /* not finite: null */
void jsonw_bool(struct jsonw *j, const char *key, bool v);
void jsonw_null(struct jsonw *j, const char *key);

/* Ends the document with a newline and writes it; 0 or a negative errno. */
int jsonw_write(struct jsonw *j, FILE *f);

#endif
