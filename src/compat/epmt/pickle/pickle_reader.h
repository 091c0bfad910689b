/*
 * Shared by the files of the pickle reader: a stack of values, a memo, and the bytes left to read.
 * After the first error every step does nothing.
 */
#pragma once

#include <stdint.h>

#include "core/value.h"

#define STACK_MAX 65536
#define MEMO_MAX 262144

/* What a GLOBAL names: a callable with a known meaning. */
enum callable { CALL_NONE, CALL_DATETIME, CALL_TIMEZONE, CALL_TIMEDELTA, CALL_ENCODE };

struct item {
	struct value *value; /* NULL for a mark or a callable */
	enum callable call;
	bool mark;
};

struct reader {
	const unsigned char *begin, *p, *end;
	const unsigned char *opcode; /* of the instruction being read */
	struct item *stack;
	size_t depth, cap;
	struct item *memo;
	size_t memo_size, memo_cap, memo_next;
	size_t nodes;
	struct strbuf *why;
	int error;
};

/* Records an error with the place of the instruction; returns -error. */
int pickle_fail(struct reader *r, int error, const char *fmt, ...) PL_PRINTF(3, 4);

/* The next bytes: raw, as a little-endian number, or up to the end of a line. */
const unsigned char *pickle_take(struct reader *r, uint64_t n);
uint64_t pickle_number(struct reader *r, size_t bytes);
const char *pickle_line(struct reader *r, size_t *ret_n);

/* Takes v. */
void pickle_push(struct reader *r, struct value *v);
void pickle_push_item(struct reader *r, struct item item);
/* Takes the value on top, which the caller then owns; NULL if there is none. */
struct value *pickle_pop(struct reader *r);

/* Scalars and the three classes (pickle_scalars.c): each reads its operand and pushes a value. */
void pickle_push_text(struct reader *r, uint64_t n, int kind);
void pickle_push_quoted(struct reader *r);
void pickle_push_raw_unicode(struct reader *r);
void pickle_push_decimal(struct reader *r, uint64_t n, int booleans);
void pickle_push_long(struct reader *r, uint64_t bytes, int arg);
void pickle_push_float_line(struct reader *r);
void pickle_push_float_binary(struct reader *r);
void pickle_global_line(struct reader *r);
void pickle_stack_global(struct reader *r);
void pickle_reduce(struct reader *r);
