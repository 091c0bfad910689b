/* Compression of a stream by gzip (module "gzip"). */
#pragma once

#include "codecs/compress.h"

struct gzip;

struct gzip_functions {
	struct pack_functions block;
	struct gzip *(*open)(int level); /* NULL: no memory */
	/* Compresses data and appends what is ready to *out; last: all of it. False: it failed. */
	bool (*add)(struct gzip *g, const void *data, size_t n, bool last, struct strbuf *out);
	void (*close)(struct gzip *g);
};
