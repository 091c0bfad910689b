/*
 * The one JSON writer. It streams: no tree is built, so a job of any size takes the memory of one
 * line. Invalid UTF-8 is written with U+FFFD for the bad bytes, followed by "<key>_b64" with the
 * exact bytes; valid text never has that key.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

#define JSON_WRITER_DEPTH_MAX 48 /* more than VALUE_DEPTH_MAX and the levels around a value */

struct json_writer {
	struct strbuf out;
	bool pretty;
	int depth;
	bool first[JSON_WRITER_DEPTH_MAX + 1]; /* nothing written yet at this depth */
};

#define JSON_WRITER_INIT                              \
	{                                             \
		.out = STRBUF_INIT, .first = { true } \
	}
void json_release(struct json_writer *j);
#define _cleanup_json_ _cleanup_(json_release)

/* key NULL: an element of an array, or the document itself. */
void json_begin_object(struct json_writer *j, const char *key);
void json_end_object(struct json_writer *j);
void json_begin_array(struct json_writer *j, const char *key);
void json_end_array(struct json_writer *j);
void json_text(struct json_writer *j, const char *key, const char *s, size_t n);
void json_str(struct json_writer *j, const char *key, const char *s); /* NULL writes null */
void json_u64(struct json_writer *j, const char *key, uint64_t v);
void json_i64(struct json_writer *j, const char *key, int64_t v);
void json_f64(struct json_writer *j, const char *key, double v); /* not finite: null */
void json_bool(struct json_writer *j, const char *key, bool v);
void json_none(struct json_writer *j, const char *key); /* null */
/* Text that is JSON already; without any, null. */
void json_raw(struct json_writer *j, const char *key, const char *text, size_t n);

/* Ends the document with a newline and writes it; 0 or a negative errno. */
int json_write(struct json_writer *j, FILE *f);

/* An array written row by row: begin, then for each row a document in j, then end. */
struct json_rows {
	struct json_writer j;
	FILE *f;
	bool any;
};
void json_rows_begin(struct json_rows *r, FILE *f);
/* Writes the content of r->j as the next element. */
void json_rows_next(struct json_rows *r);
/* 0, or a negative errno where a write failed. */
int json_rows_end(struct json_rows *r);
