/*
 * Blocks of columnar files, packed by a module: "zstd", "snappy", "zlib" (module "gzip"; deflate
 * without a head, as ORC has it) and "lz4" (in lz4's frame, as Arrow has it). "none" packs nothing.
 */
#ifndef PL_CODECS_COMPRESS_H
#define PL_CODECS_COMPRESS_H

#include "core/strbuf.h"

/* What a module that packs blocks has for it. */
struct pack_functions {
	void *(*open)(int level); /* NULL: no memory */
	/* Packs n bytes behind *out; false: it failed. */
	bool (*pack)(void *state, const void *data, size_t n, struct strbuf *out);
	void (*close)(void *state); /* NULL is fine */
};

enum pack_codec { PACK_NONE, PACK_LZ4, PACK_SNAPPY, PACK_ZLIB, PACK_ZSTD };

struct packer {
	enum pack_codec codec;
	const struct pack_functions *f; /* NULL: none */
	void *state;
};

/*
 * Of the codecs that a format knows (names with blanks between them, its own first) the one that
 * was asked for, NULL: the first. -EINVAL for another, -ENOTSUP where the module is missing.
 */
int packer_open(struct packer *p, const char *known, const char *codec, struct strbuf *why);
/* Packs behind *out. With PACK_NONE the bytes as they are. */
bool packer_add(struct packer *p, const void *data, size_t n, struct strbuf *out);
/* -EIO, and says that packing failed. */
int packer_failed(struct strbuf *why);
void packer_close(struct packer *p);

#endif
