/* Module "zstd": packing by libzstd; see batchcode.h. */
#include <zstd.h>

#include "core/module.h"
#include "formats/batchcode.h"

static size_t bound(size_t n)
{
	return ZSTD_compressBound(n);
}

static size_t pack(void *out, size_t room, const void *data, size_t n, int level)
{
	size_t size = ZSTD_compress(out, room, data, n, level);

	return ZSTD_isError(size) ? 0 : size;
}

/* What a frame says of its own size must be what it is to be; one that says nothing is not ours.
 */
static bool unpack(void *out, size_t size, const void *data, size_t n)
{
	return ZSTD_getFrameContentSize(data, n) == size &&
	       ZSTD_findFrameCompressedSize(data, n) == n &&
	       ZSTD_decompress(out, size, data, n) == size;
}

static void show_version(struct strbuf *out)
{
	strbuf_addstr(out, ZSTD_versionString());
}

static const struct zstd_functions functions = {
	.bound = bound,
	.pack = pack,
	.unpack = unpack,
	.version = show_version,
};

__attribute__((visibility("default"))) const struct module plimsoll_module = {
	.build = PL_BUILD_ID,
	.name = "zstd",
	.library = "libzstd",
	.functions = &functions,
};
