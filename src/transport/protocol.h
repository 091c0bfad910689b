/*
 * The messages between sender.c and receiver.c; docs/delivery.md has the same for people. Every
 * message begins with the parts "PLIM1" and a kind; numbers are little-endian words of 8 bytes.
 */
#ifndef PL_TRANSPORT_PROTOCOL_H
#define PL_TRANSPORT_PROTOCOL_H

#include <stdint.h>
#include <string.h>

#include "transport/link.h"
#include "plimsoll/record.h" /* little-endian words */

#define PROTOCOL_NAME "PLIM1"

/*
 * HELLO  node's name, program's version      both ways; the answer has the collector's
 * BATCH  (pass, before), batch               before: number of the batch that this one follows; 0:
 *                                            none that the collector could still get
 * ACK    (boot, number), node                all up to this number are durable, or were refused
 * NACK   (boot, number, pass, reason), node, text
 */
#define KIND_HELLO "HELLO"
#define KIND_BATCH "BATCH"
#define KIND_ACK "ACK"
#define KIND_NACK "NACK"

enum nack_reason {
	NACK_REFUSED = 1,     /* never again */
	NACK_EARLY = 2,       /* those before it are missing: begin again with the oldest */
	NACK_NO_ROOM = 3,     /* begin again with the oldest, in a while */
	NACK_NOT_ALLOWED = 4, /* the key is not for that node, until somebody mends that */
	NACK_WITHDRAWN = 5,   /* nor for any */
};

static inline void put_word(unsigned char *p, uint64_t v)
{
	pl_put_u32(p, (uint32_t)v);
	pl_put_u32(p + 4, (uint32_t)(v >> 32));
}

static inline uint64_t get_word(const void *data)
{
	const unsigned char *p = data;

	return pl_get_u32(p) | (uint64_t)pl_get_u32(p + 4) << 32;
}

static inline bool link_part_is(const struct link_part *p, const char *text)
{
	return p->size == strlen(text) && !memcmp(p->data, text, p->size);
}

#endif
