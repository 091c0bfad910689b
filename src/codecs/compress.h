/*
 * Compression of blocks of columnar files by a module: "zstd", "snappy", "zlib" (module "gzip"; raw
 * deflate, as in ORC) and "lz4" (LZ4 frames, as in Arrow). "none" does not compress.
 */
#pragma once

#include "core/strbuf.h"

/* The functions of each of these modules begin with these. */
struct pack_functions {
	void *(*open)(int level); /* NULL: no memory */
	/* Appends n bytes, compressed, to *out; false: it failed. */
	bool (*pack)(void *state, const void *data, size_t n, struct strbuf *out);
	void (*close)(void *state); /* accepts NULL */
};

enum pack_codec { PACK_NONE, PACK_LZ4, PACK_SNAPPY, PACK_ZLIB, PACK_ZSTD };

struct packer {
	enum pack_codec codec;
	const struct pack_functions *f; /* NULL: none */
	void *state;
};

/*
 * Opens a codec. known: the codecs of the format, separated by blanks, its default first; codec
 * NULL: the default. -EINVAL (not one of them), -ENOTSUP (no module) or -ENOMEM.
 */
int packer_open(struct packer *p, const char *format, const char *known, const char *codec,
		struct strbuf *why);
/* Appends to *out; PACK_NONE copies the bytes. */
bool packer_add(struct packer *p, const void *data, size_t n, struct strbuf *out);
/* -EIO, with the reason in *why. */
int packer_failed(struct strbuf *why);
void packer_close(struct packer *p);
