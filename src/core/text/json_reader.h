/*
 * The one JSON reader: token after token, nothing is built. Nesting is bounded.
 *
 * A file may have any size and may come from anywhere: NaN and Infinity, which Python writes, are
 * numbers, long strings are cut off, and odd escapes become U+FFFD. A text in memory is read
 * exactly or refused: value_from_json() keeps what it reads.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

#define JSON_READER_DEPTH_MAX 33
#define JSON_READER_TEXT_MAX 65536 /* a longer string of a file is cut off there */

enum json_token {
	JSON_DONE, /* the end of the document */
	JSON_OBJECT,
	JSON_OBJECT_END,
	JSON_ARRAY,
	JSON_ARRAY_END,
	JSON_KEY,    /* text; its value follows */
	JSON_STRING, /* text */
	JSON_NUMBER, /* real, and whole: integer */
	JSON_BOOL,
	JSON_NONE, /* null */
};

struct json_reader {
	int fd; /* the caller's; -1 for a text in memory, which is read exactly */
	struct strbuf text;
	double real;
	int64_t integer;
	bool whole; /* integer is the exact value */
	/* private */
	unsigned line, column; /* of the next character, from 1 */
	const char *buf;
	char *own_buf; /* of a file */
	size_t begin, end;
	int depth;
	bool object[JSON_READER_DEPTH_MAX + 1]; /* what is open at this depth */
	int state;
};

void json_reader_init(struct json_reader *j, int fd);
/* The text must stay until the reader is released. */
void json_reader_init_text(struct json_reader *j, const char *text, size_t n);
void json_reader_release(struct json_reader *j);
/* The next token. -EBADMSG (not JSON), -E2BIG (nested too deeply) or the errno of read(), negative,
 * with the position and the reason in *why. */
int json_reader_next(struct json_reader *j, struct strbuf *why);
/* Skips the rest of the value whose first token was just read. 0, or as json_reader_next(). */
int json_reader_skip(struct json_reader *j, enum json_token token, struct strbuf *why);
