/* Blocks packed by lz4, each a frame of its own (module "lz4"). */
#ifndef PL_FORMATS_LZ4_H
#define PL_FORMATS_LZ4_H

#include "formats/pack.h"

struct lz4_functions {
	struct pack_functions block;
};

#endif
