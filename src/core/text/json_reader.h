/*
 * A JSON reader for files of any size: token after token, nothing is built. Depth and the length of
 * texts are bounded; NaN and Infinity, which Python writes, are numbers.
 */
#ifndef PL_CORE_TEXT_JSON_READER_H
#define PL_CORE_TEXT_JSON_READER_H

#include <stdint.h>

#include "core/strbuf.h"

#define JSON_READER_DEPTH_MAX 32
#define JSON_READER_TEXT_MAX 65536 /* what is longer is cut off there, and read on */

enum json_token {
	JSON_DONE, /* the document is over, and nothing follows it */
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
	int fd; /* the caller's */
	struct strbuf text;
	double real;
	int64_t integer;
	bool whole; /* integer is the exact value */
	unsigned line;
	/* private */
	char *buf;
	size_t begin, end;
	int depth;
	bool object[JSON_READER_DEPTH_MAX + 1]; /* what is open at this depth */
	int state;
};

void json_reader_init(struct json_reader *j, int fd);
void json_reader_release(struct json_reader *j);
/* The next token, or a negative errno with the line and what is wrong in *why. */
int json_reader_next(struct json_reader *j, struct strbuf *why);
/* Reads on behind the value whose first token was just read. 0 or a negative errno. */
int json_reader_skip(struct json_reader *j, enum json_token token, struct strbuf *why);

#endif
