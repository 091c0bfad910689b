/* The layout of batches, see docs/delivery.md. Private to batch.c and its tests. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "codecs/zstd.h"

#define BATCH_MAGIC "PLB1"
/* magic, checksum of what follows, uncompressed size, boot, number, length of the node name */
#define BATCH_HEADER 29
/* Most memory for the sources of an opened batch. */
#define BATCH_STATE_MAX ((uint64_t)64 << 20)
