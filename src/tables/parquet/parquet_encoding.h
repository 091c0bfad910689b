/*
 * Encodings of Parquet pages, and Thrift's compact protocol for its headers. Private to parquet*.c
 * and their tests.
 */
#pragma once

#include "tables/encoding.h"

/* ---- values ---- */

/* The RLE/bit-packing hybrid (runs and packed groups of eight), without a length. */
void pq_hybrid(struct strbuf *out, const uint32_t *values, size_t n, unsigned width);
/* Definition levels of optional values, with their length; absent may be NULL. */
void pq_levels(struct strbuf *out, const uint8_t *absent, size_t rows);
/* DELTA_BINARY_PACKED, blocks of 128 in four parts. */
void pq_delta(struct strbuf *out, const int64_t *values, size_t n);

/* ---- Thrift ---- */

enum {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_I32 = 5,
	THRIFT_I64,
	THRIFT_BINARY = 8,
	THRIFT_LIST,
	THRIFT_STRUCT = 12
};

struct thrift {
	struct strbuf *out;
	int last[8]; /* the last field of each open struct */
	int depth;
};

void thrift_i32(struct thrift *t, int field, int32_t v);
void thrift_i64(struct thrift *t, int field, int64_t v);
void thrift_bool(struct thrift *t, int field, bool v);
void thrift_binary(struct thrift *t, int field, const void *p, size_t n);
void thrift_begin(struct thrift *t, int field); /* a struct */
void thrift_list(struct thrift *t, int field, int type, size_t count);
void thrift_item(struct thrift *t); /* a struct as an element of a list */
void thrift_end(struct thrift *t);  /* of a struct, also the outermost */
