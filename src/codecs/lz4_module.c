/* Module "lz4": blocks compressed by liblz4, each a frame; see compress.h. */
#include <lz4frame.h>

#include "codecs/compress.h"
#include "core/module.h"

static void *open_block(int level PL_UNUSED)
{
	LZ4F_cctx *c = NULL;

	return LZ4F_isError(LZ4F_createCompressionContext(&c, LZ4F_VERSION)) ? NULL : c;
}

static void close_block(void *state)
{
	(void)LZ4F_freeCompressionContext(state);
}

/* Unlike LZ4F_compressFrame(), this reuses the tables of the context. */
static bool pack_block(void *state, const void *data, size_t n, struct strbuf *out)
{
	const LZ4F_preferences_t p = {
		.frameInfo = {.blockSizeID = LZ4F_max256KB, .contentSize = n},
		.autoFlush = 1,
	};
	size_t room = LZ4F_compressFrameBound(n, &p), size = 0;

	strbuf_grow(out, room);
	char *to = out->buf + out->len;
	size_t part = LZ4F_compressBegin(state, to, room, &p);
	if (LZ4F_isError(part))
		return false;
	size += part;
	part = LZ4F_compressUpdate(state, to + size, room - size, data, n, NULL);
	if (LZ4F_isError(part))
		return false;
	size += part;
	part = LZ4F_compressEnd(state, to + size, room - size, NULL);
	if (LZ4F_isError(part))
		return false;
	strbuf_cut(out, out->len + size + part);
	return true;
}

static const struct pack_functions functions = {open_block, pack_block, close_block};

PL_MODULE("lz4", "liblz4", &functions);
