/*
 * The streams of an ORC file: runs of whole numbers (RLE, version 2), of bits, and protobuf's
 * fields, in which its footers are written. Private to orc*.c and their tests.
 */
#ifndef PL_TABLES_ORC_ORC_ENCODING_H
#define PL_TABLES_ORC_ORC_ENCODING_H

#include "tables/encoding.h"

#define ORC_RUN 512u /* values of a run at most */

/* Whole numbers; signed: by zigzag. Runs end with the call. */
void orc_ints(struct strbuf *out, const int64_t *values, size_t n, bool is_signed);
/* Bytes as runs (3 to 130 of one) and literals (1 to 128). */
void orc_bytes(struct strbuf *out, const uint8_t *values, size_t n);

/* Nanoseconds of a second without their decimal zeros at the end, the number of those in the three
 * low bits: 0, or one less than they are. */
int64_t orc_nanos(uint32_t ns);

/* ---- protobuf ------------------------------------------------------------------------------- */

void proto_u64(struct strbuf *out, unsigned field, uint64_t v);
void proto_s64(struct strbuf *out, unsigned field, int64_t v); /* sint64 */
void proto_double(struct strbuf *out, unsigned field, double v);
void proto_bytes(struct strbuf *out, unsigned field, const void *p, size_t n);
/* A message or other part that is made elsewhere. */
void proto_part(struct strbuf *out, unsigned field, const struct strbuf *part);

#endif
