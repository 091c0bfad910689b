/*
 * A strict reader of MessagePack for what colmet's Rust version sends: whole numbers, reals, texts
 * and the heads of arrays and maps, one after the other, without allocating. Anything else in a
 * message is refused, and so is a count that the bytes left could not fill.
 *
 * libmsgpackc would build a tree of objects, many times the size of a hostile message, for three
 * fixed shapes; and every collector would have to have it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/strbuf.h"

struct msgpack {
	const unsigned char *p, *end;
};

enum msgpack_type { MSGPACK_INT = 1, MSGPACK_REAL, MSGPACK_TEXT, MSGPACK_ARRAY, MSGPACK_MAP };

struct msgpack_value {
	enum msgpack_type type;
	int64_t i; /* INT: those above 2^63 - 1 are refused */
	double real;
	const char *text; /* TEXT: n bytes in the message */
	size_t n;         /* elements of an ARRAY, pairs of a MAP: they come next */
};

/* The next value, or the head of one. False at the end, and for any other type. */
bool msgpack_next(struct msgpack *m, struct msgpack_value *ret);
/* The same where only one type makes sense. */
bool msgpack_int(struct msgpack *m, int64_t *ret);
bool msgpack_text(struct msgpack *m, const char **ret, size_t *ret_size);
bool msgpack_array(struct msgpack *m, size_t *ret);
bool msgpack_map(struct msgpack *m, size_t *ret);

void msgpack_add_map(struct strbuf *out, size_t pairs);
void msgpack_add_array(struct strbuf *out, size_t elements);
void msgpack_add_int(struct strbuf *out, int64_t value); /* in the shortest form */
void msgpack_add_text(struct strbuf *out, const char *text);
