/* Blocks packed by lz4, each a frame of its own (module "lz4"). */
#ifndef PL_CODECS_LZ4_H
#define PL_CODECS_LZ4_H

#include "codecs/compress.h"

struct lz4_functions {
	struct pack_functions block;
};

#endif
