/* Packing by zstd (module "zstd"). */
#ifndef PL_CODECS_ZSTD_H
#define PL_CODECS_ZSTD_H

#include "codecs/compress.h"

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
