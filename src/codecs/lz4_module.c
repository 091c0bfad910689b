/* Module "lz4": blocks packed by liblz4; see lz4.h. */
#include <lz4frame.h>

#include "codecs/lz4.h"
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

/* The context keeps its tables from block to block, which a frame of one call does not. */
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
	out->len += size + part;
	out->buf[out->len] = 0;
	return true;
}

static const struct lz4_functions functions = {
	.block = {.open = open_block, .pack = pack_block, .close = close_block},
};

__attribute__((visibility("default"))) const struct module plimsoll_module = {
	.build = PL_BUILD_ID,
	.name = "lz4",
	.library = "liblz4",
	.functions = &functions,
};
