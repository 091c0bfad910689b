/*
 * Module "zstd": compression by libzstd; see zstd.h. A collector decompresses all the time, so each
 * thread keeps its context. A node compresses every few seconds and keeps none, to save memory.
 */
#include <zstd.h>

#include <pthread.h>

#include "codecs/zstd.h"
#include "core/module.h"

static size_t bound(size_t n)
{
	return ZSTD_compressBound(n);
}

static size_t pack(void *out, size_t room, const void *data, size_t n, int level)
{
	size_t size = ZSTD_compress(out, room, data, n, level);

	return ZSTD_isError(size) ? 0 : size;
}

static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void free_context(void *context)
{
	ZSTD_freeDCtx(context);
}

static void make_key(void)
{
	(void)pthread_key_create(&key, free_context);
}

static ZSTD_DCtx *own_context(void)
{
	pthread_once(&once, make_key);
	ZSTD_DCtx *c = pthread_getspecific(key);
	if (!c) {
		c = ZSTD_createDCtx();
		(void)pthread_setspecific(key, c);
	}
	return c;
}

/* A frame that does not state its size is not ours. */
static bool unpack(void *out, size_t size, const void *data, size_t n)
{
	ZSTD_DCtx *c = own_context();

	return c && ZSTD_getFrameContentSize(data, n) == size &&
	       ZSTD_findFrameCompressedSize(data, n) == n &&
	       ZSTD_decompressDCtx(c, out, size, data, n) == size;
}

static void show_version(struct strbuf *out)
{
	strbuf_addstr(out, ZSTD_versionString());
}

static void *open_block(int level)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();

	if (c && ZSTD_isError(ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, level))) {
		ZSTD_freeCCtx(c);
		return NULL;
	}
	return c;
}

static void close_block(void *state)
{
	ZSTD_freeCCtx(state);
}

static bool pack_block(void *state, const void *data, size_t n, struct strbuf *out)
{
	size_t room = ZSTD_compressBound(n);

	strbuf_grow(out, room);
	size_t size = ZSTD_compress2(state, out->buf + out->len, room, data, n);
	if (ZSTD_isError(size))
		return false;
	strbuf_cut(out, out->len + size);
	return true;
}

static const struct zstd_functions functions = {
	.bound = bound,
	.pack = pack,
	.unpack = unpack,
	.version = show_version,
	.block = {.open = open_block, .pack = pack_block, .close = close_block},
};

PL_MODULE("zstd", "libzstd", &functions);
