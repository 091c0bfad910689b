/*
 * Encodings of ORC streams: runs of whole numbers (RLE version 2) and of bytes, and protobuf for
 * its footers. Private to orc*.c and their tests.
 */
#pragma once

#include "tables/encoding.h"

#define ORC_RUN 512u /* most values of a run */

/* Whole numbers; signed: zigzag. Runs end with the call. */
void orc_ints(struct strbuf *out, const int64_t *values, size_t n, bool is_signed);
/* Bytes as runs (3 to 130 of one) and literals (1 to 128). */
void orc_bytes(struct strbuf *out, const uint8_t *values, size_t n);

/* Nanoseconds without trailing decimal zeros; the three low bits have the number of zeros less one,
 * or 0. */
int64_t orc_nanos(uint32_t ns);

/* ---- protobuf ---- */

void proto_u64(struct strbuf *out, unsigned field, uint64_t v);
void proto_s64(struct strbuf *out, unsigned field, int64_t v); /* sint64 */
void proto_double(struct strbuf *out, unsigned field, double v);
void proto_bytes(struct strbuf *out, unsigned field, const void *p, size_t n);
/* A nested message or other part. */
void proto_part(struct strbuf *out, unsigned field, const struct strbuf *part);
