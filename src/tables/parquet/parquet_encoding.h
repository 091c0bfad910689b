/*
 * The encodings of Parquet's pages, and Thrift's compact protocol, in which its headers are
 * written. Private to parquet*.c and their tests.
 */
#ifndef PL_TABLES_PARQUET_PARQUET_ENCODING_H
#define PL_TABLES_PARQUET_PARQUET_ENCODING_H

#include "tables/encoding.h"

/* ---- values --------------------------------------------------------------------------------- */

/* Runs and packed groups of eight, the RLE/bit-packing hybrid, without its length before it. */
void pq_hybrid(struct strbuf *out, const uint32_t *values, size_t n, unsigned width);
/* Definition levels of optional values, with their length; absent may be NULL. */
void pq_levels(struct strbuf *out, const uint8_t *absent, size_t rows);
/* DELTA_BINARY_PACKED, blocks of 128 in four parts. */
void pq_delta(struct strbuf *out, const int64_t *values, size_t n);

/* ---- Thrift --------------------------------------------------------------------------------- */

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
	int last[8]; /* number of the last field, of each open struct */
	int depth;
};

void thrift_i32(struct thrift *t, int field, int32_t v);
void thrift_i64(struct thrift *t, int field, int64_t v);
void thrift_bool(struct thrift *t, int field, bool v);
void thrift_binary(struct thrift *t, int field, const void *p, size_t n);
void thrift_begin(struct thrift *t, int field); /* a struct */
void thrift_list(struct thrift *t, int field, int type, size_t count);
void thrift_item(struct thrift *t); /* a struct that is an element of a list */
void thrift_end(struct thrift *t);  /* of a struct, the outermost, too */

#endif
