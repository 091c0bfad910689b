/* Packing a stream by gzip (module "gzip"). */
#ifndef PL_CODECS_GZIP_H
#define PL_CODECS_GZIP_H

#include "codecs/compress.h"

struct gzip;

struct gzip_functions {
	struct gzip *(*open)(int level); /* NULL: no memory */
	/* Packs data and appends what is ready to *out; last: to the end. False: it failed. */
	bool (*add)(struct gzip *g, const void *data, size_t n, bool last, struct strbuf *out);
	void (*close)(struct gzip *g);
	struct pack_functions block;
};

#endif
