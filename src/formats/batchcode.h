/*
 * What maker and reader of batches share: the layout of docs/delivery.md in numbers, and the module
 * "zstd". Private to batch*.c, zstd_module.c and their tests.
 */
#ifndef PL_FORMATS_BATCHCODE_H
#define PL_FORMATS_BATCHCODE_H

#include <stddef.h>
#include <stdint.h>

#include "formats/pack.h"

#define BATCH_MAGIC "PLB1"
/* magic, check sum of what follows it, size unpacked, boot, number, length of the node's name */
#define BATCH_HEADER 29
/* What the sources of an opened batch may hold in memory. */
#define BATCH_STATE_MAX ((uint64_t)64 << 20)

struct zstd_functions {
	/* Most bytes that n may become. */
	size_t (*bound)(size_t n);
	/* Size packed, 0 when there is not enough room or memory. */
	size_t (*pack)(void *out, size_t room, const void *data, size_t n, int level);
	/* True when it unpacks to just this size. */
	bool (*unpack)(void *out, size_t size, const void *data, size_t n);
	void (*version)(struct strbuf *out);
	struct pack_functions block;
};

/* The module, loaded once; NULL with the reason in *why. */
const struct zstd_functions *zstd_module(struct strbuf *why);

#endif
