/*
 * The messages between sender.c and receiver.c; docs/delivery.md describes them. Every message
 * begins with the parts "PLIM1" and a kind; numbers are little-endian words of 8 bytes.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "transport/link.h"
#include "plimsoll/record.h" /* little-endian words */

#define PROTOCOL_NAME "PLIM1"

/*
 * HELLO  node's name, program's version      both ways; the answer has the collector's
 * BATCH  (pass, before), batch               before: number of the batch before this one; 0: none
 *                                            that the collector could still get
 * ACK    (boot, number), node                all up to this number are durable or refused
 * NACK   (boot, number, pass, reason), node, text
 */
#define KIND_HELLO "HELLO"
#define KIND_BATCH "BATCH"
#define KIND_ACK "ACK"
#define KIND_NACK "NACK"

enum nack_reason {
	NACK_REFUSED = 1,     /* invalid: do not send it again */
	NACK_EARLY = 2,       /* batches before it are missing: start again with the oldest */
	NACK_NO_ROOM = 3,     /* start again with the oldest, later */
	NACK_NOT_ALLOWED = 4, /* the key is not allowed for that node, for now */
	NACK_WITHDRAWN = 5,   /* the key was revoked */
};

static inline bool link_part_is(const struct link_part *p, const char *text)
{
	return p->size == strlen(text) && !memcmp(p->data, text, p->size);
}
