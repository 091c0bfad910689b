/* Compression by zstd (module "zstd"). */
#pragma once

#include "codecs/compress.h"

struct zstd_functions {
	struct pack_functions block;
	/* Upper bound of the compressed size of n bytes. */
	size_t (*bound)(size_t n);
	/* Compressed size; 0: not enough room or memory. */
	size_t (*pack)(void *out, size_t room, const void *data, size_t n, int level);
	/* False unless it decompresses to exactly this size. */
	bool (*unpack)(void *out, size_t size, const void *data, size_t n);
	void (*version)(struct strbuf *out);
};

/* The module, loaded once; NULL with the reason in *why. */
const struct zstd_functions *zstd_module(struct strbuf *why);
