/* Snappy's form of a block, for protocols that want it (module "snappy"). */
#ifndef PL_CODECS_SNAPPY_H
#define PL_CODECS_SNAPPY_H

#include "codecs/compress.h"

struct snappy_functions {
	/* Packs n bytes, behind *out; 0 or a negative errno. */
	int (*pack)(const void *p, size_t n, struct strbuf *out);
	struct pack_functions block;
};

#endif
