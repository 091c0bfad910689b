/*
 * What maker and reader of batches share: the layout of docs/delivery.md in numbers. Private to
 * batch*.c and their tests.
 */
#ifndef PL_TRANSPORT_BATCH_INTERNAL_H
#define PL_TRANSPORT_BATCH_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "codecs/zstd.h"

#define BATCH_MAGIC "PLB1"
/* magic, check sum of what follows it, size unpacked, boot, number, length of the node's name */
#define BATCH_HEADER 29
/* What the sources of an opened batch may hold in memory. */
#define BATCH_STATE_MAX ((uint64_t)64 << 20)

#endif
